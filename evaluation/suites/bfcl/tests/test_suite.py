"""The leaderboard's suite: gold is right in both styles, a conversation goes as there, nothing of a model is run."""

from __future__ import annotations

import ast
import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from BFCL.check.multi_turn.check import CUT_OFF, NO_CALLS
from BFCL.check.multi_turn.rows import judge_row
from BFCL.data.categories import CATEGORIES, LIVE, MULTI_TURN
from BFCL.data.gold import NO_RIGHT_CALL
from BFCL.data.package import home
from BFCL.data.tests.needs import needs_package
from environment.core.errors import ConfigError, DataError
from environment.core.trajectory import StopReason, Trajectory
from environment.session.prompt import call_text
from environment.session.turns import AssistantTurn
from evaluation.policy.chat import Sampling
from evaluation.runner import Place, run
from evaluation.settings import RunSettings
from evaluation.suite import Judged, Seat
from evaluation.suites import open_suite
from evaluation.suites.bfcl.official import MAX_STEPS, system_prompt
from evaluation.suites.bfcl.play import MADE, READ
from evaluation.suites.bfcl.suite import UNREAD
from evaluation.suites.bfcl.tests.seats import Scripted, for_ever, played, row_of, suite_of

pytestmark = needs_package

STYLES = ("functions", "prompting")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("category", CATEGORIES)
def test_gold_is_right(category: str, style: str) -> None:
    suite = suite_of(category, limit=5, style=style)
    for item in suite.items:
        trajectory, _ = played(suite, item, suite.gold(item))
        mark = suite.judge(item, Trajectory.from_json(json.loads(json.dumps(trajectory.to_json()))))
        assert mark.success and mark.fault == "none", (item.id, mark)
        assert len(trajectory.calls) == len(trajectory.results)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("category", CATEGORIES)
def test_all_gold_is_right(category: str, style: str) -> None:
    suite = suite_of(category, limit=2000, style=style)
    wrong = {
        item.id for item in suite.items if not suite.judge(item, played(suite, item, suite.gold(item))[0]).success
    }
    assert wrong - NO_RIGHT_CALL == set() and wrong == {item.id for item in suite.items} & NO_RIGHT_CALL


@pytest.mark.parametrize("style", STYLES)
def test_a_conversation_tells_each_turn_and_every_result(style: str) -> None:
    suite = suite_of(style=style)
    item = suite.items[0]
    trajectory, model = played(suite, item, suite.gold(item))
    users = [turn[0]["content"] for turn in row_of(item).turns]
    told = [message["content"] for messages in model.told for message in messages if message["role"] == "user"]
    assert [text for text in told if text in users] == users
    seen = [message["content"] for messages in model.told for message in messages if message["content"] not in users]
    results = [result.text for result in trajectory.results]
    if style == "functions":
        assert seen == results
    else:
        told_of = [each for text in seen[1:] for each in ast.literal_eval(text)]
        assert [each["content"] for each in told_of] == results
        assert [each["name"] for each in told_of] == [call.raw for call in trajectory.calls]
    assert len(results) == sum(map(len, row_of(item).gold)) and trajectory.stop is StopReason.ANSWER


@pytest.mark.parametrize("style", STYLES)
def test_functions_held_back_appear_with_their_turn(style: str) -> None:
    suite = suite_of("multi_turn_miss_func", limit=8, style=style)
    for item in suite.items:
        _, model = played(suite, item, suite.gold(item))
        opening = json.dumps(model.told[0]) + str(model.offered[0])
        ((turn, functions),) = row_of(item).revealed.items()
        at = sum(2 if calls else 1 for calls in row_of(item).gold[:turn])
        assert [message["role"] for message in model.told[at]] == ["user"]
        for function in functions:
            quoted = f'"{function["name"]}"' if style == "prompting" else f"'{function['name']}'"
            assert quoted.replace('"', '\\"') not in opening and quoted not in opening
            if style == "functions":
                assert all(function["name"] not in offered for offered in model.offered[:at])
                assert all(function["name"] in offered for offered in model.offered[at:])
            else:
                assert repr(function["name"]) in model.told[at][0]["content"] and model.offered[at] == set()


@pytest.mark.parametrize(("style", "text"), [("functions", call_text("ls", {})), ("prompting", "[ls()]")])
def test_a_model_that_never_stops_calling_is_cut_off(style: str, text: str) -> None:
    suite = suite_of(style=style)
    trajectory, model = played(suite, suite.items[0], for_ever(text))
    assert trajectory.stop is StopReason.MAX_TURNS and len(model.told) == MAX_STEPS + 1
    assert suite.judge(suite.items[0], trajectory).fault in (CUT_OFF, "multi_turn:instance_state_mismatch")
    assert len(trajectory.meta[MADE]) == 1 and len(trajectory.meta[MADE][0]) == MAX_STEPS + 1


def test_a_conversation_beyond_the_context_is_cut_off() -> None:
    suite = suite_of()
    trajectory, model = played(suite, suite.items[0], [call_text("ls", {}), AssistantTurn("", 0, True)])
    assert trajectory.stop is StopReason.MAX_TOKENS and len(model.told) == 2
    assert suite.judge(suite.items[0], trajectory).fault == CUT_OFF


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("text", ["", "I can't.", "<tool_call>{torn</tool_call>", "[ls(", "None of them fits"])
def test_what_cannot_be_read_ends_the_turn(style: str, text: str) -> None:
    suite = suite_of(style=style)
    trajectory, model = played(suite, suite.items[0], for_ever(text))
    assert len(model.told) == len(row_of(suite.items[0]).turns) and not trajectory.calls
    assert suite.judge(suite.items[0], trajectory).fault == NO_CALLS


