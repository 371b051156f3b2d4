"""Summaries: every episode counted once, infrastructure in no denominator, groups that add up."""
from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.core.trajectory import StopReason
from evaluation.compare import compare, headline
from evaluation.judge import judge
from evaluation.summary import Judged, summarise
from evaluation.tests.support import SCHEMAS, make_task, plain_reward, play, script

TASKS = [make_task(i, 1 + i % 2) for i in range(6)]
KINDS = ("right", "wrong", "talk", "lost")


def episode(number: int, kind: str, sample: int) -> Judged:
    """Return a judged episode; `lost` ones were failed by the infrastructure."""
    task = TASKS[number]
    trajectory = play(task, script(task, "right" if kind == "lost" else kind), sample)
    if kind == "lost":
        trajectory = replace(trajectory, stop=StopReason.INFRASTRUCTURE, answer="")
    return Judged(trajectory, task, judge(trajectory, task, SCHEMAS, plain_reward))


POOL = {(n, k, s): episode(n, k, s) for n in range(6) for k in KINDS for s in range(3)}
PLANS = st.lists(st.lists(st.sampled_from(KINDS), min_size=3, max_size=3), min_size=6, max_size=6)


@settings(max_examples=20, deadline=None)
@given(PLANS)
def test_figures_are_what_counting_by_hand_gives(plan: list[list[str]]) -> None:
    found = summarise(TASKS, [POOL[n, k, s] for n, kinds in enumerate(plan) for s, k in enumerate(kinds)], 2)
    greedy = [kinds[0] for kinds in plan if kinds[0] != "lost"]
    assert found["success_rate"]["n"] == len(greedy)
    expected = greedy.count("right") / len(greedy) if greedy else None
    assert found["success_rate"]["value"] == (pytest.approx(expected) if greedy else None)
    sampled = [[k == "right" for k in kinds[1:] if k != "lost"] for kinds in plan]
    means = [sum(g) / len(g) for g in sampled if g]
    assert found["avg_at_2"]["value"] == (pytest.approx(sum(means) / len(means)) if means else None)
    assert found["infrastructure"] == sum(kinds.count("lost") for kinds in plan)
    assert sum(found["stops"]["greedy"].values()) == sum(found["faults"]["greedy"].values()) == len(greedy)
    assert sum(row["n"] for row in found["by_length"].values()) == found["n"] == len(TASKS)
    assert json.loads(json.dumps(found)) == found


def test_failures_of_the_infrastructure_and_few_items_are_warned_of() -> None:
    found = summarise(TASKS, [POOL[0, "lost", 0], POOL[1, "right", 0]], 2)
    assert "only 6 items" in found["warnings"][0]
    assert found["warnings"][1].startswith("1 episodes failed by infrastructure")
    assert found["items"][0]["greedy"] is None


def test_without_samples_there_is_no_avg() -> None:
    found = summarise(TASKS, [POOL[n, "right", 0] for n in range(6)], 0)
    assert not [k for k in found if k.startswith(("avg_at", "pass_"))]
    assert found["success_rate"]["value"] == 1


def test_tokens_are_added_up_over_all_episodes() -> None:
    found = summarise(TASKS, [POOL[n, "right", s] for n in range(6) for s in range(3)], 2)
    assert found["tokens"]["completion_tokens"] == 18 * 40


def test_two_summaries_are_compared_item_by_item() -> None:
    before = summarise(TASKS, [POOL[n, "talk", s] for n in range(6) for s in range(3)], 2)
    kinds = ("right", "right", "right", "talk", "talk", "lost")
    after = summarise(TASKS, [POOL[n, k, s] for n, k in enumerate(kinds) for s in range(3)], 2)
    found = compare(before, after)
    assert (found["success_rate"].wins, found["success_rate"].losses, found["success_rate"].ties) == (3, 0, 2)
    assert found["avg_at_2"].difference.value == pytest.approx(3 / 5)
    assert found["success_rate"].p_value == 0.25
    assert set(headline(after)) >= {"success_rate", "avg_at_2", "turn_accuracy", "call_accuracy", "reward_mean"}
