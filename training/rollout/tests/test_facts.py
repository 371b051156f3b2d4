# pyright: basic
"""What travels with a rollout: spans, marks, and what each turn earned."""
from __future__ import annotations

import asyncio
import dataclasses

import pytest

from BFCL.parse.hermes import parse_turn
from environment.core.calls import ResultStatus, WorldAnswer
from environment.core.schema import ToolSchema
from environment.core.task import Edge, GoldStep, Task
from environment.core.trajectory import TokenSpan
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.prompt import call_text
from environment.session.session import Session
from training.rollout.facts import rollout_facts, turn_rewards


def tool(name, key):
    return ToolSchema(name, name, {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]})


SCHEMAS = {"find": tool("find", "q"), "show": tool("show", "id")}
STEPS = (GoldStep("find", {"q": "Oslo"}), GoldStep("show", {"id": "x7"}, (0,), (Edge("id", 0, "id"),)))
TASK = Task("t", "Show Oslo", ("find", "show"), STEPS)
FIND, SHOW = call_text("find", {"q": "Oslo"}), call_text("show", {"id": "x7"})


class Here:
    schemas = SCHEMAS

    def call(self, name, arguments):
        return WorldAnswer(ResultStatus.OK, {"id": "x7"} if name == "find" else {"name": "Oslo"})


def play(*turns):
    session = Session(TASK, Here(), SCHEMAS, Limits(), parse_turn)
    return asyncio.run(drive(ScriptPolicy(turns), session))


@pytest.mark.parametrize(
    ("turns", "rewards"),
    [
        ((FIND, SHOW, "Here."), [0.5, 0.5, 0.0]),
        ((FIND, call_text("show", {"id": "y"}), SHOW, "Here."), [0.5, 0.0, 0.5, 0.0]),
        ((FIND, "Here."), [0.5, 0.0]),
        ((SHOW, "Here."), [0.0, 0.0]),  # a guessed id is no step done in order
        (("Here.",), [0.0]),
        ((FIND, FIND, "Here."), [0.5, 0.0, 0.0]),  # a step is paid once
    ],
)
def test_a_turn_earns_its_share_of_the_chain(turns, rewards):
    assert turn_rewards(play(*turns), TASK, SCHEMAS) == rewards


def test_spans_and_marks_are_plain_data():
    spans = (TokenSpan(0, 0, 4), TokenSpan(1, 6, 9))
    facts = rollout_facts(dataclasses.replace(play(FIND, ""), spans=spans))
    assert facts == {"spans": [[0, 4], [6, 9]], "overlong": False, "void_turn": True}
