# pyright: basic
"""What a trajectory did, counted."""
from __future__ import annotations

import asyncio

import pytest

from BFCL.check.conduct import CALL_CLASSES, conduct
from BFCL.parse.hermes import parse_turn
from environment.core.calls import ResultStatus, WorldAnswer
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task
from environment.core.trajectory import StopReason
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.prompt import call_text
from environment.session.session import Session

FIND = ToolSchema("find", "find a city", {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})
TASK = Task("t", "Find Oslo", ("find",), (GoldStep("find", {"q": "Oslo"}),))
OSLO, ROME = call_text("find", {"q": "Oslo"}), call_text("find", {"q": "Rome"})


class OneCity:
    """Knows Oslo, is too slow for Bergen, and breaks at Atlantis."""

    def __init__(self):
        self.schemas = {"find": FIND}

    def call(self, name, arguments):
        if arguments.get("q") == "Atlantis":
            raise OSError("disk")
        if arguments.get("q") == "Bergen":
            return WorldAnswer(ResultStatus.TIMEOUT, {"error": "slow"})
        known = arguments.get("q") == "Oslo"
        return WorldAnswer(ResultStatus.OK, {"id": 1}) if known else WorldAnswer(ResultStatus.MISS)


def play(*turns, **limits):
    session = Session(TASK, OneCity(), {"find": FIND}, Limits(**limits), parse_turn)
    return asyncio.run(drive(ScriptPolicy(turns), session))


def test_every_call_has_one_class_and_repeats_are_counted():
    bad = "<tool_call>{</tool_call>"
    done = conduct(play(OSLO, ROME, OSLO, bad, bad, call_text("fly", {}), call_text("find", {}), "Oslo it is."))
    assert done.calls == {"ok": 2, "miss": 1, "malformed_json": 2, "unknown_tool": 1, "invalid_arguments": 1}
    assert set(done.calls) <= set(CALL_CLASSES)
    assert done.made == 7 and done.repeats == 2 and done.turns == len(done.shapes) == 8
    assert done.stop is StopReason.ANSWER and not done.truncated and not done.void


def test_a_call_that_timed_out_may_be_made_again():
    slow = call_text("find", {"q": "Bergen"})
    assert conduct(play(slow, slow, "no")).repeats == 0


@pytest.mark.parametrize(
    ("turns", "void_turn"),
    [
        ((OSLO, "It is Oslo."), False),
        (("It is Oslo.",), False),
        ((OSLO, ""), True),
        (("<tool_call>{</tool_call>", OSLO, "It is Oslo."), True),
        ((f"<tool_call>{{</tool_call>{OSLO}", "It is Oslo."), False),
    ],
)
def test_a_void_turn_holds_neither_a_readable_call_nor_an_answer(turns, void_turn):
    assert conduct(play(*turns)).void_turn is void_turn


def test_failures_of_the_world_are_told_apart_from_the_models():
    done = conduct(play(call_text("find", {"q": "Atlantis"})))
    assert done.void and done.calls == {"not_executed": 1}
    assert conduct(play(OSLO, OSLO, max_turns=2)).stop is StopReason.MAX_TURNS
