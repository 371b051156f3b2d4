"""The runner with a suite of its own: back-pressure, time limits, failures sorted, resumption, force, gold, names."""
from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from environment.core.errors import ConfigError, DataError, StageError
from environment.core.trajectory import StopReason, Trajectory
from evaluation import tally
from evaluation.job import EvalJob, manifest_of, run_job, template_digest
from evaluation.runner import GIVE_UP_AFTER, Place, run
from evaluation.settings import RunSettings, context_length, model_digest
from evaluation.store import TrajectoryStore, finished_keys, read_trajectories
from evaluation.suite import Item, Judged, Mark, Seat, Suite
from evaluation.suites import SUITES, open_suite
from evaluation.tests.support import make_task, play, script
from evaluation.tests.test_guard import ROOT

SETTINGS = RunSettings(gold=True, samples=0, concurrency=3)


@dataclass
class Sums(Suite[int]):
    """Adds one to a number: gold says how, and everything that can go wrong can be asked for by id."""

    count: int = 8
    wait: float = 0.0
    bad: dict[str, BaseException | float] = field(default_factory=dict)
    """Id → what its episode raises, or how long it takes."""
    name: str = "sums"
    open: int = 0
    most: int = 0
    played: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.items: Sequence[Item[int]] = [Item(f"i{n}", n, {"parity": str(n % 2)}) for n in range(self.count)]

    def manifest(self) -> dict[str, Any]:
        """Return the size alone."""
        return {"count": self.count}

    async def episode(self, item: Item[int], seat: Seat) -> Trajectory:
        """Ask once."""
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            fate = self.bad.get(item.id, self.wait)
            if isinstance(fate, BaseException):
                raise fate
            await asyncio.sleep(fate)
            turn = await seat.converse([]).act([{"role": "user", "content": f"{item.case} + 1"}])
        finally:
            self.open -= 1
        self.played.append(item.id)
        said = {"role": "assistant", "content": turn.text}
        return Trajectory(item.id, (said,), (), (), (), StopReason.ANSWER, answer=turn.text)

    def judge(self, item: Item[int], trajectory: Trajectory) -> Mark:
        """Compare with the sum."""
        right = trajectory.answer == str(item.case + 1)
        return Mark(right, "none" if right else "wrong_value", {"length": float(len(trajectory.answer))})

    def summarise(self, judged: Sequence[Judged], samples: int, seed: int) -> dict[str, Any]:
        """Return the general summary."""
        shown = tally.Figures(amounts=("length",))
        return {"suite": self.name, **tally.summarise(self.items, judged, shown, samples, seed)}

    def gold(self, item: Item[int]) -> list[str]:
        """Return the sum."""
        return [str(item.case + 1)]


def go(suite: Sums, out: Path, settings: RunSettings = SETTINGS, **more: Any) -> dict[str, Any]:
    """Run a suite under the name `a`."""
    return run(suite, settings, Place(out, "a"), {**suite.manifest(), **settings.manifest()}, **more)


def test_gold_turns_earn_everything_with_every_sample(tmp_path: Path) -> None:
    found = go(Sums(), tmp_path, replace(SETTINGS, samples=2))
    assert (found["success_rate"]["value"], found["pass_at_2"]["value"], found["pass_hat_2"]["value"]) == (1, 1, 1)
    assert {k: v["n"] for k, v in found["by_parity"].items()} == {"0": 4, "1": 4}
    assert found["length"]["value"] == 1.0 and found["items"][3]["parity"] == "1"
    assert json.loads((tmp_path / "a.json").read_text()) == found


@pytest.mark.parametrize("concurrency", [1, 3, 50])
def test_no_more_run_at_once_than_asked_and_nothing_waits_in_between(tmp_path: Path, concurrency: int) -> None:
    suite = Sums(count=12, wait=0.01)
    go(suite, tmp_path, replace(SETTINGS, concurrency=concurrency))
    assert suite.most == min(concurrency, 12)


