from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from environment.core.calls import ResultStatus, WorldAnswer
from environment.core.dispatch import answer_call
from environment.core.schema import ToolSchema
from environment.core.tests.made import SCHEMAS, any_calls
from environment.core.validate import check_arguments


def nothing(_: ToolSchema, __: dict[str, Any]) -> None:
    """Know no answer."""


@settings(max_examples=50, deadline=None)
@given(any_calls())
def test_an_empty_world_tells_wrong_from_missing(call: tuple[ToolSchema, dict[str, Any]]) -> None:
    schema, arguments = call
    answer = answer_call(SCHEMAS, schema.name, arguments, nothing)
    wrong = bool(check_arguments(schema, arguments))
    assert answer.status is (ResultStatus.INVALID_ARGUMENTS if wrong else ResultStatus.MISS)
    assert list(answer.value) == ["error"]


def test_an_unknown_tool_is_told_its_nearest_name() -> None:
    answer = answer_call(SCHEMAS, "search_hotel", {}, nothing)
    assert answer.status is ResultStatus.UNKNOWN_TOOL
    assert "did you mean Search_Hotels?" in answer.value["error"]
    assert answer_call(SCHEMAS, "qqqqqq" * 100, {}, nothing).value["error"] == "Unknown tool " + "qqqqqq" * 10


def test_what_is_found_is_answered_even_where_the_schema_is_stricter() -> None:
    found = WorldAnswer(ResultStatus.OK, 1)
    seen: list[dict[str, Any]] = []

    def look_up(_: ToolSchema, arguments: dict[str, Any]) -> WorldAnswer:
        seen.append(arguments)
        return found

    assert answer_call(SCHEMAS, "Get_Hotel_Details", {"hotel_id": 5, "more": 1}, look_up) is found
    assert seen == [{"hotel_id": "5", "more": 1}]
