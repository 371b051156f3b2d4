"""One trajectory's life: every turn is answered, every limit ends it, and all is recorded."""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.core.calls import JsonValue, ResultStatus, ToolCall, WorldAnswer
from environment.core.errors import ConfigError, DataError, ToolRlError
from environment.core.trajectory import Observed, StopReason, TokenSpan, Trajectory
from environment.session.limits import Limits
from environment.session.session import Session
from environment.session.tests.toy import CITY, DETAIL, LIST, SCHEMAS, TASK, ToyWorld, say, toy_parser, toy_session
from environment.session.turns import AssistantTurn, ParsedTurn

WRONG = ["!broken", "!Find_Citty {}", "!Get_Hotel {}", '!Find_Hotels {"dest_id": "9"}']
LINES = st.sampled_from([CITY, LIST, DETAIL, *WRONG, "ok"])
TURNS = st.lists(st.tuples(st.lists(LINES, max_size=5).map("\n".join), st.integers(0, 40), st.booleans()), max_size=12)
LIMITS = st.builds(
    Limits,
    max_turns=st.integers(1, 8),
    max_calls=st.integers(1, 10),
    max_tokens=st.integers(1, 4000),
    max_invalid=st.integers(1, 4),
    parallel_calls=st.integers(1, 4),
    observation_tokens=st.integers(8, 300),
)


def play(limits: Limits, turns: list[tuple[str, int, bool]]) -> Session:
    session = Session(TASK, ToyWorld(), SCHEMAS, limits, toy_parser)
    for text, tokens, truncated in turns:
        if session.done:
            break
        session.step(AssistantTurn(text, tokens, truncated))
    session.abort(StopReason.MAX_SECONDS)
    return session


@settings(max_examples=50)
@given(LIMITS, TURNS)
def test_whatever_is_said_the_record_is_whole(limits: Limits, turns: list[tuple[str, int, bool]]) -> None:
    trajectory = play(limits, turns).trajectory()
    assert [result.call_id for result in trajectory.results] == [call.id for call in trajectory.calls]
    assert len({call.id for call in trajectory.calls}) == len(trajectory.calls)
    roles = [message["role"] for message in trajectory.messages]
    assert roles[:2] == ["system", "user"]
    assert roles.count("tool") == len(trajectory.calls)
    assert [m["content"] for m in trajectory.messages if m["role"] == "tool"] == [r.text for r in trajectory.results]
    assert roles.count("assistant") <= limits.max_turns
    assert (trajectory.answer == "") or trajectory.stop is StopReason.ANSWER


@settings(max_examples=50)
@given(LIMITS, TURNS)
def test_the_same_turns_give_the_same_trajectory_and_json_keeps_it(
    limits: Limits, turns: list[tuple[str, int, bool]]
) -> None:
    first, second = (play(limits, turns).trajectory() for _ in range(2))
    assert first == second
    assert Trajectory.from_json(json.loads(json.dumps(first.to_json()))) == first


@settings(max_examples=50)
@given(LIMITS, TURNS)
def test_the_ledger_holds_only_what_was_shown(limits: Limits, turns: list[tuple[str, int, bool]]) -> None:
    trajectory = play(limits, turns).trajectory()
    for entry in trajectory.ledger:
        result = trajectory.result_of(entry.call_id)
        assert result.status is ResultStatus.OK
        assert json.dumps(entry.value, ensure_ascii=False) in result.text


@settings(max_examples=50)
@given(LIMITS, TURNS)
def test_limits_hold(limits: Limits, turns: list[tuple[str, int, bool]]) -> None:
    trajectory = play(limits, turns).trajectory()
    pairs = zip(trajectory.calls, trajectory.results, strict=True)
    executed = [call for call, result in pairs if result.status is not ResultStatus.NOT_EXECUTED]
    assert len(executed) <= limits.max_calls
    assert all(turns <= limits.parallel_calls for turns in Counter(call.turn for call in executed).values())
    assert all(len(result.text) <= 4 * (limits.observation_tokens or 0) for result in trajectory.results)


