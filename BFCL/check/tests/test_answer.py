"""The closing answer: what was found must be named, however it is worded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.answer import Closing
from BFCL.check.match import match
from BFCL.check.tests.moves import chain, gold_moves, play
from environment.core.trajectory import StopReason

SHOWN = {"Hotel Bravo", "Bravo", "120", "39.85", "EUR", "a"}
CLOSING = Closing('Take "Hotel Bravo" at 120 EUR, a bargain.')


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("Hotel Bravo, 120 EUR", 1.0),
        ("It costs (120) eur in hotel  BRAVO!", 1.0),
        ("Hotel Bravado for 120 EUR", 2 / 3),
        ("Bravo Hotel: 1200 EUR", 1 / 3),
        ("I am done", 0.0),
    ],
)
def test_the_share_of_named_values(answer: str, told: float) -> None:
    assert CLOSING.told(answer, SHOWN.__contains__) == pytest.approx(told)


def test_the_longest_value_counts_and_tiny_ones_do_not() -> None:
    assert CLOSING.values(SHOWN.__contains__) == ["Hotel Bravo", "120", "EUR"]


@pytest.mark.parametrize("own", ["", "Here it is.", "..."])
def test_an_answer_without_found_values_asks_for_nothing(own: str) -> None:
    assert Closing(own).told("anything", SHOWN.__contains__) == 1.0


@given(st.text(max_size=60), st.text(max_size=60), st.sets(st.text(max_size=5), max_size=5))
def test_total_a_share_and_full_for_the_answer_itself(own: str, other: str, shown: set[str]) -> None:
    assert 0.0 <= Closing(own).told(other, shown.__contains__) <= 1.0


def test_only_what_this_trajectory_found_counts() -> None:
    from dataclasses import replace

    task, responses = chain(3)
    task = replace(task, answer="Your item is id-2.")
    whole = play(gold_moves(task, responses))
    assert match(replace(whole, answer="id-2 it is"), task, {}).told == 1.0
    assert match(replace(whole, answer="done"), task, {}).told == 0.0
    shorter = replace(play(gold_moves(task, responses)[:2]), answer="done")
    assert match(shorter, task, {}).told == 1.0
    assert match(play(gold_moves(task, responses), StopReason.MAX_TURNS), task, {}).success is False
