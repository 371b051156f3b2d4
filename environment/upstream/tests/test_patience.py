"""Waits grow, stay bounded and obey the service; the pace is even; the budget is never exceeded."""
from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environment.core.upstream import UpstreamStop
from environment.upstream.http import Transient
from environment.upstream.patience import Budget, Pace, Patience, patiently

NEVER = threading.Event()


@given(st.integers(1, 40), st.integers(1, 40), st.none() | st.floats(0, 200), st.integers())
def test_waits_are_bounded_and_no_shorter_than_asked(tries: int, tried: int, asked: float | None, seed: int) -> None:
    wait = Patience(tries, 0.5, 60.0).wait_s(tried, asked, random.Random(seed))
    if tried >= tries or (asked or 0) > 60:
        assert wait is None
    else:
        assert wait is not None and (asked or 0) <= wait <= 60
        assert wait >= min(60.0, 0.5 * 2 ** (tried - 1)) / 2


def failing(times: int, asked: float | None = None) -> list[int]:
    """Ask a service that fails so many times; return how often it was asked."""
    calls: list[int] = []

    def ask() -> int:
        calls.append(1)
        if len(calls) <= times:
            failure = Transient("down")
            failure.retry_after = asked
            raise failure
        return 7

    assert patiently(ask, Patience(4, 0.001), Pace(0), random.Random(0), NEVER) == 7
    return calls


def test_passing_failures_are_asked_again_and_the_last_is_raised() -> None:
    assert len(failing(0)) == 1 and len(failing(3)) == 4
    with pytest.raises(Transient, match="down"):
        failing(4)


def test_a_service_that_asks_for_too_long_a_wait_is_not_waited_for() -> None:
    began = time.monotonic()
    with pytest.raises(Transient):
        failing(1, asked=3600)
    assert time.monotonic() - began < 1


def test_other_failures_are_not_asked_again() -> None:
    calls: list[int] = []

    def ask() -> None:
        calls.append(1)
        raise UpstreamStop("no")

    with pytest.raises(UpstreamStop):
        patiently(ask, Patience(), Pace(0), random.Random(0), NEVER)
    assert calls == [1]


def test_a_halt_ends_a_wait_at_once() -> None:
    halt, began = threading.Event(), time.monotonic()

    def ask() -> None:
        threading.Timer(0.05, halt.set).start()
        raise Transient("down")

    with pytest.raises(UpstreamStop, match="on request"):
        patiently(ask, Patience(5, 30.0), Pace(0), random.Random(0), halt)
    assert time.monotonic() - began < 5


def test_requests_of_all_threads_start_at_the_pace() -> None:
    pace, began = Pace(100), time.monotonic()

    def wait(_: int) -> None:
        time.sleep(pace.turn())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(wait, range(21)))
    assert time.monotonic() - began >= 20 / 100 * 0.99


def test_a_hold_stops_everybody() -> None:
    pace = Pace(0)
    pace.hold(5)
    assert 4.9 < pace.turn() <= 5


@given(st.integers(0, 30), st.integers(0, 30))
def test_the_budget_is_never_exceeded(limit: int, spent: int) -> None:
    noted: list[int] = []
    budget = Budget(limit, spent, lambda: noted.append(1))
    refused = 0
    for _ in range(40):
        try:
            budget.take()
        except UpstreamStop:
            refused += 1
    assert len(noted) == max(0, limit - spent) == 40 - refused
    assert budget.left == 0 and budget.spent == max(limit, spent)
    assert Budget().left is None


def test_threads_share_a_budget() -> None:
    budget, sent = Budget(50), list[int]()

    def spend(_: int) -> None:
        try:
            budget.take()
            sent.append(1)
        except UpstreamStop:
            return

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(spend, range(400)))
    assert len(sent) == 50