def test_a_chain_ends_with_its_answer() -> None:
    session = toy_session()
    city, = say(session, CITY)
    assert city == {"data": [{"dest_id": "42", "name": "Ghent"}]}
    say(session, LIST)
    say(session, DETAIL)
    assert say(session, "Hotel 0 has 8.5.") == []
    trajectory = session.trajectory()
    assert (trajectory.stop, trajectory.answer, trajectory.seed) == (StopReason.ANSWER, "Hotel 0 has 8.5.", 7)
    assert Observed("t0c0", "data[0].dest_id", "42") in trajectory.ledger
    assert Observed("t2c0", "data.pets", None) in trajectory.ledger
    assert trajectory.meta["turns"] == 4


def test_what_the_cut_left_out_is_not_observed() -> None:
    session = toy_session(observation_tokens=60)
    hotels = say(session, LIST)[0]["data"]["hotels"]
    session.abort(StopReason.MAX_SECONDS)
    trajectory = session.trajectory()
    seen = [o.value for o in trajectory.ledger if o.field.endswith(".hotel_id")]
    shown = [hotel["hotel_id"] for hotel in hotels if "hotel_id" in hotel]
    assert seen == shown
    assert 0 < len(seen) < 12
    assert len(trajectory.results[0].value["data"]["hotels"]) == 12
    assert not [o for o in trajectory.ledger if "omitted" in o.field or "…" in str(o.value)]