def test_one_unreadable_call_voids_the_turn() -> None:
    suite = suite_of("simple_python")
    good = suite.gold(suite.items[0])[0]
    trajectory, _ = played(suite, suite.items[0], [good + "<tool_call>{torn</tool_call>"])
    assert trajectory.meta[READ] is None and suite.judge(suite.items[0], trajectory).fault == UNREAD


def test_names_with_dots_go_out_and_come_back() -> None:
    suite = suite_of("simple_python", limit=60)
    dotted = next(item for item in suite.items if "." in row_of(item).functions[0]["name"])
    trajectory, model = played(suite, dotted, suite.gold(dotted))
    assert model.offered == [{dotted.case.functions[0]["name"].replace(".", "_")}]
    assert suite.judge(dotted, trajectory).success


@pytest.mark.parametrize("style", STYLES)
def test_nothing_of_a_model_is_run(style: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    evil = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    for category in ("multi_turn_base", "simple_python", "simple_java"):
        suite = suite_of(category, limit=1, style=style)
        texts = [f"[{evil}]", f"[ls(a={evil})]", call_text("ls", {"a": evil}), call_text(evil, {})]
        texts.append(call_text("ls", {f"a={evil}, b": 1}))
        trajectory, _ = played(suite, suite.items[0], texts)
        assert not suite.judge(suite.items[0], trajectory).success and not mark.exists()


def test_interleaved_episodes_of_one_row_do_not_meet() -> None:
    suite = suite_of("multi_turn_base", limit=1)
    item = suite.items[0]
    scripts = [suite.gold(item) if number % 2 else [call_text("rm", {"file_name": "document"})] for number in range(8)]

    async def all_at_once() -> list[Trajectory]:
        seats = [Seat(0, Sampling(), lambda tools, turns=turns: Scripted(tools, iter(turns))) for turns in scripts]
        return await asyncio.gather(*(suite.episode(item, seat) for seat in seats))

    marks = [suite.judge(item, trajectory).success for trajectory in asyncio.run(all_at_once())]
    assert marks == [bool(number % 2) for number in range(8)]


def test_a_stored_episode_is_a_row_for_the_command_line() -> None:
    suite = suite_of("multi_turn_miss_param", limit=2)
    item = suite.items[1]
    trajectory, _ = played(suite, item, suite.gold(item))
    row = {"case_id": "x", "category": row_of(item).category, "id": item.id, "model_calls": trajectory.meta[MADE]}
    assert judge_row(row).valid


def test_a_run_of_gold_through_the_runner_has_the_leaderboard_s_scores(tmp_path: Path) -> None:
    suite = open_suite("bfcl", {"categories": "irrelevance,live_irrelevance,multi_turn_base", "limit": 4})
    settings = RunSettings(gold=True, samples=0)
    manifest = {**settings.manifest(), **suite.manifest()}
    summary = run(suite, settings, Place(tmp_path, "gold"), manifest)
    assert summary["n"] == 12 and summary["success_rate"]["value"] == 1.0
    assert summary["leaderboard"]["groups"]["irrelevance"] == 1.0
    assert summary["leaderboard"]["groups"]["multi_turn"] == pytest.approx(0.25)
    assert set(summary["by_category"]) == {"irrelevance", "live_irrelevance", "multi_turn_base"}
    assert "memory_kv" in summary["leaderboard"]["not_covered"] and "simple_java" in summary["leaderboard"]["missing"]
    assert run(suite, settings, Place(tmp_path, "gold"), manifest)["success_rate"] == summary["success_rate"]


def test_what_the_infrastructure_failed_is_in_no_score() -> None:
    suite = suite_of("irrelevance", limit=2)
    good, _ = played(suite, suite.items[0], ["No."])
    judged = [Judged(suite.items[0], good, suite.judge(suite.items[0], good)), Judged(suite.items[1], good, None)]
    summary = suite.summarise(judged, 0, 0)
    assert summary["leaderboard"]["categories"] == {"irrelevance": 1.0} and summary["infrastructure"] == 1


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"categories": "multi_turn_bse"}, DataError, "multi_turn_base"),
        ({"categories": "memory_kv"}, DataError, "not covered"),
        ({"call_format": "hermess"}, ConfigError, "hermes"),
        ({"style": "prompt"}, ConfigError, "--style"),
        ({"limit": 0}, ConfigError, "--limit"),
        ({"categorys": "all"}, ConfigError, "--categories"),
    ],
)
def test_options_that_do_not_fit_are_told(options: dict[str, Any], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind) as error:
        open_suite("bfcl", options)
    assert told in str(error.value)


def test_names_of_groups_stand_for_their_categories() -> None:
    assert {row_of(item).category for item in suite_of("all", limit=1).items} == set(CATEGORIES)
    assert {row_of(item).category for item in suite_of("multi_turn", limit=1).items} == set(MULTI_TURN)
    several = open_suite("bfcl", {"categories": ["parallel, irrelevance", "live"], "limit": 1})
    assert {row_of(item).category for item in several.items} == {"parallel", "irrelevance", *LIVE}


def test_the_official_limits_and_prompt_are_those_of_the_package() -> None:
    source = ast.parse((home() / "constants" / "default_prompts.py").read_text())
    assigned = {ast.unparse(node.targets[0]): node.value for node in source.body if isinstance(node, ast.Assign)}
    assert ast.literal_eval(assigned["MAXIMUM_STEP_LIMIT"]) == MAX_STEPS
    prompt = system_prompt([{"name": "find_it", "description": "d", "parameters": {}}])
    assert '"name": "find_it"' in prompt and "[func_name1(" in prompt and "{" in prompt
    assert "{output_format}" not in prompt and "{functions}" not in prompt
