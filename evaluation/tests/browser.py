"""A real headless Chromium for tests of pages; where it or Playwright is missing, a test is skipped by name."""
from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
CONTRAST = """selector => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const linear = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = e => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; }
    return [255, 255, 255]; };
  return [...document.querySelectorAll(selector)].filter(e => e.innerText && e.offsetParent).map(e => {
    const a = light(parse(getComputedStyle(e).color)), b = light(ground(e));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); });
}"""
"""Contrast of the text of each element against what is behind it, as WCAG 2 defines it."""


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser with a profile of its own; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Any, *, width: int = 1280, scheme: str = "light") -> Iterator[tuple[Any, list[str]]]:
    """Open an empty page; yields it and the list of addresses it asks for, which grows. A dialog fails the test."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(20_000)
    asked: list[str] = []
    dialogs: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    try:
        yield page, asked
        assert dialogs == []
    finally:
        context.close()


def overflow(page: Any) -> int:
    """Return how many pixels a page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