def test_what_a_suite_raises_voids_the_episode_alone_and_is_owed(tmp_path: Path) -> None:
    suite = Sums(bad={"i2": ValueError("the dice fell off the table"), "i5": OSError("gone")})
    found = go(suite, tmp_path)
    assert (found["success_rate"]["n"], found["infrastructure"]) == (6, 2)
    errors = {t.task_id: t.error for t in read_trajectories(tmp_path / "a.trajectories.jsonl") if t.error}
    assert errors["i2"] == "ValueError: the dice fell off the table"
    again = Sums()
    assert go(again, tmp_path)["infrastructure"] == 0
    assert again.played == ["i2", "i5"]


def test_an_item_beyond_its_time_is_infrastructure_and_holds_up_no_one(tmp_path: Path) -> None:
    began = time.monotonic()
    found = go(Sums(bad={"i0": 60.0}), tmp_path, replace(SETTINGS, item_seconds=0.1))
    assert time.monotonic() - began < 10
    assert (found["infrastructure"], found["success_rate"]["n"]) == (1, 7)
    assert any("exceeded 0.1 s" in (t.error or "") for t in read_trajectories(tmp_path / "a.trajectories.jsonl"))


def test_failures_in_a_row_end_the_run_and_keep_what_was_done(tmp_path: Path) -> None:
    bad: dict[str, BaseException | float] = {f"i{n}": OSError("gone") for n in range(5, 60)}
    with pytest.raises(StageError, match=f"{GIVE_UP_AFTER} episodes in a row"):
        go(Sums(count=60, bad=bad), tmp_path, replace(SETTINGS, concurrency=1))
    assert len(finished_keys(tmp_path / "a.trajectories.jsonl")) == 5
    assert not (tmp_path / "a.json").exists()
    assert go(Sums(count=60), tmp_path)["success_rate"]["value"] == 1.0


def test_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    suite = Sums()
    suite.items = [*suite.items, suite.items[0]]
    with pytest.raises(DataError, match="the same id twice"):
        go(suite, tmp_path)


def test_other_settings_are_refused_and_forced_ones_are_on_record(tmp_path: Path) -> None:
    go(Sums(), tmp_path)
    longer = replace(SETTINGS, max_turn_tokens=9)
    with pytest.raises(ConfigError, match=r"max_turn_tokens +was 256 +is 9"):
        go(Sums(), tmp_path, longer)
    found = go(Sums(), tmp_path, longer, force=True)
    assert found["settings"]["forced"] == [{"setting": "max_turn_tokens", "was": 256, "is": 9}]
    assert go(Sums(), tmp_path, longer)["settings"]["forced"][0]["is"] == 9
    with pytest.raises(ConfigError, match=r"was 9 +is 256"):
        go(Sums(), tmp_path)
    forced = go(Sums(), tmp_path, force=True)["settings"]["forced"]
    assert [(f["was"], f["is"]) for f in forced] == [(256, 9), (9, 256)]


def test_a_run_that_finished_nothing_may_begin_with_other_settings(tmp_path: Path) -> None:
    away: dict[str, BaseException | float] = {f"i{n}": OSError("gone") for n in range(30)}
    with pytest.raises(StageError):
        go(Sums(count=30, bad=away), tmp_path, replace(SETTINGS, concurrency=1))
    found = go(Sums(count=30), tmp_path, replace(SETTINGS, max_turn_tokens=9))
    assert found["settings"]["max_turn_tokens"] == 9 and "forced" not in found["settings"]


@pytest.mark.parametrize("content", ["", "{", "[]", '"x"'])
def test_damaged_settings_are_said_in_words_and_lose_nothing(tmp_path: Path, content: str) -> None:
    go(Sums(), tmp_path)
    kept = (tmp_path / "a.trajectories.jsonl").read_bytes()
    (tmp_path / "a.settings.json").write_text(content)
    with pytest.raises(DataError, match=r"a\.settings\.json"):
        go(Sums(), tmp_path)
    assert (tmp_path / "a.trajectories.jsonl").read_bytes() == kept


