"""No policy earns by tricks what an honest half of the work earns, under any reward, but for what `limits` lists."""

# pyright: basic
from __future__ import annotations

from functools import cache

import pytest

from environment.core.trajectory import StopReason, Trajectory
from training.reward.limits import LIMITS, limit_of
from training.reward.registry import names, reward
from training.reward.tests.policies import ADVERSARIES, Setting
from training.reward.tests.records import FILES
from training.reward.tests.settings import made, recorded

MADE = made()
REWARDS = names()


@cache
def played(index: int, policy: str) -> Trajectory:
    """What a policy does in one of the made settings; every reward judges the same."""
    return MADE[index].play(ADVERSARIES[policy](MADE[index]))


def value(name: str, index: int, policy: str) -> float:
    setting = MADE[index]
    return reward(name)(played(index, policy), setting.task, setting.schemas).score


def honest_half(name: str, setting: Setting) -> float:
    return reward(name)(setting.half, setting.task, setting.schemas).score


@pytest.mark.parametrize("name", REWARDS)
@pytest.mark.parametrize("policy", ADVERSARIES)
def test_a_trick_earns_less_than_an_honest_half(name: str, policy: str) -> None:
    limit = limit_of(name, policy)
    pairs = [(value(name, i, policy), honest_half(name, s)) for i, s in enumerate(MADE)]
    if limit is None:
        assert all(trick < half for trick, half in pairs), pairs
    elif limit.all_or_nothing:
        assert all(trick <= half for trick, half in pairs), pairs
    else:
        assert any(trick >= half for trick, half in pairs), f"{name} holds against {policy}: drop the entry"


@pytest.mark.parametrize("name", REWARDS)
def test_gold_earns_more_than_every_trick_that_leaves_work_undone(name: str) -> None:
    best = reward(name)
    for index, setting in enumerate(MADE):
        gold = best(setting.honest(len(setting.task.steps)), setting.task, setting.schemas)
        assert gold.acc
        tricks = {p: value(name, index, p) for p in ADVERSARIES if "many times" not in p}
        assert all(trick < gold.score for trick in tricks.values()), tricks


@pytest.mark.parametrize("name", ["graduated", "binary"])
def test_no_trick_is_a_success(name: str) -> None:
    for index, setting in enumerate(MADE):
        for policy in ADVERSARIES:
            assert not reward(name)(played(index, policy), setting.task, setting.schemas).acc, policy


@pytest.mark.parametrize("file", FILES)
def test_recorded_tasks_under_the_reward_for_training(file: str) -> None:
    for setting in [s for s in recorded(file) if len(s.task.steps) >= 3][::9]:
        half = honest_half("graduated", setting)
        for policy, make in ADVERSARIES.items():
            trick = reward("graduated")(setting.play(make(setting)), setting.task, setting.schemas).score
            assert trick < half, (setting.task.id, policy, trick, half)


def test_every_reward_has_its_limits_said_and_each_entry_names_policies_of_the_suite() -> None:
    assert set(LIMITS) == set(REWARDS)
    for entries in LIMITS.values():
        for entry in entries:
            assert entry.policies <= set(ADVERSARIES)
            assert bool(entry.policies) != entry.all_or_nothing and entry.reason
    assert LIMITS["graduated"] == ()


def test_the_policies_reach_the_session_as_meant() -> None:
    done = {policy: played(0, policy) for policy in ADVERSARIES}
    assert not done["gold copied into text"].calls and not done["gold in the reasoning"].calls
    assert len(done["endless repeats"].calls) == 60
    assert all(t.stop != StopReason.INFRASTRUCTURE for t in done.values())
    assert {r.status for r in done["forged replies"].results} == {"invalid_arguments"}
    assert any(c.problem for c in done["nested tags"].calls)
