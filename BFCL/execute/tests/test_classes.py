"""Classes and their methods, and the work no deadline could end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.data.categories import MULTI_TURN
from BFCL.data.rows import DOCUMENT_FILES, documents, multi_turn_rows
from BFCL.data.tests.needs import needs_package
from BFCL.execute.bounds import MOST_DIGITS, refusal
from BFCL.execute.classes import methods, named, owners
from BFCL.parse.one_call import OneCall, read_call, write_call
from environment.core.errors import DataError


@needs_package
@pytest.mark.parametrize("category", MULTI_TURN)
def test_every_gold_call_is_literal_and_named_by_its_class(category: str) -> None:
    for row in multi_turn_rows(category):
        for call in (read_call(text) for turn in row.gold for text in turn):
            assert isinstance(call, OneCall) and call.name in owners(row.classes)
            arguments = named(call, row.classes)
            assert len(arguments) == len(call.positional) + len(call.keywords)
            assert read_call(write_call(call.name, arguments)) == OneCall(call.name, [], arguments)


@needs_package
def test_parameters_by_position_are_those_of_the_document() -> None:
    for name in DOCUMENT_FILES:
        for document in documents(name):
            properties = document["parameters"]["properties"]
            call = OneCall(document["name"], list(range(len(properties))))
            assert named(call, (name,)).keys() == properties.keys(), document["name"]


@needs_package
def test_a_call_of_another_class_has_no_names() -> None:
    with pytest.raises(DataError, match="no function of these classes"):
        named(OneCall("mkdir", ["x"]), ("MathAPI",))


@needs_package
def test_nothing_inherited_from_object_can_be_called() -> None:
    for name in DOCUMENT_FILES:
        assert not {"mro", "format", "send", "close"} & methods(name) or name == "MessageAPI"


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@given(NUMBERS, NUMBERS)
def test_a_power_that_is_let_pass_can_be_worked_out_at_once(base: float, exponent: float) -> None:
    if refusal("MathAPI", "power", [], {"base": base, "exponent": exponent}):
        assert isinstance(base, int) and isinstance(exponent, int)
        return
    try:
        found: Any = base**exponent
    except (OverflowError, ZeroDivisionError):
        return
    assert not isinstance(found, int) or found.bit_length() <= 4 * MOST_DIGITS


@pytest.mark.parametrize(
    ("method", "positional", "keywords", "refused"),
    [
        ("power", [2, 10], {}, False),
        ("power", [2], {"exponent": 10**9}, True),
        ("power", [1.5, 10**9], {}, False),
        ("power", [], {}, False),
        ("power", ["2", 10**9], {}, False),
        ("square_root", [2, MOST_DIGITS], {}, False),
        ("square_root", [2, MOST_DIGITS + 1], {}, True),
        ("logarithm", [2, 10, 5], {}, False),
        ("logarithm", ["2", 10, 5], {}, True),
        ("round_number", [2.5, 1], {}, False),
        ("round_number", [25, -MOST_DIGITS - 1], {}, True),
        ("add", [1, 2], {}, False),
        ("power", [2, 3, 4, 5], {"more": 1}, False),
    ],
)
def test_what_is_refused(method: str, positional: list[Any], keywords: dict[str, Any], refused: bool) -> None:
    assert bool(refusal("MathAPI", method, positional, keywords)) == refused
    assert not refusal("TravelAPI", method, positional, keywords)
