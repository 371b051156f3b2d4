"""The index: every line once, files that grow, are cut, replaced or torn, bad lines named, nothing written."""
from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from environment.core.errors import ConfigError, DataError
from evaluation.tests.support import make_task
from evaluation.viewer import index as module
from evaluation.viewer.index import Index, outcome_of
from evaluation.viewer.sources import find_source
from evaluation.viewer.tests.support import make_viewed_run, rollout, rollouts, write_lines

TASKS = [make_task(n) for n in range(3)]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an index look at its files whenever it is asked."""
    monkeypatch.setattr(module, "REST_S", 0.0)


def opened(path: Path) -> Index:
    index = Index(find_source(path))
    index.refresh()
    return index


def line(number: int = 0, kind: str = "right", **more: object) -> bytes:
    return json.dumps({**rollout(TASKS[number % 3], kind, number).to_json(), **more}).encode() + b"\n"


def test_a_run_is_its_rollouts_by_step_then_its_evaluations(tmp_path: Path) -> None:
    run = make_viewed_run(tmp_path / "run", steps=2)
    index = opened(run)
    assert [f.title for f in index.files] == ["rollouts/step_00001", "rollouts/step_00002", "eval/rl", "eval/sft"]
    assert [f.title for f in opened(run / "rollouts").files] == ["step_00001", "step_00002"]
    assert len(index) == 2 * 6 * 5 + 2 * 6 * 3
    assert opened(run / "rollouts" / "step_00001.jsonl").files[0].title == "step_00001"


def test_every_row_is_found_by_its_key_and_reads_its_own_line(tmp_path: Path) -> None:
    index = opened(make_viewed_run(tmp_path / "run", steps=1))
    keys = [place.key for place in index.places()]
    assert len(set(keys)) == len(keys) == len(index)
    for place in index.places():
        found = index.find(place.key)
        assert found is not None and found.row is place.row
        assert found.trajectory().task_id == place.row.task
    for wrong in ("", "1", "1-", "-1", "0-1", "1-0", "1-99999", "9-1", "1-1-1", "../1-1", "1-²", "1-" + "9" * 40):
        assert index.find(wrong) is None


def test_outcomes_of_evaluations_are_those_of_their_summary(tmp_path: Path) -> None:
    run = make_viewed_run(tmp_path / "run", steps=1)
    summary = json.loads((run / "eval" / "rl.json").read_text())
    index = opened(run / "eval" / "rl.trajectories.jsonl")
    rows = {(p.row.task, p.row.sample): p.row for p in index.places()}
    for item in summary["items"]:
        assert rows[item["task_id"], 0].success == item["greedy"]["success"]
        assert rows[item["task_id"], 0].reward == item["greedy"]["reward"]
        assert [rows[item["task_id"], s + 1].success for s in range(2)] == [bool(s) for s in item["sampled"]]
    assert sum(outcome_of(r) == "success" for r in rows.values()) == index.facets().outcomes["success"]


def test_a_summary_that_comes_later_is_taken_up(tmp_path: Path) -> None:
    run = make_viewed_run(tmp_path / "run", steps=1)
    summary = (run / "eval" / "rl.json").read_bytes()
    (run / "eval" / "rl.json").unlink()
    index = opened(run / "eval" / "rl.trajectories.jsonl")
    assert index.facets().outcomes["unknown"] == len(index)
    (run / "eval" / "rl.json").write_bytes(summary)
    index.refresh()
    assert index.facets().outcomes["unknown"] == 0


def test_a_growing_file_is_followed_whole_lines_only(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    path.write_bytes(line(0) + line(1)[:200])
    index = opened(path)
    assert len(index) == 1 and index.files[0].growing and not index.files[0].bad
    with path.open("ab") as file:
        file.write(line(1)[200:] + line(2))
    index.refresh()
    assert [p.row.line for p in index.places()] == [1, 2, 3] and not index.files[0].growing
    version = index.version
    index.refresh()
    assert index.version == version


@pytest.mark.parametrize("seed", range(5))
def test_any_way_of_growing_ends_with_the_same_rows(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = b"".join(line(n) if n % 4 else b"{torn\n" for n in range(12)) + b"\n" + line(12)
    path = tmp_path / "live.jsonl"
    path.write_bytes(b"")
    index = opened(path)
    at = 0
    while at < len(content):
        step = chance.choice((1, 50, 3000, 9000))
        with path.open("ab") as file:
            file.write(content[at : at + step])
        at += step
        index.refresh()
    whole = opened(path)
    assert [p.row for p in index.places()] == [p.row for p in whole.places()]
    assert index.files[0].bad == whole.files[0].bad and len(whole.files[0].bad) == 3


def test_a_last_line_without_its_end_counts_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    path.write_bytes(line(0) + line(1).rstrip())
    index = opened(path)
    assert len(index) == 2 and not index.files[0].growing
    assert index.find("1-2") is not None
    with path.open("ab") as file:
        file.write(b"\n" + line(2))
    index.refresh()
    assert [p.row.line for p in index.places()] == [1, 2, 3]


def test_bad_lines_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(b"not json\n" + line(0) + b'{"step": 1}\n\n' + line(1) + b"\xff\xff\n")
    index = opened(path)
    assert [p.row.line for p in index.places()] == [2, 5]
    assert [(b.line, b.why.split(":")[0]) for b in index.files[0].bad] == [
        (1, "not JSON"), (3, "no trajectory"), (6, "not UTF-8 (byte 1)"),
    ]  # fmt: skip


def test_bad_lines_are_counted_beyond_those_that_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BAD", 5)
    path = tmp_path / "noise.jsonl"
    path.write_bytes(b"noise\n" * 40)
    file = opened(path).files[0]
    assert (len(file.bad), file.bad_count, len(file.rows)) == (5, 40, 0)


@pytest.mark.parametrize("how", ["replace", "cut", "rewrite"])
def test_a_file_that_became_another_is_read_anew(tmp_path: Path, how: str) -> None:
    path = write_lines(tmp_path / "step.jsonl", rollouts(1, TASKS))
    index = opened(path)
    fresh = line(2, "talk")
    if how == "replace":
        other = tmp_path / "other"
        other.write_bytes(fresh)
        other.replace(path)
    elif how == "cut":
        os.truncate(path, 0)
        path.write_bytes(fresh)
    else:
        path.write_bytes(fresh.rstrip() + b" " * path.stat().st_size + b"\n")
    index.refresh()
    assert [(p.row.task, p.row.calls) for p in index.places()] == [(TASKS[2].id, 0)]


def test_new_files_come_last_and_keep_the_keys_of_the_others(tmp_path: Path) -> None:
    write_lines(tmp_path / "b.jsonl", rollouts(2, TASKS[:1]))
    index = opened(tmp_path)
    before = {p.key: p.row.task for p in index.places()}
    write_lines(tmp_path / "a.jsonl", rollouts(1, TASKS[:1]))
    index.refresh()
    assert [f.title for f in index.files] == ["b", "a"]
    assert {k: v for k, v in ((p.key, p.row.task) for p in index.places()) if k in before} == before


def test_a_file_that_goes_away_is_said_to(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", rollouts(1, TASKS[:1]))
    index = opened(path)
    place = next(index.places())
    path.unlink()
    index.refresh()
    assert len(index) == 0 and "cannot be read" in str(index.files[0].problem)
    with pytest.raises(OSError):
        place.data()


def test_a_line_cut_off_since_is_not_shown_as_another(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", rollouts(1, TASKS[:1]))
    place = list(opened(path).places())[-1]
    os.truncate(path, place.row.offset + 10)
    with pytest.raises(ValueError, match="cut since"):
        place.data()


def test_another_trajectory_in_the_same_place_is_not_taken_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written = line(0)
    path.write_bytes(written)
    place = next(opened(path).places())
    path.write_bytes(written.replace(b'"t000"', b'"t009"'))
    with pytest.raises(ValueError, match="another trajectory"):
        place.data()


def test_nothing_is_written_beside_the_files(tmp_path: Path) -> None:
    run = make_viewed_run(tmp_path / "run", steps=1)
    before = {p: p.stat().st_mtime_ns for p in run.rglob("*")}
    index = opened(run)
    assert index.facets().parts >= {"score", "R_form"}
    assert {p: p.stat().st_mtime_ns for p in run.rglob("*")} == before


def test_empty_files_and_young_runs_open(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert len(opened(tmp_path / "empty.jsonl")) == 0
    young = tmp_path / "young"
    (young / "rollouts").mkdir(parents=True)
    index = opened(young)
    assert index.files == []
    write_lines(young / "rollouts" / "step_00001.jsonl", rollouts(1, TASKS[:1]))
    index.refresh()
    assert len(index) == 5


def test_what_is_not_there_names_what_is_nearest(tmp_path: Path) -> None:
    (tmp_path / "rollouts").mkdir()
    with pytest.raises(ConfigError, match="rollouts'"):
        find_source(tmp_path / "rolouts")
    with pytest.raises(ConfigError, match="nothing is there"):
        find_source(tmp_path / "no" / "such" / "place")
    with pytest.raises(DataError, match="no trajectories in this folder"):
        find_source(tmp_path / "rollouts" if (tmp_path / "rollouts" / "x").mkdir() else tmp_path / "rollouts" / "x")
