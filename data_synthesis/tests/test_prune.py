"""Arc consistency over tiny worlds, and joint constraints of the search."""
from __future__ import annotations

import random

import pytest

from data_synthesis.mix import Mix
from data_synthesis.offer import likeness, offer
from data_synthesis.prune import prune
from data_synthesis.search import Chain, Infeasible, draw
from data_synthesis.templates.model import FromStep, FromUser, Kind, Pattern, Rule, Step
from data_synthesis.tests.test_search import FIND, KINDS, LIST, SHOW, find, pattern, tiny
from data_synthesis.words import rule_said
from environment.booking.schemas import load_schemas

TWO = [{"item": "a"}, {"item": "b"}]
SCHEMAS = load_schemas()


def left(found: object) -> dict[str, list[dict[str, object]]]:
    assert isinstance(found, dict)
    return {name: [dict(entry.arguments) for entry in entries.all] for name, entries in found.items()}


def test_calls_without_a_partner_go_at_both_ends_and_on_along_the_chain() -> None:
    index = tiny(
        Find=[find("Oslo", 1), find("Rome", 2), find("Bonn", 3)],
        List=[({"id": n, "day": "2026-05-01"}, {"data": [{"item": f"{n}x"}, {"item": f"{n}y"}]}) for n in (1, 2, 9)],
        Show=[({"item": "2x", "day": "2026-05-01"}, {"data": 1}), ({"item": "7", "day": "2026-05-01"}, {"data": 1})],
    )
    found = left(prune(pattern(FIND, LIST, SHOW), index))
    assert found == {
        "find": [{"query": "Rome"}],
        "list": [{"id": 2, "day": "2026-05-01"}],
        "show": [{"item": "2x", "day": "2026-05-01"}],
    }


def test_a_variable_keeps_the_values_all_its_steps_have() -> None:
    index = tiny(
        Find=[find("Oslo", 1)],
        List=[({"id": 1, "day": f"2026-05-0{d}"}, {"data": TWO}) for d in (1, 2)],
        Show=[({"item": "a", "day": f"2026-05-0{d}"}, {"data": 1}) for d in (2, 3)],
    )
    assert left(prune(pattern(FIND, LIST, SHOW), index))["list"] == [{"id": 1, "day": "2026-05-02"}]


def test_an_arc_with_nothing_left_is_named() -> None:
    lists = [({"id": 1, "day": "2026-05-01"}, {"data": TWO})]
    shown = [({"item": "z", "day": "2026-05-01"}, {"data": 1})]
    found = prune(pattern(FIND, LIST, SHOW), tiny(Find=[find("Oslo", 1)], List=lists, Show=shown))
    assert isinstance(found, Infeasible) and found.step == "show"
    assert "item from data[@pick].item of List" in found.reason
    late = [({"item": "a", "day": "2026-05-09"}, {"data": 1})]
    found = prune(pattern(FIND, LIST, SHOW), tiny(Find=[find("Oslo", 1)], List=lists, Show=late))
    assert isinstance(found, Infeasible) and "no value of day" in found.reason
    found = prune(pattern(FIND, LIST, SHOW), tiny(Find=[find("Oslo", 1)]))
    assert isinstance(found, Infeasible) and found.step == "list" and "no entry" in found.reason


@pytest.mark.parametrize("seed", range(6))
def test_what_is_pruned_is_never_part_of_a_chain(seed: int) -> None:
    """Draws from pruned calls and from all calls fill the same set of chains."""
    rng = random.Random(seed)
    days = [f"2026-05-0{rng.randrange(1, 4)}" for _ in range(18)]
    index = tiny(
        Find=[find(f"C{n}", n) for n in range(6)],
        List=[
            ({"id": rng.randrange(8), "day": days[n]}, {"data": [{"item": str(n)}, {"item": "x"}]}) for n in range(9)
        ],
        Show=[({"item": str(rng.randrange(9)), "day": days[9 + n]}, {"data": 1}) for n in range(9)],
    )
    asked = pattern(FIND, LIST, SHOW)
    domains = prune(asked, index)
    free = {c.identity() for n in range(60) if isinstance(c := draw(asked, index, random.Random(n)), Chain)}
    if isinstance(domains, Infeasible):
        assert not free
        return
    drawn = (draw(asked, index, random.Random(n), domains=domains) for n in range(60))
    assert {c.identity() for c in drawn if isinstance(c, Chain)} == free


def asked_twice(**more: object) -> Pattern:
    other = Step("other", "Find", {"query": FromUser("city_2")})
    kinds = {"city": Kind.PLACE, "city_2": Kind.PLACE}
    return Pattern("p", "d", (FIND, other), kinds, {}, ("x",), {}, **more)  # type: ignore[arg-type]


