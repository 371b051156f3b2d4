"""The suite through the runner and over HTTP: both styles, both kinds of policy, failures that are not the model's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from BFCL.data.tests.needs import needs_package
from environment.core.errors import StageError
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, failed, said
from evaluation.runner import Place, run
from evaluation.settings import RunSettings
from evaluation.suites.bfcl.suite import BfclSuite
from evaluation.suites.bfcl.tests.seats import row_of, suite_of

pytestmark = needs_package

Answer = Callable[[dict[str, Any], int], Reply]


def gold_model(suite: BfclSuite, as_objects: bool) -> Answer:
    """Return a stand-in that knows each row's gold by its first question, and gives calls as text or as objects."""
    scripts = {item.case.turns[0][-1]["content"]: suite.gold(item) for item in suite.items}  # type: ignore[union-attr]

    def answer(body: dict[str, Any], _: int) -> Reply:
        messages = body["messages"]
        first = next(message["content"] for message in messages if message["role"] == "user")
        text = scripts[first][sum(message["role"] == "assistant" for message in messages)]
        blocks = [part.partition("</tool_call>")[0] for part in text.split("<tool_call>")[1:]]
        if not blocks or not as_objects:
            return said(text)
        return said(None, tool_calls=[tool_call(json.loads(block), at) for at, block in enumerate(blocks)])

    return answer


def tool_call(call: dict[str, Any], number: int) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
    return {"id": f"c{number}", "type": "function", "function": function}


@pytest.mark.parametrize(
    ("style", "mode"), [("functions", "native"), ("functions", "raw"), ("prompting", "native"), ("prompting", "raw")]
)
def test_gold_over_http_is_right_and_tools_appear_with_their_turn(
    style: str, mode: Literal["raw", "native"], tmp_path: Path
) -> None:
    suite = suite_of("multi_turn_miss_func", limit=2, style=style)
    with FakeEndpoint(gold_model(suite, as_objects=mode == "native")) as fake:
        settings = RunSettings(base_url=fake.url, mode=mode, samples=0, concurrency=2)
        summary = run(suite, settings, Place(tmp_path, "m"), {**settings.manifest(), **suite.manifest()})
    assert summary["success_rate"]["value"] == 1.0 and summary["infrastructure"] == 0
    offered = [len(body.get("tools", ())) for body in fake.requests]
    assert (len(set(offered)) > 1) == (style == "functions") and (max(offered) > 0) == (style == "functions")


def test_an_endpoint_that_fails_is_no_mistake_of_the_model(tmp_path: Path) -> None:
    suite = suite_of("multi_turn_base", limit=2)
    good = gold_model(suite, as_objects=True)
    first = row_of(suite.items[0]).turns[0][-1]["content"]

    def flaky(body: dict[str, Any], number: int) -> Reply:
        return failed(500) if body["messages"][0]["content"] == first else good(body, number)

    settings = RunSettings(base_url="unset", mode="native", samples=0, concurrency=1, retry_tries=1)
    with FakeEndpoint(flaky) as fake:
        mine = RunSettings(base_url=fake.url, mode="native", samples=0, concurrency=1, retry_tries=1)
        summary = run(suite, mine, Place(tmp_path, "m"), settings.manifest())
    assert summary["infrastructure"] == 1 and summary["leaderboard"]["categories"] == {"multi_turn_base": 1.0}
    with FakeEndpoint(good) as fake:
        mine = RunSettings(base_url=fake.url, mode="native", samples=0, concurrency=1, retry_tries=1)
        summary = run(suite, mine, Place(tmp_path, "m"), settings.manifest())
    assert summary["infrastructure"] == 0 and summary["success_rate"]["n"] == 2


def test_a_wrong_key_stops_the_run(tmp_path: Path) -> None:
    suite = suite_of("irrelevance", limit=3)
    with FakeEndpoint(lambda body, number: failed(401)) as fake:
        settings = RunSettings(base_url=fake.url, samples=0)
        with pytest.raises(StageError, match="401"):
            run(suite, settings, Place(tmp_path, "m"), settings.manifest())
