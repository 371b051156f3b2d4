from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.core.canonical import canonical_arguments, canonical_key, canonical_value, fold_text, json_key
from environment.core.schema import ToolSchema
from environment.core.tests.made import SCHEMAS, any_calls, arguments_of, good_calls, json_values
from environment.core.validate import check_arguments

Call = tuple[ToolSchema, dict[str, Any]]
ID = {"type": "string"}
DATE = {"type": "string", "format": "date"}
few = settings(max_examples=50, deadline=None)


@few
@given(any_calls())
def test_the_form_is_reached_once_for_any_json(call: Call) -> None:
    schema, arguments = call
    once = canonical_arguments(schema, arguments)
    assert canonical_key(schema, once) == canonical_key(schema, arguments)
    assert json.dumps(canonical_arguments(schema, once)) == json.dumps(once)


@few
@given(any_calls(), st.randoms())
def test_the_order_of_names_is_no_difference(call: Call, random: Any) -> None:
    schema, arguments = call
    names = list(arguments)
    random.shuffle(names)
    assert canonical_key(schema, {name: arguments[name] for name in names}) == canonical_key(schema, arguments)


@few
@given(good_calls())
def test_fitting_values_come_out_in_the_type_of_their_parameter(call: Call) -> None:
    schema, arguments = call
    kinds: dict[str, type | tuple[type, ...]] = {"integer": int, "number": (int, float), "string": str, "array": list}
    for name, value in canonical_arguments(schema, arguments).items():
        parameter = schema.properties[name]
        assert isinstance(value, kinds[parameter["type"]]) and not isinstance(value, bool)
        assert "enum" not in parameter or value in parameter["enum"]


@few
@given(st.text(), st.text())
def test_text_ids_that_differ_stay_different(a: str, b: str) -> None:
    assert (canonical_value(ID, a) == canonical_value(ID, b)) == (a.strip() == b.strip())


@few
@given(st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15))
def test_number_ids_equal_their_digits_and_nothing_else(a: int, b: int) -> None:
    assert canonical_value(ID, a) == canonical_value(ID, str(a)) == canonical_value(ID, float(a)) == str(a)
    assert (canonical_value(ID, a) == canonical_value(ID, str(b))) == (a == b)


@pytest.mark.parametrize(
    ("a", "b"), [("007", "7"), ("1.0", "1"), ("ab", "AB"), ("a-b", "a_b"), ("1e3", "1000"), (True, 1)]
)
def test_ids_are_never_read_as_numbers_or_folded(a: object, b: object) -> None:
    assert canonical_value(ID, a) != canonical_value(ID, b)


@few
@given(good_calls(), st.data())
def test_saying_a_default_or_nothing_is_saying_nothing(call: Call, data: st.DataObject) -> None:
    schema, arguments = call
    optional = [n for n in schema.properties if n not in schema.required and n not in arguments]
    said: dict[str, object] = {}
    for name in optional:
        said[name] = data.draw(st.sampled_from([None, "", "  ", schema.properties[name].get("default")]))
    assert canonical_key(schema, arguments | said) == canonical_key(schema, arguments)


@few
@given(st.data())
def test_another_value_of_an_argument_is_another_call(data: st.DataObject) -> None:
    schema = SCHEMAS["Search_Flights"]
    arguments = data.draw(arguments_of(schema)) | {"adults": 2, "cabinClass": "FIRST", "departDate": "2026-05-01"}
    for name, other in (("adults", 3), ("adults", 1), ("cabinClass", "business"), ("departDate", "2026-05-02")):
        assert canonical_key(schema, arguments | {name: other}) != canonical_key(schema, arguments)


@few
@given(st.dates(min_value=date(1000, 1, 1)))
def test_dates_are_read_year_first_in_the_usual_writings(day: date) -> None:
    written = (day.isoformat(), f"{day:%Y/%m/%d}", f"{day:%Y%m%d}", f" {day.year}-{day.month}-{day.day} ")
    assert {canonical_value(DATE, text) for text in written} == {day.isoformat()}


