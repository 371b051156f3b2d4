"""A remembered cut is the cut, whoever asked before and however small the memory."""
from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from environment.core.calls import JsonValue
from environment.session.json_text import compact
from environment.session.observation import ObservationCut
from environment.session.remembered import RememberedCut
from environment.session.tests.test_observation import VALUES, Counter, hotels


@settings(max_examples=60)
@given(st.lists(st.tuples(VALUES, st.sampled_from([(), ("price",), ("note", "a.b")]))), st.integers(20, 200))
def test_what_is_seen_does_not_depend_on_who_asked_before(asked: list[tuple[JsonValue, Any]], limit: int) -> None:
    cut = ObservationCut(limit_chars=limit)
    remembered = RememberedCut(cut, 5000)
    for value, keep in [*asked, *reversed(asked)]:
        found, want = remembered(value, keep), cut(value, keep)
        assert (found.text, found.tokens) == (want.text, want.tokens)
        assert compact(found.seen) == compact(want.seen)
        assert [path for path, _ in found.values] == [path for path, _ in want.values]
        assert compact([v for _, v in found.values]) == compact([v for _, v in want.values])


def test_the_same_value_is_cut_once() -> None:
    count = Counter()
    cut = RememberedCut(ObservationCut(60, None, count))
    first = cut(hotels(40))
    asked = count.asked
    assert cut(hotels(40)) is first and count.asked == asked
    assert cut(hotels(40), ("note",)) is not first
    assert cut(hotels(41)).text != first.text


def test_numbers_that_no_json_holds_are_seen_as_they_are_shown() -> None:
    cut = RememberedCut(ObservationCut())
    assert cut({"a": float("nan"), "b": 10**30}).values == (("a", None), ("b", 1e30))
    assert cut({"a": None, "b": 1e30}).values == (("a", None), ("b", 1e30))
