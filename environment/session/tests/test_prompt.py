"""One source of messages: the gold dialogue is what the session itself would have recorded."""
from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from environment.core.calls import ToolCall
from environment.core.errors import DataError
from environment.core.task import GoldStep
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.prompt import (
    SYSTEM_PROMPT,
    call_text,
    gold_messages,
    gold_turns,
    opening_messages,
    tool_functions,
)
from environment.session.session import Session
from environment.session.tests.toy import SCHEMAS, TASK, ToyWorld
from environment.session.turns import ParsedTurn


def tagged(text: str, turn: int) -> ParsedTurn:
    """Read one call between tags; just enough of the format for gold turns."""
    if not text.startswith("<tool_call>"):
        return ParsedTurn((), text)
    body = json.loads(text.removeprefix("<tool_call>").removesuffix("</tool_call>"))
    return ParsedTurn((ToolCall(f"t{turn}c0", turn, body["name"], body["arguments"], text),), "")


@pytest.mark.parametrize("tokens", [20, 60, 200, 4000])
def test_gold_messages_are_those_of_a_session(tokens: int) -> None:
    limits = Limits(observation_tokens=tokens)
    session = Session(TASK, ToyWorld(), SCHEMAS, limits, tagged)
    trajectory = asyncio.run(drive(ScriptPolicy(gold_turns(TASK)), session))
    assert gold_messages(TASK, ToyWorld(), limits.cut()) == list(trajectory.messages)
    assert trajectory.answer == TASK.answer


def test_a_task_without_an_answer_ends_with_its_last_observation() -> None:
    messages = gold_messages(replace(TASK, answer=""), ToyWorld(), Limits().cut())
    assert [m["role"] for m in messages] == ["system", "user"] + ["assistant", "tool"] * 3


@pytest.mark.parametrize(
    "step",
    [GoldStep("Find_Hotels", {"dest_id": "9"}), GoldStep("Find_City", {}), GoldStep("Not_On_Offer", {"query": "x"})],
)
def test_a_gold_call_the_world_refuses_is_a_fault_of_the_data(step: GoldStep) -> None:
    with pytest.raises(DataError, match="gold call of step 0"):
        gold_messages(replace(TASK, steps=(step,)), ToyWorld(), Limits().cut())


def test_opening() -> None:
    assert opening_messages(TASK) == [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": TASK.query},
    ]
    assert opening_messages(TASK, "Be brief.")[0]["content"] == "Be brief."
    assert opening_messages(TASK, "") == [{"role": "user", "content": TASK.query}]
    assert len(SYSTEM_PROMPT.split()) <= 20


def test_tools_come_in_the_order_of_the_task() -> None:
    names = ("Get_Hotel", "Find_City")
    functions = tool_functions(replace(TASK, tools=names), SCHEMAS)
    assert tuple(f["function"]["name"] for f in functions) == names
    assert functions[0]["function"]["parameters"]["required"] == ["hotel_id"]
    with pytest.raises(DataError, match="Get_Hotel"):
        tool_functions(replace(TASK, tools=("Get_Hotell",)), SCHEMAS)


def test_a_call_is_one_line_as_chat_templates_write_it() -> None:
    text = call_text("f", {"city": "Gent-é", "n": 1, "note": "a\nb"})
    assert text == '<tool_call>{"name": "f", "arguments": {"city": "Gent-é", "n": 1, "note": "a\\nb"}}</tool_call>'
