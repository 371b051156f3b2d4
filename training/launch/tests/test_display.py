"""What a person reads: progress, time left, one line a step, the table at the end."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from training.launch.display import PLAIN_EVERY_S, Display, bar, duration
from training.launch.files import write_json
from training.launch.follow import Progress, Tail, last_rows, read_progress, step_line
from training.launch.paths import RunPaths
from training.launch.summary import table_lines, write_summary
from training.launch.tests.fakes import tiny


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(clock: Clock, terminal: bool = False) -> tuple[Display, io.StringIO]:
    """Return a display and what it writes."""
    file = io.StringIO()
    return Display(Console(file=file, force_terminal=terminal, width=150), clock), file


def test_time_left_follows_the_pace_since_the_resume() -> None:
    clock = Clock()
    display, _ = shown(clock)
    display.stage_started("rl", "does", 1, 2, Path("x.log"))
    display.progress(Progress(40, 100))
    assert display.time_left() is None
    clock.now = 20.0
    display.progress(Progress(50, 100))
    assert display.time_left() == pytest.approx(100.0)


def test_without_a_terminal_lines_come_now_and_then() -> None:
    clock = Clock()
    display, file = shown(clock)
    display.stage_started("rl", "does", 1, 2, Path("x.log"))
    for tenth in range(600):
        clock.now = tenth / 10
        display.progress(Progress(tenth, 600, "steps"))
    lines = [line for line in file.getvalue().splitlines() if "█" in line or "░" in line]
    assert 2 <= len(lines) <= 60 / PLAIN_EVERY_S
    assert "left" in lines[-1] and "\x1b" not in file.getvalue()


def test_on_a_terminal_the_line_is_cleaned_away() -> None:
    clock = Clock()
    display, file = shown(clock, terminal=True)
    display.stage_started("rl", "does", 1, 2, Path("x.log"))
    display.progress(Progress(1, 2))
    display.stage_ended("rl", "done")
    assert "done" in file.getvalue()


@given(st.floats(0, 1e6))
def test_durations_never_mix_up_units(seconds: float) -> None:
    text = duration(seconds)
    assert (" s" in text) or (" min" in text)
    assert "60 s" not in text.replace("60.0 s", "") and " 60 min" not in text


@given(st.floats(-1, 2), st.integers(1, 40))
def test_bars_have_their_width(share: float, width: int) -> None:
    assert len(bar(share, width)) == width


@given(st.text())
def test_any_line_is_progress_or_not(line: str) -> None:
    found = read_progress(line)
    assert found is None or found.total == found.total


def test_progress_lines() -> None:
    assert read_progress('{"progress": [3, 10], "note": "rows"}') == Progress(3, 10, "rows")
    assert read_progress('{"progress": [3]}') is None
    assert read_progress('{"progress": "x"}') is None


def test_a_step_line_names_everything_and_survives_gaps() -> None:
    full = {"step": 3, "reward": 0.5, "success": 0.25, "turns": 3.1, "call_valid": 0.9, "kl": 0.01,
            "tokens_per_s": 321.0, "step_s": 12.5}  # fmt: skip
    line = step_line(full)
    for part in ("step    3", "reward 0.500", "success 25%", "valid calls 90%", "KL 0.0100", "tok/s 321", "12.5 s"):
        assert part in line
    assert "–" in step_line({"step": 1})


@given(st.lists(st.integers(0, 50), max_size=20), st.lists(st.integers(1, 30), max_size=30))
@settings(max_examples=30)
def test_a_tail_sees_each_row_once_however_the_file_grows(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("t") / "m.jsonl"
    data = "".join(json.dumps({"step": step}) + "\n" for step in steps).encode()
    tail, seen, at = Tail(path), [], 0
    for cut in [*cuts, len(data)]:
        with path.open("ab") as file:
            file.write(data[at : at + cut])
        at += cut
        seen += [row["step"] for row in tail.rows()]
    assert seen == steps


def test_a_tail_starts_again_when_the_file_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n')
    tail = Tail(path)
    tail.rows()
    path.write_text('{"step": 1}\n')
    assert [row["step"] for row in tail.rows()] == [1]


def test_repeated_steps_count_once(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"step": 2, "a": 1}\n{"step": 1}\nbroken\n{"step": 2, "a": 2}\n')
    assert [(row["step"], row.get("a")) for row in last_rows(path)] == [(1, None), (2, 2)]


def estimate(value: float) -> dict[str, object]:
    """Return a figure as evaluations write it."""
    return {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 64}


def test_the_summary_holds_what_the_readme_promises(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    names = ("success_rate", "avg_at_4", "turn_accuracy", "call_accuracy", "reward_mean")
    for at, policy in enumerate(("base", "sft", "rl")):
        figures = {name: estimate(0.2 + at / 10) for name in names}
        write_json(paths.evaluation(policy), {"n": 64, **figures, "items": [1], "settings": {}})
    paths.metrics.write_text('{"step": 1}\n{"step": 2}\n')
    paths.attempts.write_text('{"stage": "rl", "wall_s": 2.5}\n{"stage": "rl", "wall_s": 1.5}\n')
    summary: Any = write_summary(paths, tiny().settings)
    assert summary["profile"] == "cpu_tiny" and summary["seed"] == 1 and summary["steps"] == 2
    assert summary["wall_s"] == {"rl": 4.0, "total": 4.0}
    assert all(
        set(names) <= set(summary[policy]) and "items" not in summary[policy] for policy in ("base", "sft", "rl")
    )
    table = "\n".join(table_lines(paths))
    assert "40.0% [30.0%, 50.0%]" in table and "0.400 [0.300, 0.500]" in table
    assert len({line.index("64") for line in table.splitlines()[1:]}) == 1


def test_no_summary_no_table(tmp_path: Path) -> None:
    assert table_lines(RunPaths(tmp_path)) == []