def test_names_that_go_together_are_of_one_place_and_differ() -> None:
    index = tiny(Find=[find(name, 1) for name in ("Oslo", "Oslo Airport", "Rome", "Rome Airport")])
    for seed in range(20):
        apart = draw(asked_twice(), index, random.Random(seed), place_of=lambda name: name[:4])
        both = draw(
            asked_twice(together=(frozenset({"city", "city_2"}),)), index, random.Random(seed), place_of=lambda n: n[:4]
        )
        assert isinstance(apart, Chain) and isinstance(both, Chain)
        assert str(apart.values["city"])[:4] != str(apart.values["city_2"])[:4]
        assert str(both.values["city"])[:4] == str(both.values["city_2"])[:4]
        assert both.values["city"] != both.values["city_2"]


def test_a_call_is_not_made_twice_and_dates_keep_their_order() -> None:
    again = Step("again", "List", {"id": FromStep("find", "data[0].id"), "day": FromUser("day_2")})
    kinds = {**KINDS, "day_2": Kind.DATE}
    days = [({"id": 1, "day": f"2026-05-0{d}"}, {"data": TWO}) for d in (1, 2, 3)]
    index = tiny(Find=[find("Oslo", 1)], List=days)
    first = Step("list", "List", {"id": FromStep("find", "data[0].id"), "day": FromUser("day")})
    for seed in range(12):
        free = draw(Pattern("p", "d", (FIND, first, again), kinds, {}, ("x",), {}), index, random.Random(seed))
        assert isinstance(free, Chain) and free.values["day"] != free.values["day_2"]
        ordered = Pattern("p", "d", (FIND, first, again), kinds, {}, ("x",), {}, after={"day_2": "day"})
        later = draw(ordered, index, random.Random(seed))
        assert isinstance(later, Chain) and str(later.values["day"]) < str(later.values["day_2"])


def test_one_variable_in_two_arguments_of_a_call_has_one_value() -> None:
    same = Step("list", "List", {"id": FromUser("n"), "adults": FromUser("n")})
    index = tiny(List=[({"id": 2, "adults": 3}, {"data": 1}), ({"id": 4, "adults": 4}, {"data": 1})])
    asked = Pattern("p", "d", (same,), {"n": Kind.COUNT}, {}, ("x",), {})
    assert {draw(asked, index, random.Random(seed)).values["n"] for seed in range(9)} == {4}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the first three hotels", (Rule.FIRST, Rule.SECOND, Rule.THIRD)),
        ("the top 2 cars", (Rule.FIRST, Rule.SECOND)),
        ("the first, the second and the fourth hotel", (Rule.FIRST, Rule.SECOND, Rule.FOURTH)),
        ("the fifth hotel on the list", (Rule.FIFTH,)),
        ("the first class", (Rule.FIRST,)),
    ],
)
def test_picks_are_read_out_of_lists_and_of_the_first_few(text: str, said: tuple[Rule, ...]) -> None:
    counted = (Rule.FIRST, Rule.SECOND, Rule.THIRD, Rule.FOURTH, Rule.FIFTH)
    assert tuple(rule for rule in counted if rule_said(f"Show me {text}.", rule)) == said
    assert rule_said("with Free WiFi, please", "Free WiFi") and not rule_said("with WiFi", "Free WiFi")


def test_distractors_by_likeness_are_the_most_alike_and_at_random_any() -> None:
    gold = ["Get_Hotel_Policies"]
    alike = set(offer(gold, SCHEMAS, random.Random(0), 3, 3, "similar")) - set(gold)
    worst = min(likeness(SCHEMAS[name], [SCHEMAS[gold[0]]]) for name in alike)
    others = [name for name in SCHEMAS if name not in alike | set(gold)]
    assert all(likeness(SCHEMAS[name], [SCHEMAS[gold[0]]]) <= worst for name in others)
    drawn = {name for seed in range(60) for name in offer(gold, SCHEMAS, random.Random(seed), 3, 3, "random")}
    assert {SCHEMAS[name].group for name in drawn} == {schema.group for schema in SCHEMAS.values()}
    near = {SCHEMAS[n].group for seed in range(20) for n in offer(gold, SCHEMAS, random.Random(seed), 3, 3)}
    assert near == {"hotel"}


def test_widths_are_shares_too() -> None:
    wide = pattern(FIND, Step("find2", "Find", {"query": FromUser("day")}))
    assert wide.width == 2 and pattern(FIND, LIST).width == 1
    narrow_one = Pattern("narrow", "d", (FIND, LIST), KINDS, {}, ("x",), {})
    assert Mix(steps={}, widths={2: 1.0}).shares([wide, narrow_one]) == {"p": 1.0}
