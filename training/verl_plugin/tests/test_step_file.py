"""Every finished step has one line, wherever the kill came."""
from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from training.verl_plugin.step_file import StepFile


def steps(folder):
    return [json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_kill_between_checkpoint_and_metrics_loses_nothing(tmp_path):
    StepFile(tmp_path).append({"step": 1})
    StepFile(tmp_path).note({"step": 2})
    StepFile(tmp_path).settle(2)
    assert steps(tmp_path) == [1, 2]


def test_a_kill_before_the_checkpoint_drops_the_step_that_runs_again(tmp_path):
    StepFile(tmp_path).append({"step": 1})
    StepFile(tmp_path).note({"step": 2})
    StepFile(tmp_path).settle(1)
    assert steps(tmp_path) == [1]


def test_a_torn_line_is_dropped(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2, "rew', encoding="utf-8")
    StepFile(tmp_path).settle(5)
    assert steps(tmp_path) == [1]


def test_a_fresh_run_leaves_no_file(tmp_path):
    StepFile(tmp_path).settle(0)
    assert list(tmp_path.iterdir()) == []


KILLS = st.sampled_from(["after note", "after checkpoint", "after append"])


@settings(max_examples=40, deadline=None)
@given(st.lists(KILLS, max_size=6), st.integers(1, 3))
def test_any_series_of_kills_ends_with_each_step_once(tmp_path_factory, kills, every):
    """A run of 6 steps with checkpoints every so often, killed at the given points and continued each time."""
    folder, saved, goal = tmp_path_factory.mktemp("run"), 0, 6
    for kill in [*kills, "never"]:
        file = StepFile(folder)
        file.settle(saved)
        for step in range(saved + 1, goal + 1):
            checkpoint = step % every == 0 or step == goal
            if checkpoint:
                file.note({"step": step})
                if kill == "after note":
                    break
                saved = step
                if kill == "after checkpoint":
                    break
            file.append({"step": step})
            if kill == "after append":
                break
    StepFile(folder).settle(saved)
    assert saved == goal and steps(folder) == list(range(1, goal + 1))
