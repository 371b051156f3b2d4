"""The pages as they are sent: complete, well-formed, linked, and nothing but text whatever a model wrote."""
from __future__ import annotations

import json
import re
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from evaluation.tests.pages import Page
from evaluation.tests.support import make_task
from evaluation.viewer.query import PAGE
from evaluation.viewer.server import Site
from evaluation.viewer.tests.support import HOSTILE, KINDS, hostile, make_viewed_run, rollout, save_tasks, write_lines

TASKS = [make_task(n, 2 if n % 3 else 1) for n in range(6)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run to look at."""
    return make_viewed_run(tmp_path_factory.mktemp("runs") / "hotels", steps=2)


@pytest.fixture(scope="module")
def site(run: Path) -> Site:
    """Return the site of a run."""
    return Site(run)


def get(site: Site, address: str) -> Page:
    answer = site.answer(address)
    assert answer.status == HTTPStatus.OK, answer.content
    return Page(answer.content)


def first(site: Site, asked: str) -> str:
    links = [v for v in get(site, f"/?{asked}").values("href") if v.startswith("/t/")]
    return links[0]


def test_every_link_of_every_page_leads_somewhere(site: Site) -> None:
    seen, todo = set(), ["/", first(site, "outcome=failure&order=high"), first(site, "tool=Search_Hotels")]
    while todo and len(seen) < 60:
        address = todo.pop()
        seen.add(address)
        answer = site.answer(address)
        assert answer.status == HTTPStatus.OK, address
        if answer.kind.startswith("text/html"):
            page = Page(answer.content)
            ids = page.values("id")
            assert len(set(ids)) == len(ids)
            inside = {v[1:] for v in page.values("href") if v.startswith("#")}
            assert inside <= set(ids)
            links = [v for v in page.values("href") if v.startswith("/")]
            todo += [v for v in links if v not in seen and v not in todo]
    assert len(seen) == 60


def test_the_list_has_a_row_for_each_trajectory_of_its_page(site: Site) -> None:
    page = get(site, "/")
    assert len([v for v in page.values("href") if v.startswith("/t/")]) == PAGE
    assert f"page 1 of {-(-len(site.index) // PAGE)}" in page.words
    last = get(site, "/?page=999")
    assert f"page {-(-len(site.index) // PAGE)} of" in last.words


def test_filters_stand_in_the_form_as_they_were_asked(site: Site) -> None:
    page = get(site, "/?q=lisbon&outcome=failure&tool=Search_Hotels&low=0.25&part=R_form&order=low")
    chosen = re.findall(r'<option value="([^"]*)" selected>', page.source)
    assert chosen == ["failure", "Search_Hotels", "R_form", "low"]
    assert {"lisbon", "0.25"} <= set(page.values("value"))


def test_an_empty_form_leads_to_the_short_address(site: Site) -> None:
    answer = site.answer("/?q=&outcome=failure&stop=&tool=&low=&high=")
    assert (answer.status, answer.location) == (HTTPStatus.SEE_OTHER, "/?outcome=failure")
    assert site.answer("/?q=").location == "/"


def test_an_episode_shows_what_was_wanted_beside_what_was_given(site: Site) -> None:
    page = get(site, first(site, "outcome=failure&tool=Search_Hotels&order=high&q=2027-05-09"))
    wrong = re.search(r'<tr class="wrong">.*?</tr>', page.source)
    assert wrong is not None
    shown = re.sub("<[^>]*>", " ", wrong[0])
    assert "departure_date" in shown and "2027-05-04" in shown and "2027-05-09" in shown and "differs" in shown
    assert "wrong value" in page.words and "Mask" in page.words and "R_form" in page.words


def test_a_value_links_to_the_result_it_came_from_and_back(site: Site) -> None:
    page = get(site, first(site, "outcome=success&tool=Search_Hotels"))
    link = re.search(r'<a href="#(value-\d+)">from call 1, data\[0\]\.dest_id</a>', page.source)
    assert link is not None
    target = re.search(rf'<li id="{link[1]}">(.*?)</li>', page.source)
    assert target is not None and 'href="#call-2"' in target[1]


def test_neighbours_are_those_of_the_same_filter(site: Site) -> None:
    asked = "outcome=success&tool=Search_Hotels"
    address, walked = first(site, asked), []
    while True:
        walked.append(urlsplit(address).path)
        after = re.search(r'<a href="([^"]*)" rel="next"', get(site, address).source)
        if after is None:
            break
        address = after[1].replace("&amp;", "&")
    rows = [p for p in site.index.places() if p.row.success and "Search_Hotels" in p.row.tools]
    assert walked == [f"/t/{p.key}" for p in rows]


def test_the_line_as_stored_is_sent_as_it_is(site: Site, run: Path) -> None:
    answer = site.answer("/raw/1-3")
    lines = (run / "rollouts" / "step_00001.jsonl").read_bytes().splitlines()
    assert answer.content.strip() == lines[2] and answer.kind.startswith("application/json")


@pytest.mark.parametrize(
    "address",
    [
        "/t/", "/t/1-0", "/t/99-1", "/t/../../etc/passwd", "/t/%2e%2e%2fetc", "/x", "//", "/raw/1", "/style.css/x",
        "/T/1-1", "/etc/passwd",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_found(site: Site, address: str) -> None:
    answer = site.answer(address)
    assert answer.status == HTTPStatus.NOT_FOUND and b"passwd" not in answer.content


@pytest.mark.parametrize("name", ["list", "episode"])
def test_hostile_text_is_shown_not_obeyed(tmp_path: Path, name: str) -> None:
    path = write_lines(tmp_path / f"a{HOSTILE.replace('/', '_').replace(chr(0), '')[:60]}.jsonl", [hostile()])
    site = Site(path, save_tasks(tmp_path / "tasks", [make_task(1)]))
    page = get(site, "/" if name == "list" else "/t/1-1")
    assert not {"script", "img", "iframe", "base", "object"} & set(page.tags)
    assert "<script>document.title" in page.words
    assert not [n for _, n, _ in page.attributes if n.startswith("on") or n in ("src", "style")]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200f\u202a-\u202e\ud800-\udfff]", page.source)
    assert all(v.startswith(("/", "#", "data:,")) and not v.startswith("//") for v in page.values("href"))
    assert all(re.fullmatch(r"[a-z0-9-]+", v) for v in page.values("id"))


def test_pages_need_no_script_and_no_inline_style(site: Site) -> None:
    for address in ("/", first(site, "")):
        page = get(site, address)
        assert "script" not in page.tags and not page.values("style")
        assert not re.search(r"https?:", page.source)
        assert "en" in page.values("lang") and page.values("content")


def test_a_run_without_tasks_says_that_the_wanted_calls_are_not_at_hand(tmp_path: Path) -> None:
    site = Site(write_lines(tmp_path / "only.jsonl", [rollout(TASKS[1], "right", 0)]))
    assert "not at hand" in get(site, "/t/1-1").words
    named = Site(tmp_path / "only.jsonl", save_tasks(tmp_path / "tasks.jsonl", TASKS))
    assert "not at hand" not in get(named, "/t/1-1").words


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_episode_has_its_page(tmp_path: Path, kind: str) -> None:
    path = write_lines(tmp_path / "a.jsonl", [rollout(TASKS[1], kind, 0, None)])
    site = Site(path, save_tasks(tmp_path / "t", TASKS))
    site.answer("/")
    page = get(site, "/t/1-1")
    assert page.tags.count("article") == len(rollout(TASKS[1], kind, 0).calls)


def test_a_line_that_is_only_half_a_trajectory_says_so(tmp_path: Path) -> None:
    row = rollout(TASKS[1], "right", 0).to_json()
    site = Site(write_lines(tmp_path / "a.jsonl", [{**row, "ledger": [{"odd": 1}]}, {**row, "stop": "boredom"}]))
    for key in ("1-1", "1-2"):
        answer = site.answer(f"/t/{key}")
        assert answer.status == HTTPStatus.CONFLICT and b"cannot be shown" in answer.content
    assert "boredom" in get(site, "/").words


def test_bad_lines_are_named_on_the_list(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(b"<b>bad</b>\n" + json.dumps(rollout(TASKS[1], "right", 0).to_json()).encode() + b'\n{"half": ')
    words = get(Site(path), "/").words
    assert "mixed: 1 left out" in words and "line 1: not JSON" in words and "still being written" in words


def test_an_empty_file_has_a_page_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert "No trajectories yet" in get(Site(tmp_path / "empty.jsonl"), "/").words


def test_nothing_found_offers_a_way_back(site: Site) -> None:
    page = get(site, "/?q=no+such+words+anywhere")
    assert "Nothing fits" in page.words and page.values("href").count("/") >= 1


def test_the_same_address_gives_the_same_page(run: Path) -> None:
    assert Site(run).answer("/?order=low").content == Site(run).answer("/?order=low").content
