"""Templates: the shipped ones are sound in themselves, and a wrong one is told apart."""
from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from data_synthesis.grammar import slots
from data_synthesis.templates.load import default_folder, load_patterns
from data_synthesis.templates.model import FromStep, FromUser, Pattern
from environment.booking.schemas import load_schemas
from environment.core.errors import DataError

SCHEMAS = load_schemas()
PATTERNS = load_patterns(SCHEMAS)
COMPOSITE = {
    "stay": {"check_in", "check_out"}, "trip": {"depart", "return"}, "party": {"adults", "rooms", "children"},
    "travellers": {"adults", "children"}, "cabin_class": {"cabin"}, "budget": {"price_min", "price_max"},
    "rental": {"pick_up_date", "pick_up_time", "drop_off_date", "drop_off_time"}, "on_visit_day": {"visit_day"},
    "hotel_order": {"hotel_sort"}, "flight_order": {"flight_sort"}, "attraction_order": {"attraction_sort"},
}  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.id)
def test_every_way_of_asking_can_say_every_variable_and_nothing_foreign(pattern: Pattern) -> None:
    needed = set(pattern.picks) | {s.variable for _, _, s in pattern.sources() if isinstance(s, FromUser)}
    for sentence in pattern.say:
        reached = slots(sentence, pattern.phrases)
        said = {name for slot in reached for name in COMPOSITE.get(slot, {slot})}
        assert needed <= said
        assert {slot for slot in reached if slot not in COMPOSITE} <= needed


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.id)
def test_every_pick_is_used_and_every_step_is_asked_for_or_needed_later(pattern: Pattern) -> None:
    sources = [s for _, _, s in pattern.sources() if isinstance(s, FromStep)]
    assert {s.pick for s in sources if s.pick} == set(pattern.picks)
    assert all(step.give for step in pattern.steps)


def test_lengths_and_families_are_covered() -> None:
    assert set(Counter(len(p.steps) for p in PATTERNS)) == {1, 2, 3, 4}
    assert {p.domain for p in PATTERNS} >= {"hotel", "flight", "attraction", "car", "cross"}
    assert len({p.id for p in PATTERNS}) == len(PATTERNS) >= 18


def test_patterns_of_tools_another_world_lacks_are_left_out() -> None:
    hotels = {name: schema for name, schema in SCHEMAS.items() if schema.group == "hotel"}
    assert {p.domain for p in load_patterns(hotels)} == {"hotel"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('dest_id: "hotel_place.data[0].dest_id"', 'dest_id: "hotel_place.data[0].name"', "data\\[\\].dest_id"),
        ('dest_id: "hotel_place', 'dest_idd: "hotel_place', "'dest_id'"),
        ('dest_id: "hotel_place', 'dest_id: "hotel_search', "not before it"),
        (
            "arrival_date: $check_in\n      departure_date: $check_out\n      adults: $adults?\n"
            "      children_age: $children?\n      room_qty: $rooms?\n      price",
            "adults: $adults?\n      price",
            "required",
        ),
        ("$check_in", "$chek_in", "'check_in'"),
        ("steps: [hotel_place, hotel_search]", "steps: [hotel_place, hotel_serch]", "'hotel_search'"),
        ("{query: $city}", "{query: Oslo}", "nowhere"),
        ("picks: {pick: [first, second, cheapest, best_rated]}", "picks: {pick: [frist]}", "valid template"),
        ("picks: {pick: [first, second, cheapest, best_rated]}", "picks: {}", "no rules"),
        ("domain: hotel", "domain: hotel\n    colour: red", "valid template"),
        ("patterns:", "patterns: [", "valid template"),
    ],
)
def test_what_is_wrong_with_a_template_is_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    good = (default_folder() / "hotels.yaml").read_text()
    assert old in good
    (tmp_path / "hotels.yaml").write_text(good.replace(old, new))
    (tmp_path / "style.yaml").write_text((default_folder() / "style.yaml").read_text())
    with pytest.raises(DataError, match=told):
        load_patterns(SCHEMAS, tmp_path)


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no workflow template"):
        load_patterns(SCHEMAS, tmp_path)
