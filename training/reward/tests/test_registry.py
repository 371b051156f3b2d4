"""Rewards by name: settings are checked before anything runs, every reward is a picklable pure function."""
# pyright: basic
from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from BFCL.check.tests.moves import Move, chain, gold_moves, play
from environment.core.calls import ParseStatus, ResultStatus
from environment.core.errors import ConfigError
from environment.core.trajectory import StopReason
from training.reward.registry import decoded_text, names, reward


@pytest.mark.parametrize("name", names())
def test_a_reward_is_pure_picklable_and_bounded(name: str) -> None:
    task, responses = chain(3)
    made = reward(name)
    again = pickle.loads(pickle.dumps(made))
    for moves in (gold_moves(task, responses), gold_moves(task, responses)[:1], []):
        found = made(play(moves), task, {})
        assert found == made(play(moves), task, {}) == again(play(moves), task, {})
        assert 0.0 <= found.score <= 1.0
        assert all(math.isfinite(v) for v in found.as_log().values())


@pytest.mark.parametrize("name", names())
def test_success_is_the_same_under_every_reward(name: str) -> None:
    task, responses = chain(3)
    gold = reward(name)(play(gold_moves(task, responses)), task, {})
    less = reward(name)(play(gold_moves(task, responses)[:2], StopReason.INFRASTRUCTURE), task, {})
    assert (gold.acc, gold.turn_accuracy, gold.gold_steps, gold.void) == (True, 1.0, 3, False)
    assert (less.acc, less.correct_calls, less.void) == (False, 2, True)


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("gradated", {}, "'graduated'"),
        ("graduated", {"orchestra": 1}, "orchestra"),
        ("graduated", {"atomic": -1}, "reward.weights.atomic"),
        ("legacy", {"R_atomic_validty": 1.0}, "'R_atomic_validity'"),
        ("legacy", {"R_atomic_validity": "half"}, "a finite number"),
    ],
)
def test_wrong_settings_say_what_was_meant(name: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        reward(name, options)
    assert told in str(caught.value) and caught.value.exit_status == 2


def test_options_reach_the_reward() -> None:
    task, responses = chain(3)
    wasteful = play([*gold_moves(task, responses), Move("other", {})])
    assert reward("graduated", {"surplus_cost": 0})(wasteful, task, {}).score == 1.0
    assert reward("legacy", {"R_outcome_orchestration": 1.0})(wasteful, task, {}).components["R_atomic_validity"] == 0.0


def test_decoded_text_has_turns_and_replies_and_no_prompt() -> None:
    task, responses = chain(2)
    text = decoded_text(play(gold_moves(task, responses)))
    assert text.count("<tool_call>") == text.count("<tool_response>") == 2
    assert "do it" not in text


def test_legacy_counts_what_the_reference_could_not_take() -> None:
    task, _ = chain(2)
    odd = play([Move("", {}, status=ResultStatus.NOT_EXECUTED, parse=ParseStatus.NOT_A_CALL)], raw="5")
    found = reward("legacy")(odd, task, {})
    assert (found.score, found.components["would_raise"]) == (0.0, 1.0)
    assert "TypeError" in found.notes[0]