def test_warnings_from_outside_lead_those_of_the_summary(tmp_path: Path) -> None:
    found = go(Sums(), tmp_path, warnings=["seen in training"])
    assert found["warnings"][0] == "seen in training" and "only 8 items" in found["warnings"][1]


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 101, "a\x00", "a b", "-rf", "ü"])
def test_names_that_are_no_file_of_ours_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        Place(tmp_path, name)


@pytest.mark.parametrize("url", ["http://me:pass-word@h/v1", "http://h/v1?key=pass-word"])
def test_an_address_with_a_secret_in_it_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RunSettings(base_url=url)
    assert "pass-word" not in str(caught.value)


@pytest.mark.parametrize("change", [{"samples": -1}, {"concurrency": 0}, {"retry_tries": 0}, {"item_seconds": 0.0}])
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        replace(SETTINGS, **change)


def test_an_output_that_can_not_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StageError, match="can't write"):
        go(Sums(), tmp_path / "file" / "out")


FULL = """
    import resource, sys
    from pathlib import Path
    from evaluation.store import TrajectoryStore
    from evaluation.tests.support import make_task, play, script
    out = Path(sys.argv[1])
    one = play(make_task(0), script(make_task(0), "right"))
    with TrajectoryStore(out, "a", {"x": 1}) as store:
        store.add(one)
        size = store.path.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + size // 2, resource.RLIM_INFINITY))
        from dataclasses import replace
        store.add(replace(one, task_id="second"))
"""


def test_a_full_disk_ends_the_run_with_a_whole_file(tmp_path: Path) -> None:
    """The system refuses the second half of a line, as a full disk does; the line goes, the file stays whole."""
    command = [sys.executable, "-c", textwrap.dedent(FULL), str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "can't write" in ended.stderr and "what is finished is kept" in ended.stderr
    lines = (tmp_path / "a.trajectories.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 and lines[0].endswith(b"\n")
    with TrajectoryStore(tmp_path, "a", {"x": 1}) as store:
        assert store.done == {("t000", 0)}
        store.add(play(make_task(1), script(make_task(1), "right")))
    assert len(finished_keys(store.path)) == 2


def test_the_manifest_names_suite_template_and_versions_but_no_path(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 2048}')
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    settings = RunSettings(model=tmp_path)
    found = manifest_of(Sums(), settings)
    assert found["suite"] == "sums" and found["template"] == template_digest(tmp_path)
    assert {"tool-rl", "vllm"} <= found["versions"].keys() and str(tmp_path) not in json.dumps(found)
    (tmp_path / "chat_template.jinja").write_text("{{ messages }} ")
    changed = manifest_of(Sums(), settings)
    assert changed["template"] != found["template"] and changed["model"] != found["model"]
    assert context_length(tmp_path) == 2048


@pytest.mark.parametrize("make", [lambda p: p, lambda p: p / "none"])
def test_a_folder_that_is_no_model_is_said_in_words(tmp_path: Path, make: Any) -> None:
    with pytest.raises(DataError):
        context_length(make(tmp_path))
    with pytest.raises(DataError):
        model_digest(tmp_path / "none")


def test_every_suite_has_options_and_a_door() -> None:
    import importlib.util

    for module in SUITES.values():
        if importlib.util.find_spec(module) is not None:
            loaded = importlib.import_module(module)
            assert callable(loaded.open_suite) and loaded.Options.model_fields


def test_an_unknown_suite_has_a_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"nearest +'heldout'"):
        open_suite("held-out", {})


def test_heldout_options_are_named_when_they_are_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        run_job(EvalJob("heldout", {}, SETTINGS, Place(tmp_path, "a")))
    assert "--data" in str(caught.value) and "--world" in str(caught.value)
