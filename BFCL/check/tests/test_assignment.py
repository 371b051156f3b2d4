"""The assignment is one-to-one and as good as trying everything."""
from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.assignment import best_assignment

Matrix = list[list[float]]


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    weight = st.integers(0, 6).map(float)
    return [[draw(weight) for _ in range(columns)] for _ in range(rows)]


def total(weights: Matrix, chosen: list[int | None]) -> float:
    return sum(row[c] for row, c in zip(weights, chosen, strict=True) if c is not None)


def best_by_trial(weights: Matrix) -> float:
    rows, columns = len(weights), len(weights[0])
    slots: list[int | None] = [*range(columns), *[None] * max(0, rows - columns)]
    return max(total(weights, list(p)) for p in permutations(slots, rows))


@given(matrices())
def test_no_assignment_is_better(weights: Matrix) -> None:
    chosen = best_assignment(weights)
    taken = [c for c in chosen if c is not None]
    assert len(taken) == len(set(taken)) == min(len(weights), len(weights[0]))
    assert total(weights, chosen) == best_by_trial(weights)


def test_nothing_to_assign() -> None:
    assert best_assignment([]) == []
    assert best_assignment([[], []]) == [None, None]


def test_twelve_steps_and_hundreds_of_calls() -> None:
    weights = [[float((7 * r + 3 * c) % 11) for c in range(400)] for r in range(12)]
    assert total(weights, best_assignment(weights)) == 12 * 10.0
