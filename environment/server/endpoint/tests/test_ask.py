"""Structured answers: what is used, what is asked again, what is paid for, and what is never asked twice."""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from environment.core.errors import ConfigError, DataError
from environment.server.endpoint.answers import Unusable, Why, read_answer
from environment.server.endpoint.ask import Asker, AskSettings, in_order
from environment.server.endpoint.budget import Budget, BudgetSpent, Price
from environment.server.endpoint.chat import Endpoint, Retry
from environment.server.endpoint.connect import EndpointSettings, connect
from environment.server.endpoint.failures import Exhausted, Fatal
from environment.server.endpoint.replies import ReplyCache
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, failed, said


class Verdict(BaseModel):
    """A shape to ask for."""

    model_config = ConfigDict(extra="forbid", strict=True)
    ok: bool
    why: str


GOOD = '{"ok": true, "why": "fine"}'
QUESTION = [{"role": "user", "content": "Is it right?"}]
Answer = Callable[[dict[str, Any], int], Reply]


async def _no_wait(_: float) -> None:
    """Take the place of sleeping between tries."""


def run(answer: Answer, questions: int = 1, window: int = 8, **more: Any) -> tuple[list[Any], FakeEndpoint, Asker]:
    """Ask so many different questions; return verdicts or errors, in order."""

    async def once(fake: FakeEndpoint) -> tuple[list[Any], Asker]:
        async with Endpoint(fake.url, "m", retry=Retry(tries=12, base=0.01), sleep=_no_wait) as endpoint:
            asker = Asker(endpoint, **more)

            async def one(number: int) -> Any:
                try:
                    return await asker.ask([{"role": "user", "content": f"Is {number} right?"}], Verdict)
                except (Unusable, BudgetSpent, Exhausted) as error:
                    return error

            return [outcome async for outcome in in_order(range(questions), one, window)], asker

    with FakeEndpoint(answer) as fake:
        outcomes, asker = asyncio.run(once(fake))
    return outcomes, fake, asker


def replies(*script: Reply) -> Answer:
    """Return each reply in turn, the last one for ever."""
    return lambda _, number: script[min(number, len(script) - 1)]


def test_a_question_carries_the_shape_and_the_answer_is_of_it() -> None:
    (verdict,), fake, asker = run(replies(said(GOOD)))
    assert verdict == Verdict(ok=True, why="fine")
    sent = fake.requests[0]["response_format"]
    assert sent["json_schema"]["strict"] and sent["json_schema"]["schema"]["required"] == ["ok", "why"]
    assert (asker.budget.prompt, asker.budget.completion) == (100, 7)


@pytest.mark.parametrize(("format", "sent"), [("json_object", {"type": "json_object"}), ("none", None)])
def test_an_endpoint_without_schemas_can_be_asked_too(format: Any, sent: object) -> None:
    _, fake, _ = run(replies(said(GOOD)), settings=AskSettings(format=format))
    assert fake.requests[0].get("response_format") == sent


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (said('{"ok": true, "why": "fi', finish="length"), "truncated"),
        (said(GOOD, finish="length"), "truncated"),
        (said('{"ok": true, "why": '), "malformed_json"),
        (said("Yes, it is."), "malformed_json"),
        (said("[" * 100_000), "malformed_json"),
        (said('{"ok": "true", "why": "fine"}'), "other_shape"),
        (said('{"ok": true, "why": "fine", "more": 1}'), "other_shape"),
        (said("[]"), "other_shape"),
        (said(""), "empty"),
        (said(None), "empty"),
        (said(GOOD, refusal="I can't."), "refused"),
    ],
)
def test_what_is_no_answer_is_counted_and_asked_again_with_the_reason(reply: Reply, why: str) -> None:
    (verdict,), fake, asker = run(replies(reply, said(GOOD)))
    assert verdict == Verdict(ok=True, why="fine")
    assert asker.counts == {"asked": 2, why: 1}
    assert fake.requests[0]["messages"] == [{"role": "user", "content": "Is 0 right?"}]
    assert "can't be used" in fake.requests[1]["messages"][-1]["content"]


def test_a_model_that_never_answers_is_given_up_by_reason() -> None:
    (error,), fake, asker = run(replies(said("no json")), settings=AskSettings(attempts=3))
    assert isinstance(error, Unusable) and error.why is Why.NO_JSON
    assert len(fake.requests) == asker.counts["asked"] == 3


@pytest.mark.parametrize("text", [f"```json\n{GOOD}\n```", f"```\n{GOOD}\n```", f"<think>hm {{}}</think>\n{GOOD}"])
def test_a_fence_and_closed_thoughts_are_taken_off(text: str) -> None:
    assert read_answer(text, Verdict) == Verdict(ok=True, why="fine")


@given(st.text())
def test_any_text_is_an_answer_or_a_reason(text: str) -> None:
    try:
        read_answer(text, Verdict)
    except Unusable as error:
        assert error.why in Why


def test_a_storm_of_429_is_ridden_out() -> None:
    answer: Answer = lambda _, number: failed(429, Retry_After="0") if number < 60 else said(GOOD)  # noqa: E731
    outcomes, _, asker = run(answer, questions=16, window=16)
    assert outcomes == [Verdict(ok=True, why="fine")] * 16
    assert asker.endpoint.failures == {"HTTP 429": 60}


def test_empty_choices_are_tried_again_and_counted() -> None:
    (verdict,), _, asker = run(replies((200, {"choices": []}, {}), said(GOOD)))
    assert verdict.ok and asker.endpoint.failures == {"the answer holds no message": 1}


