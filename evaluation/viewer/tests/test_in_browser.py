"""The viewer in a real browser: what a person does with it, by mouse, keyboard, phone, in the dark and on paper."""
from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.tests.browser import CONTRAST, chromium, opened, overflow
from evaluation.tests.support import make_task
from evaluation.viewer.server import LOOPBACK, Site, open_server
from evaluation.viewer.tests.support import HOSTILE, hostile, make_viewed_run, save_tasks, write_lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def serving(site: Site) -> Iterator[str]:
    with open_server(site) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://{LOOPBACK}:{server.server_address[1]}"
        server.shutdown()
        thread.join(10)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a viewer of a run."""
    yield from serving(Site(make_viewed_run(tmp_path_factory.mktemp("runs") / "hotels", steps=2)))


@pytest.fixture(scope="module")
def harmful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a viewer of a trajectory that means harm."""
    folder = tmp_path_factory.mktemp("harm")
    path = write_lines(folder / "a.jsonl", [hostile()])
    yield from serving(Site(path, save_tasks(folder / "tasks.jsonl", [make_task(1)])))


@pytest.fixture(scope="module")
def browser(address: str, harmful: str) -> Iterator[Any]:
    """Return a browser, started when everything to look at is made: its event loop bars others from this thread."""
    with chromium() as started:
        yield started


def test_filters_are_chosen_and_kept_in_the_address(browser: Any, address: str) -> None:
    with opened(browser) as (page, _):
        page.goto(address)
        page.get_by_label("Outcome").select_option("failure")
        page.get_by_label("Tool called").select_option("Search_Hotels")
        page.get_by_label("Ended by").select_option("answer")
        page.get_by_role("button", name="Show").click()
        assert page.url == f"{address}/?outcome=failure&stop=answer&tool=Search_Hotels"
        marks = page.locator("tbody .sign .heard").all_inner_texts()
        assert marks and set(marks) == {"not right"}
        assert all("Search_Hotels" in row for row in page.locator("tbody tr").all_inner_texts())
        page.get_by_role("link", name="Clear", exact=True).click()
        assert page.url == f"{address}/"


def test_a_part_of_the_reward_is_bounded(browser: Any, address: str) -> None:
    with opened(browser) as (page, _):
        page.goto(address)
        page.get_by_role("combobox", name="Reward").select_option("R_form")
        page.get_by_role("textbox", name="To", exact=True).fill("0.5")
        page.get_by_role("button", name="Show").click()
        assert set(page.locator("tbody td.figure").all_inner_texts()) == {"0.25"}


def test_a_search_finds_words_of_the_dialogue(browser: Any, address: str) -> None:
    with opened(browser) as (page, _):
        page.goto(address)
        page.get_by_role("searchbox", name="Search").fill("recommend the grand hotel")
        page.get_by_role("searchbox").press("Enter")
        page.wait_for_url("**q=recommend*")
        page.locator("tbody th a").first.click()
        assert "I recommend the Grand Hotel." in page.locator(".assistant .words").inner_text()


def test_a_wrong_argument_stands_beside_the_wanted_one(browser: Any, address: str) -> None:
    with opened(browser) as (page, _):
        page.goto(f"{address}/?outcome=failure&tool=Search_Hotels&q=2027-05-09")
        page.locator("tbody th a").first.click()
        row = page.locator("tr.wrong").first
        assert row.locator("th").inner_text() == "departure_date"
        assert [c.strip() for c in row.locator("td").all_inner_texts()] == ['"2027-05-04"', '"2027-05-09"', "differs"]
        assert "wrong value" in page.locator(".mistakes").inner_text()


def test_a_value_leads_to_the_result_it_came_from(browser: Any, address: str) -> None:
    with opened(browser) as (page, _):
        page.goto(f"{address}/?outcome=success&tool=Search_Hotels")
        page.locator("tbody th a").first.click()
        page.get_by_role("link", name="from call 1, data[0].dest_id").click()
        target = page.locator(":target")
        assert re.match(r"data\[0\]\.dest_id = \"\d+\"", target.inner_text())
        place = target.evaluate("e => [e.getBoundingClientRect().top, e.getBoundingClientRect().bottom, innerHeight]")
        assert 0 <= place[0] < place[1] <= place[2]
        target.get_by_role("link").click()
        assert page.locator(":target").get_attribute("id") == "call-2"


