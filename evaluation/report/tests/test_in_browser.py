"""The report in a real browser: of one run and of several, by day and night, on a phone, by keyboard and on paper."""
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.report import build_comparison, build_report
from evaluation.report.tests.test_states import healthy_rows
from evaluation.tests.browser import CONTRAST, chromium, opened, overflow
from evaluation.tests.support import make_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
TEXT = "p, th, td, small, h1, h2, h3, h4, code, a, summary, li, figcaption b, figcaption span, dd"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the addresses of a run's page and of a comparison."""
    folder = tmp_path_factory.mktemp("runs")
    runs = [make_run(folder / f"hotels-with-a-rather-long-name-seed{seed}", items=12, seed=seed) for seed in range(3)]
    for run in runs:
        (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in healthy_rows(20)))
    one, several = build_report(runs[0]), build_comparison(runs, folder / "several.html")
    return {"one": one.as_uri(), "several": several.as_uri()}


@pytest.fixture(scope="module")
def browser(pages: dict[str, str]) -> Iterator[Any]:
    """Return a browser, started when everything to look at is made: its event loop bars others from this thread."""
    with chromium() as started:
        yield started


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["one", "several"])
def test_text_is_legible_by_day_and_by_night(browser: Any, pages: dict[str, str], which: str, scheme: str) -> None:
    with opened(browser, scheme=scheme) as (page, asked):
        page.goto(pages[which])
        contrasts = page.evaluate(CONTRAST, TEXT)
        assert len(contrasts) > 60 and min(contrasts) >= 4.5
        assert asked == [pages[which]]


@pytest.mark.parametrize("width", [320, 390])
@pytest.mark.parametrize("which", ["one", "several"])
def test_a_phone_scrolls_tables_not_the_page(browser: Any, pages: dict[str, str], which: str, width: int) -> None:
    with opened(browser, width=width) as (page, _):
        page.goto(pages[which])
        assert overflow(page) <= 0
        sizes = page.evaluate("[...document.querySelectorAll('svg')].map(e => e.getBoundingClientRect().right)")
        assert max(sizes) <= width


def test_tables_are_scrolled_by_keyboard(browser: Any, pages: dict[str, str]) -> None:
    with opened(browser, width=390) as (page, _):
        page.goto(pages["several"])
        region = page.locator(".scroll").first
        region.focus()
        before = region.evaluate("e => e.scrollLeft")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.wait_for_function("e => e.scrollLeft > 0", arg=region.element_handle())
        assert before == 0


def test_sections_are_reached_from_the_top(browser: Any, pages: dict[str, str]) -> None:
    with opened(browser) as (page, _):
        page.goto(pages["one"])
        for link in page.locator("nav a").all():
            target = str(link.get_attribute("href"))
            link.focus()
            page.keyboard.press("Enter")
            assert page.locator(target).count() == 1 and page.url.endswith(target)


@pytest.mark.parametrize("which", ["one", "several"])
def test_on_paper_everything_is_open_and_the_ground_is_white(
    browser: Any, pages: dict[str, str], which: str, tmp_path: Path
) -> None:
    with opened(browser, scheme="dark") as (page, _):
        page.goto(pages[which])
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert all(body.is_visible() for body in page.locator("details > :not(summary)").all())
        assert not page.locator("nav").is_visible()
        pdf = page.pdf(path=tmp_path / "report.pdf")
        assert pdf[:5] == b"%PDF-" and len(pdf) > 20_000
