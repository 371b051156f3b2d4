"""Both policies in whole episodes: what they send, what they give the parser, what they count."""
from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from BFCL.parse.hermes import parse_turn
from environment.core.calls import ParseStatus
from environment.core.trajectory import StopReason, Trajectory
from environment.server.endpoint.chat import Endpoint, Retry
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, failed, said
from environment.session.drive import drive
from environment.session.limits import Limits
from environment.session.prompt import tool_functions
from environment.session.session import Session
from evaluation.judge import judge
from evaluation.policy.chat import NativePolicy, RawPolicy, Sampling
from evaluation.tests.support import SCHEMAS, TinyWorld, gold_call, make_task

TASK = make_task(1)


def run(
    make: Callable[..., Any], replies: Sequence[Reply], sampling: Sampling | None = None
) -> tuple[Trajectory, FakeEndpoint, Any]:
    """Return the trajectory of an episode with scripted replies."""

    async def episode(fake: FakeEndpoint) -> tuple[Trajectory, Any]:
        async with Endpoint(fake.url, "m", retry=Retry(tries=1)) as endpoint:
            policy = make(endpoint, tool_functions(TASK, SCHEMAS), sampling or Sampling())
            return await drive(policy, Session(TASK, TinyWorld(), SCHEMAS, Limits(), parse_turn)), policy

    with FakeEndpoint(lambda body, number: replies[min(number, len(replies) - 1)]) as fake:
        trajectory, policy = asyncio.run(episode(fake))
    return trajectory, fake, policy


def native(*calls: tuple[str, str], content: str | None = None) -> Reply:
    """Return a reply with tool call objects of (name, argument text)."""
    made = [
        {"id": f"id{i}", "type": "function", "function": {"name": n, "arguments": a}} for i, (n, a) in enumerate(calls)
    ]
    return said(content, "tool_calls", tool_calls=made)


def gold(step: int) -> tuple[str, str]:
    """Return a gold call as (name, argument text)."""
    return TASK.steps[step].function, json.dumps(TASK.steps[step].arguments)


def test_raw_sends_tools_in_order_and_what_was_said_word_for_word() -> None:
    turns = [f"  Let me look. {gold_call(TASK, 0)}\n", gold_call(TASK, 1), "Done."]
    trajectory, fake, policy = run(RawPolicy, [said(t) for t in turns], Sampling(0.5, 0.9, 64, 7))
    assert trajectory.stop == StopReason.ANSWER
    body = fake.requests[-1]
    assert [m["content"] for m in body["messages"] if m["role"] == "assistant"] == turns[:2]
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert [t["function"]["name"] for t in body["tools"]] == list(TASK.tools)
    assert {k: body[k] for k in ("tool_choice", "temperature", "top_p", "max_tokens", "seed", "top_k")} == {
        "tool_choice": "none", "temperature": 0.5, "top_p": 0.9, "max_tokens": 64, "seed": 7, "top_k": -1
    }  # fmt: skip
    assert (policy.usage.prompt, policy.usage.completion, policy.usage.requests) == (300, 21, 3)


@pytest.mark.parametrize("make", [RawPolicy, NativePolicy])
def test_each_request_extends_the_one_before(make: Callable[..., Any]) -> None:
    if make is RawPolicy:
        replies = [said(gold_call(TASK, 0)), said(gold_call(TASK, 1)), said("Done.")]
    else:
        replies = [native(gold(0)), native(gold(1)), said("Done.")]
    trajectory, fake, _ = run(make, replies)
    sent = [r["messages"] for r in fake.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(sent))
    verdict = judge(trajectory, TASK, SCHEMAS)
    assert verdict is not None and verdict.success


@pytest.mark.parametrize("make", [RawPolicy, NativePolicy])
def test_a_cut_turn_and_a_full_context_end_by_the_token_limit(make: Callable[..., Any]) -> None:
    assert run(make, [said("I would", "length")])[0].stop == StopReason.MAX_TOKENS
    assert run(make, [failed(400, "maximum context length is 64")])[0].stop == StopReason.MAX_TOKENS


@pytest.mark.parametrize("make", [RawPolicy, NativePolicy])
def test_a_failing_endpoint_is_an_infrastructure_failure(make: Callable[..., Any]) -> None:
    trajectory = run(make, [failed(503)])[0]
    assert trajectory.stop == StopReason.INFRASTRUCTURE
    assert "503" in str(trajectory.error)


def test_native_answers_each_call_by_its_id() -> None:
    both = native(gold(0), ("Get_Hotel_Details", "{}"), content="Two at once.")
    _, fake, _ = run(NativePolicy, [both, said("Done.")])
    said_before, first, second = fake.requests[-1]["messages"][-3:]
    assert [c["id"] for c in said_before["tool_calls"]] == ["id0", "id1"]
    assert [first["tool_call_id"], second["tool_call_id"]] == ["id0", "id1"]
    assert fake.requests[0]["tool_choice"] == "auto"


def test_native_argument_text_that_is_no_json_is_the_models_mistake() -> None:
    trajectory = run(NativePolicy, [native(("Search_Hotels", '{"dest_id": ')), said("Sorry.")])[0]
    assert [c.status for c in trajectory.calls] == [ParseStatus.MALFORMED_JSON]
    assert trajectory.stop == StopReason.ANSWER


def test_native_words_that_look_like_a_call_are_words() -> None:
    trajectory = run(NativePolicy, [said(gold_call(TASK, 0))])[0]
    assert trajectory.calls == ()
    assert trajectory.stop == StopReason.ANSWER


VALUES = st.text(max_size=20) | st.integers(-(2**53), 2**53) | st.booleans()


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=4))
def test_native_arguments_reach_the_parser_unchanged(arguments: dict[str, Any]) -> None:
    arguments = {**arguments, "note": "</tool_call> <tool_call>"}
    reply = native(("Search_Hotels", json.dumps(arguments)))

    class Canned:
        async def chat(self, body: dict[str, Any]) -> Any:
            return reply[1]

    turn = asyncio.run(NativePolicy(Canned(), [], Sampling()).act([]))  # pyright: ignore[reportArgumentType]
    (call,) = parse_turn(turn.text, 0).calls
    assert (call.status, call.name, call.arguments) == (ParseStatus.OK, "Search_Hotels", arguments)


@pytest.mark.parametrize(
    "message",
    [
        {"content": None},
        {"content": [{"type": "text", "text": ""}]},
        {"content": "", "tool_calls": None},
        {"content": 5},
        {},
    ],
)
@pytest.mark.parametrize("make", [RawPolicy, NativePolicy])
def test_an_empty_message_is_an_empty_answer(make: Callable[..., Any], message: dict[str, Any]) -> None:
    trajectory = run(make, [(200, {"choices": [{"message": message}]}, {})])[0]
    assert (trajectory.stop, trajectory.answer) == (StopReason.ANSWER, "")


@pytest.mark.parametrize("call", [{}, None, {"function": None}, {"function": {"name": None, "arguments": None}}, 7])
def test_odd_call_objects_are_unreadable_calls(call: Any) -> None:
    trajectory = run(NativePolicy, [said(None, tool_calls=[call]), said("Sorry.")])[0]
    assert len(trajectory.calls) == 1
    assert trajectory.stop == StopReason.ANSWER