def test_what_a_model_wrote_does_nothing(browser: Any, harmful: str) -> None:
    with opened(browser) as (page, asked):
        for target in ("/", "/t/1-1"):
            page.goto(harmful + target)
            assert "owned" not in page.title().split("<script>")[0]
            assert page.evaluate("document.scripts.length + document.images.length") == 0
            assert "<script>document.title" in page.inner_text("body")
            assert "⟨202E⟩" in page.inner_text("body") and "⟨001B⟩[31m" in page.inner_text("body")
        page.locator("details.written summary").first.click()
        assert HOSTILE.split("<img")[0].split("</pre>")[1] in page.locator("details.written pre").first.inner_text()
        assert all(url.startswith(harmful) or url == "data:," for url in asked)


def test_no_request_leaves_this_machine(browser: Any, address: str) -> None:
    with opened(browser) as (page, asked):
        page.goto(address)
        page.locator("tbody th a").first.click()
        page.get_by_role("link", name="Next").click()
        page.get_by_role("link", name="the line as stored").click()
        assert len(asked) >= 4 and all(url.startswith(address) or url == "data:," for url in asked)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", ["/?outcome=failure", "/t/1-2"])
def test_text_is_legible_by_day_and_by_night(browser: Any, address: str, scheme: str, where: str) -> None:
    with opened(browser, scheme=scheme) as (page, _):
        page.goto(address + where)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        assert (max(ground) < 60) == (scheme == "dark") and (min(ground) > 200) == (scheme == "light")
        contrasts = page.evaluate(CONTRAST, "p, th, td, a, small, h1, h3, code, label span, button, summary, li, b")
        assert len(contrasts) > 40 and min(contrasts) >= 4.5


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_needs_no_sideways_scrolling(browser: Any, address: str, harmful: str, width: int) -> None:
    with opened(browser, width=width) as (page, _):
        for target in (f"{address}/", f"{address}/t/1-2", f"{address}/t/1-8", f"{harmful}/", f"{harmful}/t/1-1"):
            page.goto(target)
            assert overflow(page) <= 0, target
        page.goto(address)
        assert not page.get_by_label("Outcome").is_visible()
        page.locator("summary", has_text="Filters").click()
        page.get_by_label("Outcome").select_option("success")
        page.get_by_role("button", name="Show").click()
        assert "outcome=success" in page.url and "in use" in page.locator(".filters summary").inner_text()


def test_everything_is_reached_by_keyboard(browser: Any, address: str) -> None:
    with opened(browser) as (page, _):
        page.goto(address)
        focused = "document.activeElement.name || document.activeElement.innerText"
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "q"
        page.keyboard.type("lisbon")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=lisbon*")
        for _ in range(14):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.matches('tbody a')"):
                break
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        page.keyboard.press("Enter")
        page.wait_for_url("**/t/**")
        page.keyboard.press("Tab")
        assert "Back to the list" in page.evaluate(focused)
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "Next"
        page.keyboard.press("Enter")
        page.wait_for_load_state()
        assert "2 of" in page.locator("nav.pager").inner_text()


def test_on_paper_nothing_is_cut_off_and_controls_are_gone(browser: Any, address: str, tmp_path: Path) -> None:
    with opened(browser) as (page, _):
        page.goto(f"{address}/t/1-2")
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not page.locator("nav.pager").is_visible()
        assert page.locator("details pre").first.is_visible()
        cut = "e => e.filter(e => e.scrollHeight > e.clientHeight + 2).length"
        assert page.locator("pre, .answer, .words").evaluate_all(cut) == 0
        assert page.pdf(path=tmp_path / "episode.pdf")[:5] == b"%PDF-"
        page.goto(address)
        assert not page.get_by_role("button", name="Show").is_visible()
