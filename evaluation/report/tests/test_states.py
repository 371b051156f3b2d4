"""The chart of turn states: shares that fill the frame, drawn where they are known, left out where they are not."""
from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.structure import TurnState
from evaluation.report.curves import BOTTOM, HEIGHT, TOP
from evaluation.report.states import states_chart, states_legend


def healthy_rows(steps: int, seed: int = 0) -> list[dict[str, float]]:
    """Return metrics rows whose four states add up to one."""
    chance, rows = random.Random(seed), list[dict[str, float]]()
    for step in range(1, steps + 1):
        weights = [chance.uniform(2, 3), chance.uniform(1, 2), chance.random() / 3, chance.random() / 9]
        shares = {f"structure/{s.value}_rate": w / sum(weights) for s, w in zip(TurnState, weights, strict=True)}
        early = chance.random() / 20
        rows.append({"step": step, "reward": chance.random(), **shares, "structure/early_warning": early})
    return rows


def heights(chart: str, state: TurnState) -> list[float]:
    """Return the upper edge of a band, step by step."""
    found = re.search(rf'<polygon points="([^"]*)" class="band {state.value}"', chart)
    assert found is not None
    points = [float(point.split(",")[1]) for point in found[1].split()]
    return points[: len(points) // 2]


@given(st.integers(1, 40), st.integers(0, 99))
def test_the_states_fill_the_frame_from_below_to_above(steps: int, seed: int) -> None:
    rows = healthy_rows(steps, seed)
    chart = states_chart(rows, "run")
    assert chart is not None
    top = heights(chart, TurnState.COLLAPSED)
    assert all(abs(y - TOP) < 0.11 for y in top)
    inner = HEIGHT - TOP - BOTTOM
    for y, row in zip(heights(chart, TurnState.HEALTHY_CALL), rows, strict=False):
        assert abs((HEIGHT - BOTTOM - y) / inner - row["structure/healthy_call_rate"]) < 0.001


def test_the_chart_says_in_words_how_it_ends() -> None:
    chart = states_chart(healthy_rows(9), "my run")
    assert chart is not None and 'aria-label="my run, states of turns at step 9: healthy call ' in chart
    assert "warning-line" in chart


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"step": 1, "reward": 0.5}],
        [{"step": 1, "structure/healthy_call_rate": 1.0}],
        [{**healthy_rows(1)[0], "structure/polluted_rate": float("nan")}],
        [{**healthy_rows(1)[0], "structure/polluted_rate": 7.0}],
    ],
)
def test_without_all_four_states_there_is_no_chart(rows: list[dict[str, float]]) -> None:
    assert states_chart(rows, "run") is None


def test_a_run_without_early_warning_has_no_line_for_it() -> None:
    rows = [{k: v for k, v in row.items() if k != "structure/early_warning"} for row in healthy_rows(5)]
    chart = states_chart(rows, "run")
    assert chart is not None and "warning-line" not in chart
    assert "early" in states_legend(True) and "early" not in states_legend(False)
