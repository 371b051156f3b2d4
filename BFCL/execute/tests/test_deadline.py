"""Deadlines: plain Python is interrupted in any thread, what is in time is not, and nothing is left behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
import time

import pytest

from BFCL.execute.deadline import TICK, Overdue, within


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_work_that_overruns_is_interrupted() -> None:
    began = time.monotonic()
    with pytest.raises(Overdue):
        within(0.1, lambda: spin(20))
    assert time.monotonic() - began < 5


def test_work_in_time_is_left_alone_and_so_is_what_follows() -> None:
    assert [within(0.2, lambda number=number: number) for number in range(1000)] == list(range(1000))
    spin(0.4)


def test_errors_of_the_work_come_through() -> None:
    with pytest.raises(ZeroDivisionError):
        within(1, lambda: 1 // 0)


def test_work_that_swallows_its_own_errors_ends_too() -> None:
    def stubborn() -> None:
        while True:
            try:
                spin(0.01)
            except Exception:
                continue

    with pytest.raises(Overdue):
        within(0.1, stubborn)


def test_of_two_deadlines_the_nearer_counts() -> None:
    began = time.monotonic()
    with pytest.raises(Overdue):
        within(20, lambda: within(0.1, lambda: spin(10)))
    assert time.monotonic() - began < 5


def test_an_interruption_that_comes_late_does_not_reach_what_follows() -> None:
    """Work that ends just when it is due: nothing may be raised, or be left to be raised, once it has been left."""
    for number in range(20):
        with contextlib.suppress(Overdue):
            within(TICK, lambda number=number: spin(TICK + (number - 10) / 2000))
    spin(3 * TICK)


def test_only_the_thread_that_overruns_is_interrupted() -> None:
    ended = list[str]()

    def overrun() -> None:
        try:
            within(0.1, lambda: spin(20))
        except Overdue:
            ended.append("overdue")

    thread = threading.Thread(target=overrun)
    thread.start()
    spin(0.5)
    thread.join(timeout=10)
    assert ended == ["overdue"]


def _in_child(answers: multiprocessing.Queue[str]) -> None:
    try:
        within(0.1, lambda: spin(20))
    except Overdue:
        answers.put("overdue")


def test_a_forked_process_has_deadlines_of_its_own() -> None:
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def fork_and_wait() -> str:
        child = context.Process(target=_in_child, args=(answers,))
        child.start()
        told = answers.get(timeout=20)
        child.join(timeout=20)
        return told

    assert within(60, fork_and_wait) == "overdue"