@pytest.mark.parametrize("text", ["2026-02-30", "03/05/2026", "May 3", "2026-13-01", "2026-05/03", "0000-01-01"])
def test_what_is_no_date_or_could_be_two_stays_as_it_is(text: str) -> None:
    assert canonical_value(DATE, text) == text


@pytest.mark.parametrize(
    ("given_", "want"), [("9:05", "09:05"), ("09:05:00", "09:05"), ("25:99", "25:99"), ("9:5", "9:5")]
)
def test_times(given_: str, want: str) -> None:
    assert canonical_value({"type": "string", "x-format": "time"}, given_) == want


@pytest.mark.parametrize("written", ["4,17", "17, 4", [17, 4], " 4 ,17 "])
def test_ages_of_children_are_a_set_of_numbers(written: object) -> None:
    assert canonical_value({"type": "string", "x-format": "ages"}, written) == "4,17"


@few
@given(st.integers(-(10**9), 10**9))
def test_numbers_are_equal_in_every_writing(n: int) -> None:
    number = {"type": "number"}
    assert {canonical_value(number, w) for w in (n, float(n), str(n), f" {n}.0 ", f"{n}.")} == {n}


@pytest.mark.parametrize("text", ["١٢", "1_000", "0x10", "nan", "inf", "1,5", "", "9" * 5000])
def test_what_python_but_no_service_calls_a_number_stays_text(text: str) -> None:
    assert canonical_value({"type": "number"}, text) == text


def test_coordinates_of_one_spot_are_one_value() -> None:
    latitude = SCHEMAS["Get_Nearby_Cities"].properties["latitude"]
    assert canonical_value(latitude, "39.8502006530762") == canonical_value(latitude, 39.8502) == 39.8502


@few
@given(st.text(max_size=20))
def test_folding_forgets_case_and_space_and_is_done_once(text: str) -> None:
    folded = fold_text(text)
    assert fold_text(folded) == folded
    assert fold_text(f"  {text} ") == folded
    assert "  " not in folded


def test_folding_keeps_accents_and_letters_apart() -> None:
    assert fold_text("Zürich") == fold_text("ZU\u0308RICH") != fold_text("Zurich")
    assert fold_text("Oslo  Airport\n") == "oslo airport"


def test_legs_are_read_item_by_item_even_from_json_text() -> None:
    schema = SCHEMAS["Search_Flights_Multi_Stops"]
    legs = [{"fromId": "OSL.AIRPORT", "toId": "RIX.AIRPORT", "date": "2026-5-3"}]
    key = canonical_key(schema, {"legs": legs, "adults": "1"})
    assert key == canonical_key(schema, {"legs": json.dumps(legs)})
    assert json.loads(key) == {"legs": [{**legs[0], "date": "2026-05-03"}]}


@few
@given(any_calls())
def test_validity_is_a_property_of_the_form(call: Call) -> None:
    schema, arguments = call
    assert check_arguments(schema, arguments) == check_arguments(schema, canonical_arguments(schema, arguments))


@few
@given(json_values)
def test_unknown_names_and_types_pass_unchanged(value: object) -> None:
    schema = SCHEMAS["Get_Hotel_Details"]
    assert canonical_arguments(schema, {"surprise": value}).get("surprise") is value
    assert canonical_value({}, value) is value


def test_no_depth_of_nesting_raises() -> None:
    deep: object = "x"
    for _ in range(5000):
        deep = [deep]
    schema = SCHEMAS["Search_Hotels"]
    for name in (*schema.properties, "other"):
        assert isinstance(canonical_key(schema, {name: deep}), str)
        assert check_arguments(schema, {name: deep})
    assert canonical_value({"type": "array"}, "[" * 5000) == "[" * 5000


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=4), json_values), st.text(st.characters(max_codepoint=130), max_size=6))
def test_a_key_is_the_same_text_however_it_is_written(value: dict[str, Any], text: str) -> None:
    for each in (value, {"a": text, text: 1, "b": True}, {"n": 2**63, "t": text}):
        assert json_key(each) == json.dumps(each, sort_keys=True, separators=(",", ":"))
