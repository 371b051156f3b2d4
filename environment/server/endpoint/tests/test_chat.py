"""The endpoint client: what is tried again, what ends the run, what is never told."""
from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environment.server.endpoint.chat import Endpoint, Retry
from environment.server.endpoint.failures import EndpointError, Exhausted, Fatal, Passing, TooLong, classify
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, closed_address, failed, said

BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "hello"}]}


def ask(replies: Sequence[Reply], tries: int = 4, **more: Any) -> tuple[Any, FakeEndpoint, list[float], Endpoint]:
    """Return what one request comes to (a reply or an error), and what happened on the way."""
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    async def once(fake: FakeEndpoint) -> tuple[Any, Endpoint]:
        async with Endpoint(fake.url, "m", retry=Retry(tries=tries, base=1.0), sleep=note, **more) as endpoint:
            try:
                return await endpoint.chat(BODY), endpoint
            except EndpointError as error:
                return error, endpoint

    with FakeEndpoint(lambda body, number: replies[min(number, len(replies) - 1)]) as fake:
        outcome, endpoint = asyncio.run(once(fake))
    return outcome, fake, waits, endpoint


def test_a_good_reply_comes_at_the_first_try() -> None:
    outcome, fake, waits, _ = ask([said("hi")])
    assert outcome["choices"][0]["message"]["content"] == "hi"
    assert fake.requests == [{"model": "m", **BODY}]
    assert waits == []


BROKEN: list[Reply] = [
    (200, "", {}),
    (200, "{", {}),
    (200, {"choices": []}, {}),
    (200, {"error": "half"}, {}),
    (200, {"choices": [{"message": None}]}, {}),
    (200, [1], {}),
]


@pytest.mark.parametrize("reply", [failed(429), failed(500), failed(503), failed(408), *BROKEN])
def test_what_may_pass_is_tried_again(reply: Reply) -> None:
    outcome, fake, waits, endpoint = ask([reply, reply, said("hi")])
    assert outcome["choices"][0]["message"]["content"] == "hi"
    assert (len(fake.requests), len(waits), endpoint.retries) == (3, 2, 2)


@pytest.mark.parametrize("reply", [failed(503), BROKEN[2]])
def test_what_does_not_pass_is_given_up_after_the_last_try(reply: Reply) -> None:
    outcome, fake, waits, endpoint = ask([reply])
    assert isinstance(outcome, Exhausted)
    assert (len(fake.requests), len(waits), endpoint.fatal) == (4, 3, None)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_no_retry_mends_is_fatal_at_once_and_for_ever(status: int) -> None:
    outcome, fake, waits, endpoint = ask([failed(status, "bad key or so")])
    assert isinstance(outcome, Fatal)
    assert "bad key or so" in str(outcome)
    assert (len(fake.requests), waits, endpoint.fatal) == (1, [], outcome)


def test_after_a_fatal_failure_nothing_more_is_sent() -> None:
    async def twice(fake: FakeEndpoint) -> None:
        async with Endpoint(fake.url, "m") as endpoint:
            for _ in range(3):
                with pytest.raises(Fatal):
                    await endpoint.chat(BODY)

    with FakeEndpoint(lambda body, number: failed(401)) as fake:
        asyncio.run(twice(fake))
        assert len(fake.requests) == 1


@pytest.mark.parametrize(
    "text", ["This model's maximum context length is 64 tokens", '{"error": {"code": "context_length_exceeded"}}']
)
def test_a_prompt_too_long_is_told_apart(text: str) -> None:
    outcome, fake, _, endpoint = ask([failed(400, text)])
    assert isinstance(outcome, TooLong)
    assert (len(fake.requests), endpoint.fatal) == (1, None)


def test_no_server_at_all_is_exhausted() -> None:
    async def once() -> None:
        async with Endpoint(closed_address(), "m", retry=Retry(tries=2, base=0.0)) as endpoint:
            await endpoint.chat(BODY)

    with pytest.raises(Exhausted, match="no answer"):
        asyncio.run(once())


def test_the_wait_an_endpoint_asks_for_is_kept() -> None:
    _, _, waits, _ = ask([failed(429, Retry_After="7"), said("hi")])
    assert waits == [7.0]


@given(st.integers(0, 40), st.none() | st.floats(0, 1e6), st.floats(0, 1))
def test_waits_grow_within_bounds(attempt: int, asked: float | None, chance: float) -> None:
    retry = Retry(base=0.5, most=20)
    wait = retry.wait(attempt, asked, chance)
    assert 0.25 <= wait <= 40
    assert retry.wait(attempt + 1, asked, chance) >= wait


def test_the_key_is_sent_and_never_shown() -> None:
    outcome, fake, _, endpoint = ask([failed(401, "no")], api_key="sk-secret")
    assert fake.keys == ["Bearer sk-secret"]
    assert "secret" not in repr(endpoint) + str(outcome) + repr(outcome)


@given(st.integers(300, 599), st.text(max_size=30))
def test_every_status_is_of_one_class(status: int, body: str) -> None:
    assert isinstance(classify(status, body, "x"), Passing | Fatal | TooLong)
