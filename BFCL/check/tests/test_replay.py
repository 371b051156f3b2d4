"""Gold through the real session: whole, in order, and only gold calls known to its world."""

from __future__ import annotations

from dataclasses import replace

import pytest

from BFCL.check.match import match
from BFCL.check.replay import CLOSING, GoldWorld, play_turns, replay_gold, uncut
from BFCL.check.tests.moves import chain, fan, text_schema
from environment.core.calls import ResultStatus
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import StopReason

SCHEMAS = {f"look_{i}": text_schema(f"look_{i}", "item_id", "date") for i in range(1, 5)}
SEARCH = {"query": {"type": "string"}, "adults": {"type": "integer", "default": 1}}
SCHEMAS["search"] = ToolSchema("search", "", {"type": "object", "properties": SEARCH, "required": ["query"]})
SCHEMAS["travel"] = text_schema("travel", "from_id", "to_id")


@pytest.mark.parametrize("made", [chain(2), chain(5), fan(3)])
@pytest.mark.parametrize("answer", ["", "I found id-1."])
def test_gold_is_a_success(made: tuple[Task, list[object]], answer: str) -> None:
    task, responses = replace(made[0], answer=answer), made[1]
    played = replay_gold(task, GoldWorld(task, responses, SCHEMAS))
    assert match(played, task, SCHEMAS).success
    assert played.answer == (answer or CLOSING)
    assert played == replace(replay_gold(task, GoldWorld(task, responses, SCHEMAS)), meta=played.meta)


def test_the_world_knows_gold_calls_alone_in_any_spelling() -> None:
    task, responses = chain(2)
    world = GoldWorld(task, responses, SCHEMAS)
    assert world.call("search", {"query": " Paris ", "adults": "2"}).value == responses[0]
    assert world.call("search", {"query": "Rome"}).status is ResultStatus.MISS
    assert world.call("search", {}).status is ResultStatus.INVALID_ARGUMENTS
    assert world.call("serch", {}).status is ResultStatus.UNKNOWN_TOOL


def test_a_script_without_an_answer_ends_by_its_turns_and_never_as_a_failure() -> None:
    task, responses = chain(3)
    world = GoldWorld(task, responses, SCHEMAS)
    for turns in (["<tool_call>{}</tool_call>"] * 7, [""], ["<tool_call>"]):
        assert play_turns(turns, task, world).stop in (StopReason.MAX_TURNS, StopReason.ANSWER)


def test_observations_can_be_cut() -> None:
    task, responses = chain(2)
    long = [{"items": [{"id": f"id-{i}"} for i in range(500)]}, *responses[1:]]
    world = GoldWorld(task, long, SCHEMAS)
    whole, cut = replay_gold(task, world), replay_gold(task, world, replace(uncut(3), observation_tokens=50))
    assert len(whole.ledger) > 400 > len(cut.ledger)
    assert match(cut, task, SCHEMAS).success
