"""The facts of a line: those of the trajectory in it, for any trajectory; anything else is refused in words."""
from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluation.tests.support import make_task
from evaluation.viewer.facts import NONE, SKIM_FROM, Parts, Reader, Row, decode, skim
from evaluation.viewer.tests.support import KINDS, hostile, rollout

TASKS = [make_task(n, 1 + n % 2) for n in range(4)]


def read(row: dict[str, Any], **encoding: Any) -> tuple[Row, Reader]:
    reader = Reader({})
    return reader.row(json.dumps(row, **encoding).encode("utf-8", "surrogatepass"), 3, 70), reader


@given(st.sampled_from(TASKS), st.sampled_from(KINDS), st.integers(0, 9), st.integers(0, 500))
def test_facts_are_the_trajectorys_own(task: Any, kind: str, sample: int, step: int) -> None:
    trajectory = rollout(task, kind, sample, step)
    row, reader = read(trajectory.to_json())
    reward: Any = trajectory.meta["reward"]
    assert (row.line, row.offset, row.task, row.stop) == (3, 70, task.id, str(trajectory.stop))
    assert (row.sample, row.step, row.calls) == (sample, step, len(trajectory.calls))
    assert row.tools == tuple(dict.fromkeys(call.name for call in trajectory.calls))
    assert row.turns == sum(m["role"] == "assistant" for m in trajectory.messages)
    assert (row.success, row.reward) == (reward["acc"] == 1, reward["score"])
    assert reader.parts.value(row, "R_form") == reward["R_form"]
    assert reader.parts.value(row, "stop") is None and reader.parts.value(row, "nothing") is None


def test_what_the_infrastructure_failed_is_neither_right_nor_wrong() -> None:
    row, _ = read({**rollout(TASKS[0], "right", 0).to_json(), "stop": "infrastructure"})
    assert row.success is None and row.stop == "infrastructure"


def test_an_episode_without_a_reward_is_judged_by_the_summary_or_not_at_all() -> None:
    data = rollout(TASKS[0], "right", 2).to_json()
    del data["meta"]["reward"], data["meta"]["step"]
    line = json.dumps(data).encode()
    unknown = Reader({}).row(line, 1, 0)
    known = Reader({(TASKS[0].id, 2): (True, 0.75)}).row(line, 1, 0)
    assert (unknown.success, unknown.reward, unknown.layout, unknown.step) == (None, None, NONE, NONE)
    assert (known.success, known.reward) == (True, 0.75)


@pytest.mark.parametrize("reward", [math.nan, math.inf, True, "high", None, [1]])
def test_a_reward_that_is_no_number_is_none(reward: Any) -> None:
    data = rollout(TASKS[0], "right", 0).to_json()
    data["meta"]["reward"] = {"score": reward, "acc": 1.0}
    assert read(data)[0].reward is None and read(data)[0].success is True
    data["meta"]["reward"] = reward
    assert read(data)[0].reward is None


SPOOF = {
    "messages": [{"role": "assistant", "content": ""}], "x": [], "calls": [], "results": [], "ledger": [],
    "stop": "infrastructure", "task_id": "spoof", "meta": {"reward": {"score": 9.0}},
}  # fmt: skip
NESTED = {"x": {"y": [], "stop": "no", "meta": {}}}
ARGUMENTS = st.sampled_from([{}, SPOOF, {"x": [SPOOF]}, NESTED, {"a": [], "results": []}])


@given(st.sampled_from(TASKS), st.sampled_from(KINDS), ARGUMENTS, ARGUMENTS, st.booleans())
def test_a_line_skimmed_says_what_the_line_read_whole_says(
    task: Any, kind: str, arguments: dict[str, Any], value: dict[str, Any], talkative: bool
) -> None:
    row = rollout(task, kind, 1).to_json()
    for call in row["calls"]:
        call["arguments"] |= arguments
    for result in row["results"]:
        result["value"] = value
    if talkative:
        row["messages"][-1]["content"] += json.dumps(SPOOF) + '], "stop": "x'
    line = json.dumps(row).encode()
    skimmed = skim(line)
    if skimmed is not None:
        kept = ("task_id", "calls", "stop", "answer", "spans", "meta")
        assert {name: skimmed[0][name] for name in kept} == {name: row[name] for name in kept}
        assert skimmed[1] == sum(m["role"] == "assistant" for m in row["messages"])


def test_our_own_lines_are_skimmed_and_torn_or_foreign_ones_are_not() -> None:
    line = json.dumps(rollout(TASKS[1], "right", 0).to_json()).encode()
    assert skim(line) is not None
    assert skim(line[: len(line) // 2] + line) is None
    assert skim(line[:-1]) is None and skim(b"{}") is None
    assert skim(line.replace(b'", "', b'","').replace(b'": ', b'":')) is None


def test_a_long_line_gives_the_facts_of_a_short_one() -> None:
    data = rollout(TASKS[1], "right", 0).to_json()
    short, _ = read(data)
    data["results"][0]["value"] = {"text": "x" * SKIM_FROM}
    long, _ = read(data)
    assert long._replace(length=short.length) == short


@pytest.mark.parametrize("ascii_only", [True, False])
def test_hostile_lines_are_lines_like_others(ascii_only: bool) -> None:
    row, _ = read(hostile(), ensure_ascii=ascii_only)
    assert row.task == hostile()["task_id"] and row.calls == 3


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[1, 2]", "a JSON list"),
        (b'"text"', "a JSON str"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"step": 1, "reward": 0.5}', "'task_id' is missing"),
        (b'{"task_id": "a", "stop": "answer", "calls": [], "meta": {}}', "'messages' is missing"),
        (b'{"task_id": 3, "stop": "answer", "calls": [], "messages": []}', "wrong type"),
        (b'{"task_id": "a", "stop": "answer", "calls": 3, "messages": []}', "wrong type"),
        (b'{"task_id": "a", "stop": "answer", "calls": ["x"], "messages": []}', "wrong type"),
        (b'{"task_id": "a", "stop": "answer", "calls": [], "messages": [], "meta": 3}', "wrong type"),
        (b'{"a": ' * 3000 + b"1" + b"}" * 3000, "nested too deeply"),
    ],
)
def test_what_is_no_trajectory_is_refused_with_the_reason(line: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Reader({}).row(line, 1, 0)


VALUES = st.floats(allow_nan=False) | st.booleans() | st.text()


@example([{"a": 0.0, "b": 0.0, "c": ""}, {"a": 0.0, "b": 0.0, "c": 2.0}])
@given(st.lists(st.dictionaries(st.sampled_from("abcd"), VALUES), max_size=9))
def test_parts_find_every_number_again(rewards: list[dict[str, Any]]) -> None:
    parts = Parts()
    empty = Row(1, 0, 0, "", "", None, None, 0, 0, (), 0, 0, NONE, 0)
    rows = [empty._replace(layout=layout, at=at) for layout, at in map(parts.add, rewards)]
    for row, reward in zip(rows, rewards, strict=True):
        for name in "abcd":
            value = reward.get(name)
            assert parts.value(row, name) == (value if isinstance(value, float | bool) else None)


def test_a_line_is_decoded_as_python_writes_it() -> None:
    assert decode(b'{"a": NaN, "b": "\\ud800"}')["b"] == "\ud800"
