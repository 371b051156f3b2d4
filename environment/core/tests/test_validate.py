from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from environment.core.schema import ToolSchema
from environment.core.tests.made import SCHEMAS, any_calls, good_calls
from environment.core.validate import check_arguments

Call = tuple[ToolSchema, dict[str, Any]]
few = settings(max_examples=50, deadline=None)
STAY = {"dest_id": "1", "search_type": "city", "arrival_date": "2026-05-03", "departure_date": "2026-05-05"}
KINDS = "city, district, region, country, hotel, landmark, airport"
RENTAL: dict[str, Any] = {
    f"{end}_{axis}": 1 for end in ("pick_up", "drop_off") for axis in ("latitude", "longitude")
} | {
    "pick_up_time": "10:00",
    "drop_off_time": "10:00",
    "pick_up_date": "2026-05-03",
    "drop_off_date": "2026-05-03",
}


@few
@given(good_calls())
def test_fitting_calls_are_valid_but_for_the_order_of_dates(call: Call) -> None:
    assert [p for p in check_arguments(*call) if "after" not in p] == []


@few
@given(any_calls())
def test_problems_are_short_sentences_and_name_every_missing_argument(call: Call) -> None:
    schema, arguments = call
    problems = check_arguments(schema, arguments)
    assert all(p and len(p) < 300 and "Traceback" not in p for p in problems)
    for name in schema.required:
        assert arguments.get(name) is not None or f"{name} is missing" in problems


@few
@given(good_calls())
def test_each_required_argument_is_needed(call: Call) -> None:
    schema, arguments = call
    for name in schema.required:
        less = {n: v for n, v in arguments.items() if n != name}
        assert f"{name} is missing" in check_arguments(schema, less)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"adults": "two"}, "adults must be an integer, got 'two'"),
        ({"adults": 1.5}, "adults must be an integer, got 1.5"),
        ({"adults": True}, "adults must be an integer, got true"),
        ({"adults": 0}, "adults must be at least 1, got 0"),
        ({"dest_id": {"a": 1}}, 'dest_id must be a string, got {"a": 1}'),
        ({"dest_id": " "}, "dest_id must not be empty"),
        ({"dest_id": None}, "dest_id is missing"),
        ({"search_type": "planet"}, f"search_type must be one of {KINDS}, got 'planet'"),
        ({"departure_date": "2026-02-30"}, "departure_date must be a date as YYYY-MM-DD, got '2026-02-30'"),
        ({"departure_date": "2026-05-03"}, "departure_date must be after arrival_date (2026-05-03), got 2026-05-03"),
        ({"children_age": "4,18"}, "children_age must be ages from 0 to 17 as 4,17, got '4,18'"),
        ({"price_min": -1}, "price_min must be at least 0, got -1"),
        ({"adult": 2}, "'adult' is not a parameter, did you mean adults?"),
        ({"zzz": 2}, "'zzz' is not a parameter"),
    ],
)  # fmt: skip
def test_the_words_for_each_fault(change: dict[str, object], said: str) -> None:
    assert check_arguments(SCHEMAS["Search_Hotels"], STAY) == []
    assert check_arguments(SCHEMAS["Search_Hotels"], STAY | change) == [said]


def test_all_faults_are_told_at_once() -> None:
    problems = check_arguments(SCHEMAS["Search_Hotels"], {"adults": 0, "arrival_date": "soon", "x": 1})
    assert len(problems) == 6


def test_a_car_may_come_back_the_same_day_but_not_before() -> None:
    schema = SCHEMAS["Search_Car_Rentals"]
    assert check_arguments(schema, RENTAL) == []
    (problem,) = check_arguments(schema, RENTAL | {"drop_off_date": "2026-05-02"})
    assert problem.startswith("drop_off_date must be on or after pick_up_date")


@pytest.mark.parametrize(
    ("time", "valid"), [("00:00", True), ("23:59", True), ("24:00", False), ("25:99", False), ("9", False)]
)
def test_times_lie_within_a_day(time: str, valid: bool) -> None:
    assert (check_arguments(SCHEMAS["Search_Car_Rentals"], RENTAL | {"pick_up_time": time}) == []) == valid


@pytest.mark.parametrize(
    ("legs", "said"),
    [
        ([], "legs must not be empty"),
        ("Oslo to Riga", "legs must be a list, got 'Oslo to Riga'"),
        ([{"fromId": "a"}], "legs[0] lacks toId, date"),
        ([{"fromId": "a", "toId": "", "date": "2026-05-03"}], "legs[0].toId must not be empty"),
        ([{"fromId": "a", "toId": "b", "date": "3 May"}], "legs[0].date must be a date as YYYY-MM-DD, got '3 May'"),
        ([{"fromId": "a", "toId": "b", "date": "2026-05-03", "via": "c"}], "legs[0] has unknown names, got "),
    ],
)
def test_faults_inside_a_list_are_located(legs: object, said: str) -> None:
    (problem,) = check_arguments(SCHEMAS["Search_Flights_Multi_Stops"], {"legs": legs})
    assert problem.startswith(said)


def test_long_values_are_shortened() -> None:
    (problem,) = check_arguments(SCHEMAS["Search_Hotels"], STAY | {"adults": "9" * 4000 + "x"})
    assert len(problem) < 120


def test_two_schemas_of_one_name_are_judged_apart() -> None:
    def tool(kind: str) -> ToolSchema:
        return ToolSchema("T", "", {"type": "object", "properties": {"a": {"type": kind}}, "required": ["a"]})

    for _ in range(50):
        assert check_arguments(tool("string"), {"a": [1]}) and not check_arguments(tool("array"), {"a": [1]})


def test_models_see_plain_json_schema() -> None:
    shown = json.dumps([schema.as_openai() for schema in SCHEMAS.values()])
    assert '"x-' not in shown
    assert (
        SCHEMAS["Search_Hotels"].as_openai()["function"]["parameters"]["properties"]["arrival_date"]["format"] == "date"
    )