def test_a_bad_key_ends_everything_at_the_first_answer() -> None:
    with FakeEndpoint(lambda body, number: failed(401, "bad key")) as fake, pytest.raises(Fatal, match="key"):

        async def once() -> None:
            async with connect(EndpointSettings(fake.url, "m", concurrency=2)) as asker:
                work = [q async for q in in_order(range(50), lambda n: asker.ask(QUESTION, Verdict), 2)]
                assert not work

        asyncio.run(once())
    assert len(fake.requests) <= 2


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-test")

    async def once(url: str) -> None:
        settings = EndpointSettings(url, "m", key_env="MY_KEY")
        assert "sk-test" not in repr(settings)
        async with connect(settings) as asker:
            assert "sk-test" not in repr(asker)
            await asker.ask(QUESTION, Verdict)

    with FakeEndpoint(replies(said(GOOD))) as fake:
        asyncio.run(once(fake.url))
    assert fake.keys == ["Bearer sk-test"]


def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    for turn in range(2):
        with ReplyCache(tmp_path / "replies.db") as cache:
            outcomes, fake, asker = run(replies(said(GOOD)), questions=5, cache=cache)
            assert len(fake.requests) == (0 if turn else 5) and len(cache) == 5
            assert asker.counts["cached"] == (5 if turn else 0)
            assert all(outcome.ok for outcome in outcomes)


def test_an_answer_that_was_no_use_is_not_kept(tmp_path: Path) -> None:
    with ReplyCache(tmp_path / "replies.db") as cache:
        run(replies(said("no")), cache=cache)
        assert len(cache) == 0
        run(replies(said("no"), said(GOOD)), cache=cache)
        assert len(cache) == 1
        _, fake, _ = run(replies(said(GOOD)), cache=cache)
        assert fake.requests == []


def test_another_model_or_setting_asks_anew(tmp_path: Path) -> None:
    with ReplyCache(tmp_path / "replies.db") as cache:
        run(replies(said(GOOD)), cache=cache)
        _, fake, _ = run(replies(said(GOOD)), cache=cache, settings=AskSettings(temperature=0.5))
        assert len(fake.requests) == 1


@pytest.mark.parametrize("content", [b"not a database, but long enough to be looked at" * 10, None])
def test_a_file_of_replies_that_is_none_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        (tmp_path / "replies.db").mkdir()
    else:
        (tmp_path / "replies.db").write_bytes(content)
    with pytest.raises(DataError, match=r"replies\.db"):
        ReplyCache(tmp_path / "replies.db")


@pytest.mark.parametrize("window", [1, 8])
def test_the_budget_is_never_passed_and_is_used(window: int) -> None:
    # An answer uses 107 tokens; a question holds 4 + 60 before it is asked.
    budget = Budget(max_tokens=1000)
    outcomes, fake, _ = run(
        replies(said(GOOD)), questions=30, window=window, budget=budget, settings=AskSettings(max_tokens=60)
    )
    spent = [outcome for outcome in outcomes if isinstance(outcome, BudgetSpent)]
    assert 5 <= len(fake.requests) < 30 and len(spent) == 30 - len(fake.requests)
    assert "raise the cap" in str(spent[0])


@given(st.lists(st.integers(0, 60), max_size=20), st.integers(0, 400))
def test_whatever_requests_really_use_the_cap_holds(uses: Sequence[int], cap: int) -> None:
    budget = Budget(max_tokens=cap)

    async def one(use: int) -> None:
        held = await budget.hold(20, 40)
        await asyncio.sleep(0)
        budget.settle(held, {"usage": {"prompt_tokens": 0, "completion_tokens": use}})

    async def every() -> list[Any]:
        return await asyncio.wait_for(asyncio.gather(*map(one, uses), return_exceptions=True), 5)

    outcomes = asyncio.run(every())
    assert budget.prompt + budget.completion <= cap
    assert all(outcome is None or isinstance(outcome, BudgetSpent) for outcome in outcomes)


def test_money_is_capped_by_prices_and_needs_them() -> None:
    budget = Budget(max_cost=0.001, price=Price(1.0, 10.0))
    settings = AskSettings(max_tokens=10)
    status, body, headers = said(GOOD)
    frugal = (status, {**body, "usage": {"prompt_tokens": 3, "completion_tokens": 7}}, headers)
    outcomes, _, _ = run(replies(frugal), questions=20, window=1, budget=budget, settings=settings)
    assert any(isinstance(outcome, BudgetSpent) for outcome in outcomes)
    assert 0.0005 < budget.cost <= 0.001
    with pytest.raises(ConfigError, match="price"):
        Budget(max_cost=1.0)


def test_an_endpoint_that_reports_no_use_counts_as_all_that_was_held() -> None:
    silent: Reply = (200, {"choices": [{"message": {"content": GOOD}, "finish_reason": "stop"}]}, {})
    _, _, asker = run(replies(silent), settings=AskSettings(max_tokens=33))
    assert asker.budget.completion == 33 and asker.budget.prompt > 0


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 6))
def test_results_come_in_order_and_never_more_than_the_window_run(waits: Sequence[int], window: int) -> None:
    running, most = 0, 0

    async def work(item: tuple[int, int]) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(item[1]):
            await asyncio.sleep(0)
        running -= 1
        return item[0]

    async def every() -> list[int]:
        return [n async for n in in_order(enumerate(waits), work, window)]

    assert asyncio.run(every()) == list(range(len(waits)))
    assert most <= window


@pytest.mark.parametrize(
    "wrong", [{"base_url": "localhost:8000"}, {"base_url": "ftp://x/v1"}, {"model": ""}, {"concurrency": 0}]
)
def test_settings_that_can_not_work_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="--"):
        settings: dict[str, Any] = {"base_url": "http://x/v1", "model": "m", **wrong}
        EndpointSettings(**settings)