def test_an_unreadable_call_is_told_and_the_episode_goes_on() -> None:
    session = toy_session(max_invalid=2)
    assert say(session, "!broken") == [{"error": "this is no call"}]
    say(session, CITY)
    say(session, "!broken")
    assert not session.done
    say(session, "!broken")
    assert session.stop is StopReason.MAX_INVALID
    assert session.trajectory().meta["unreadable_calls"] == 3


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("!Find_Citty {}", ResultStatus.UNKNOWN_TOOL, "did you mean Find_City?"),
        ('!Not_On_Offer {"query": "x"}', ResultStatus.UNKNOWN_TOOL, "no tool"),
        (f"!{'x' * 5000} {{}}", ResultStatus.UNKNOWN_TOOL, "no tool"),
        ("!Find_City {}", ResultStatus.INVALID_ARGUMENTS, "query is missing"),
        ('!Find_City {"query": "x", "quary": 1}', ResultStatus.INVALID_ARGUMENTS, "did you mean query?"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_gets_no_answer(line: str, status: ResultStatus, words: str) -> None:
    world = ToyWorld()
    session = toy_session(world)
    observation, = say(session, line)
    assert words in observation["error"]
    assert len(observation["error"]) < 200
    session.abort(StopReason.MAX_SECONDS)
    assert session.trajectory().results[0].status is status
    assert world.asked == []


def test_a_miss_is_an_error_for_the_model_and_no_observation() -> None:
    session = toy_session()
    assert say(session, '!Find_Hotels {"dest_id": "9"}') == [{"error": "No results found"}]
    say(session, "sorry")
    assert session.trajectory().results[0].status is ResultStatus.MISS
    assert session.trajectory().ledger == ()


class Recorded(ToyWorld):
    """Has an answer for a call that the schema forbids, and says nothing of other calls but that they are a miss."""

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        if arguments == {"query": 5, "lax": True}:
            return WorldAnswer(ResultStatus.OK, {"data": "recorded"})
        return WorldAnswer(ResultStatus.MISS)


def test_a_recorded_answer_counts_and_a_bare_miss_is_explained() -> None:
    session = toy_session(Recorded())
    assert say(session, '!Find_City {"query": 5, "lax": true}') == [{"data": "recorded"}]
    assert say(session, "!Find_City {}") == [{"error": "query is missing"}]
    assert say(session, CITY) == [{"error": "miss"}]


def test_calls_beyond_the_parallel_limit_are_answered_but_not_executed() -> None:
    world = ToyWorld()
    session = toy_session(world, parallel_calls=2)
    say(session, "\n".join([CITY, DETAIL, LIST, CITY]))
    assert [name for name, _ in world.asked] == ["Find_City", "Get_Hotel"]
    say(session, "done")
    statuses = [result.status for result in session.trajectory().results]
    assert statuses == [ResultStatus.OK] * 2 + [ResultStatus.NOT_EXECUTED] * 2
    assert "at most 2" in session.trajectory().results[2].text


def test_only_a_call_beyond_the_limit_ends_the_episode() -> None:
    session = toy_session(max_calls=2)
    say(session, CITY)
    say(session, CITY)
    assert not session.done
    say(session, CITY)
    assert session.stop is StopReason.MAX_CALLS
    answered = toy_session(max_calls=1)
    say(answered, CITY)
    say(answered, "done")
    assert answered.stop is StopReason.ANSWER


def test_turns_and_tokens_end_the_episode() -> None:
    session = toy_session(max_turns=1)
    assert len(say(session, CITY)) == 1
    assert session.stop is StopReason.MAX_TURNS
    session = toy_session(max_tokens=1000)
    say(session, CITY, tokens=900)
    assert 0 < session.tokens_left < 100
    say(session, CITY, tokens=100)
    assert (session.stop, session.tokens_left) == (StopReason.MAX_TOKENS, 0)


def test_an_answer_within_the_last_turn_is_an_answer() -> None:
    session = toy_session(max_turns=1, max_tokens=10)
    say(session, "done", tokens=10)
    assert session.stop is StopReason.ANSWER


@pytest.mark.parametrize("text", [CITY, "half an ans", "!broken"])
def test_a_truncated_turn_runs_nothing_and_is_no_answer(text: str) -> None:
    world = ToyWorld()
    session = toy_session(world)
    say(session, text, truncated=True)
    trajectory = session.trajectory()
    assert (trajectory.stop, trajectory.answer, world.asked) == (StopReason.MAX_TOKENS, "", [])
    assert all(result.status is ResultStatus.NOT_EXECUTED for result in trajectory.results)


def test_a_broken_world_is_not_the_models_fault() -> None:
    session = toy_session(ToyWorld(broken=OSError("disk gone")))
    say(session, f"{CITY}\n{CITY}")
    trajectory = session.trajectory()
    assert (trajectory.stop, trajectory.error) == (StopReason.INFRASTRUCTURE, "OSError: disk gone")
    assert [result.status for result in trajectory.results] == [ResultStatus.NOT_EXECUTED] * 2
    assert "disk" not in trajectory.results[0].text


def test_an_ended_episode_keeps_its_reason_and_takes_no_turn() -> None:
    session = toy_session()
    say(session, "done")
    session.abort(StopReason.INFRASTRUCTURE, "late")
    assert (session.stop, session.trajectory().error) == (StopReason.ANSWER, None)
    with pytest.raises(ToolRlError, match="after the end"):
        say(session, "more")


def test_an_unfinished_episode_has_no_trajectory() -> None:
    with pytest.raises(ToolRlError, match="unfinished"):
        toy_session().trajectory()


def test_spans_and_facts_of_the_caller_are_kept() -> None:
    session = toy_session()
    say(session, "done")
    trajectory = session.trajectory([TokenSpan(0, 0, 5)], {"policy": "toy"})
    assert trajectory.spans == (TokenSpan(0, 0, 5),)
    assert trajectory.meta["policy"] == "toy"


def test_a_task_with_a_tool_nobody_knows_is_refused() -> None:
    with pytest.raises(DataError, match="Find_City"):
        toy_session(task=replace(TASK, tools=("Find_Citi",)))


def test_surrogates_of_a_policy_are_stored_as_text() -> None:
    session = toy_session()
    session.step(AssistantTurn("\ud83d done", 1))
    json.dumps(session.trajectory().to_json(), ensure_ascii=False).encode()


def test_a_call_may_reuse_no_tool_that_is_hidden() -> None:
    """Even a parser that names a tool outside the task gets it no further than the check."""

    def parser(text: str, turn: int) -> ParsedTurn:
        return ParsedTurn((ToolCall(f"t{turn}c0", turn, "Not_On_Offer", {"query": "x"}, text),), "")

    world = ToyWorld()
    session = Session(TASK, world, SCHEMAS, Limits(), parser)
    session.step(AssistantTurn("anything"))
    assert world.asked == []


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_a_limit_must_be_above_zero(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        Limits(**{name: 0})
