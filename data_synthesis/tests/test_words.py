"""What the writer says, the checks read again."""
from __future__ import annotations

import random
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_synthesis.checks import states
from data_synthesis.duplicates import NearDuplicates, jaccard, shingles
from data_synthesis.grammar import expand, parse, slots, tidy
from data_synthesis.templates.model import Kind, Rule
from data_synthesis.words import clock, counts_in, dates_in, day_in_words, number, pick_in_words, rule_said, times_in
from environment.core.errors import DataError

DAYS = st.dates(date(2024, 1, 1), date(2030, 12, 31))
SEEDS = st.integers(0, 2**32)


@given(DAYS, st.sampled_from(["iso", "day", "ordinal", "month"]))
@settings(max_examples=50)
def test_a_date_is_read_back_in_every_style(day: date, style: str) -> None:
    assert dates_in(f"We arrive on {day_in_words(day.isoformat(), style)}, late.") == {day}


@given(DAYS, st.integers(1, 9), st.booleans())
@settings(max_examples=50)
def test_nights_give_the_end_of_a_stay(start: date, nights: int, words: bool) -> None:
    said = number(nights, random.Random(0)) if words else str(nights)
    text = f"for {said} night{'s' if nights > 1 else ''} from {start.isoformat()}"
    assert dates_in(text) == {start, start + timedelta(days=nights)}


def test_a_range_with_one_month_is_two_dates_and_nonsense_is_none() -> None:
    assert dates_in("from 3 to 5 May 2026") == {date(2026, 5, 3), date(2026, 5, 5)}
    assert dates_in("on 2026-02-31 or the 40th of May 2026") == set()


@given(st.integers(0, 23), st.sampled_from([0, 15, 30, 45]), SEEDS)
@settings(max_examples=50)
def test_a_time_is_read_back(hour: int, minute: int, seed: int) -> None:
    text = f"{hour:02d}:{minute:02d}"
    assert times_in(f"at {clock(text, random.Random(seed))}.") == {text}


@given(st.integers(1, 30), SEEDS)
@settings(max_examples=30)
def test_a_count_is_read_only_before_its_noun(value: int, seed: int) -> None:
    text = f"for {number(value, random.Random(seed))} adults and a dog, 77 nights"
    assert counts_in(text, ["adults?", "people"]) == {value}
    assert states(text, "adults", Kind.COUNT, value)
    assert not states(text, "adults", Kind.COUNT, value + 1)


@given(st.sampled_from(list(Rule)), st.sampled_from(["hotel", "flight", "attraction"]), SEEDS)
@settings(max_examples=50)
def test_a_pick_is_read_back_and_not_mistaken(rule: Rule, noun: str, seed: int) -> None:
    text = f"Show me the policies of {pick_in_words(rule, noun, random.Random(seed))}, please."
    assert [r for r in Rule if rule_said(text, r)] == [rule]


def test_a_place_is_stated_as_a_whole_word_only() -> None:
    assert states("Hotels in são paulo, please", "city", Kind.PLACE, "São Paulo")
    assert not states("I love Romesh", "city", Kind.PLACE, "Rome")


@given(SEEDS)
@settings(max_examples=30)
def test_grammar_expands_every_part_and_leaves_none_of_its_signs(seed: int) -> None:
    phrases = {"hi": "[hello|]", "hi.casual": "hey [you|]", "end": "<hi> [a|b|[c|d]]"}
    text = expand("<hi>, x {slot:noun} [|y] <end> .", phrases, "casual", random.Random(seed), lambda s, n: f"{s}={n}")
    assert "slot=noun" in text and text.startswith("Hey")
    assert not set(text) & set("[]|<>{}") and "  " not in text and " ." not in text


def test_grammar_errors_are_told() -> None:
    for broken in ("[a|b", "a]b", "a|b"):
        with pytest.raises(DataError):
            parse(broken)
    with pytest.raises(DataError, match="greeting"):
        expand("<greting>", {"greeting": "hi"}, "plain", random.Random(0), lambda s, n: s)
    with pytest.raises(DataError, match="without end"):
        expand("<a>", {"a": "<a>"}, "plain", random.Random(0), lambda s, n: s)


def test_slots_reach_through_phrases_and_tones() -> None:
    assert slots("{a} <x>", {"x": "{b:noun} <y>", "y.formal": "{c}"}) == {"a", "b", "c"}


def test_tidy_mends_spaces_commas_and_capitals() -> None:
    assert tidy(" hi ,  can you , , wait .  thanks !") == "Hi, can you, wait. Thanks!"


TEXTS = st.lists(
    st.lists(st.sampled_from(["one", "two", "three", "four", "five", "six", "seven", "eight"]), min_size=1, max_size=9),
    max_size=12,
)


@given(TEXTS, st.sampled_from([0.5, 0.7, 0.85, 1.0]))
@settings(max_examples=50)
def test_near_duplicates_are_those_brute_force_finds(texts: list[list[str]], threshold: float) -> None:
    filter_, kept = NearDuplicates(threshold), list[frozenset[int]]()
    for words in texts:
        text = " ".join(words)
        new = all(jaccard(shingles(text), old) < threshold for old in kept)
        assert filter_.add(text) == new
        if new:
            kept.append(shingles(text))
    assert len(filter_) == len(kept)
