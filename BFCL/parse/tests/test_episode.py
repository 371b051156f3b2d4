"""Hermes text through a whole episode: nothing a model writes makes it raise."""
from __future__ import annotations

import asyncio
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from BFCL.parse.hermes import parse_turn
from environment.core.trajectory import StopReason, Trajectory
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.prompt import call_text, gold_turns
from environment.session.session import Session
from environment.session.tests.toy import SCHEMAS, TASK, ToyWorld

VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers())
KEYS = st.sampled_from(["query", "dest_id", "hotel_id", "x"]) | st.text(max_size=4)
ARGUMENTS = st.dictionaries(KEYS, VALUES, max_size=3)
CALLS = st.builds(call_text, st.sampled_from([*SCHEMAS, "nobody"]), ARGUMENTS)
SCRAPS = st.sampled_from(["<tool_call>", "</tool_call>", "{", "\ud800"]) | st.text(max_size=10)
TURNS = st.lists(CALLS | SCRAPS, max_size=4).map("".join)


def play(turns: list[str], limits: Limits) -> Trajectory:
    session = Session(TASK, ToyWorld(), SCHEMAS, limits, parse_turn)
    return asyncio.run(drive(ScriptPolicy(turns), session))


@settings(max_examples=50)
@given(st.lists(TURNS, min_size=1, max_size=6), st.integers(8, 200))
def test_any_turns_make_a_trajectory_that_json_keeps(turns: list[str], tokens: int) -> None:
    trajectory = play(turns, Limits(observation_tokens=tokens, max_turns=5))
    assert Trajectory.from_json(json.loads(json.dumps(trajectory.to_json(), allow_nan=False))) == trajectory
    assert trajectory.stop is not StopReason.INFRASTRUCTURE or "no further turn" in (trajectory.error or "")
    assert len(trajectory.calls) == len(trajectory.results)
    assert all(json.loads(result.text) is not None for result in trajectory.results)


def test_gold_turns_are_read_and_answered() -> None:
    trajectory = play(gold_turns(TASK), Limits())
    assert [(call.name, call.arguments) for call in trajectory.calls] == [(s.function, s.arguments) for s in TASK.steps]
    assert (trajectory.stop, trajectory.answer) == (StopReason.ANSWER, TASK.answer)
