"""Joint search over tiny hand-made worlds, where the right answer is plain."""
from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pytest

from data_synthesis.index import WorldIndex, answers
from data_synthesis.search import Chain, Infeasible, draw, item_of, narrow
from data_synthesis.split import place_groups, split_places
from data_synthesis.templates.model import FromStep, FromUser, Kind, Pattern, Rule, Step
from environment.core.calls import JsonValue
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema

TEXT = {"type": "string"}


def tool(name: str, gives: Mapping[str, str] | None = None, **properties: dict[str, JsonValue]) -> ToolSchema:
    return ToolSchema(name, "", {"type": "object", "properties": properties, "required": []}, "", {}, gives or {})


class TinyWorld:
    """Recorded calls given by hand."""

    def __init__(self, calls: Mapping[str, list[tuple[dict[str, JsonValue], JsonValue]]]) -> None:
        self.calls = calls
        query = {"type": "string", "x-free-text": True}
        self.schemas: Mapping[str, ToolSchema] = {
            "Find": tool("Find", {"data[].id": "place_id"}, query=query),
            "List": tool(
                "List",
                None,
                id={"type": "integer"},
                day={"type": "string", "format": "date"},
                adults={"type": "integer", "default": 1},
            ),
            "Show": tool("Show", None, item=TEXT, day={"type": "string", "format": "date"}),
        }

    def entries(self, tool: str) -> Iterator[tuple[dict[str, JsonValue], JsonValue]]:
        yield from self.calls.get(tool, [])


def tiny(**calls: list[tuple[dict[str, JsonValue], JsonValue]]) -> WorldIndex:
    return WorldIndex(TinyWorld(calls), lambda _, value: value)


FIND = Step("find", "Find", {"query": FromUser("city")})
LIST = Step(
    "list", "List", {"id": FromStep("find", "data[0].id"), "day": FromUser("day"), "adults": FromUser("adults", True)},
    {Rule.CHEAPEST: "price"},
)  # fmt: skip
SHOW = Step("show", "Show", {"item": FromStep("list", "data[@pick].item"), "day": FromUser("day")})
KINDS = {"city": Kind.PLACE, "day": Kind.DATE, "adults": Kind.COUNT}


def pattern(*steps: Step, rules: tuple[Rule, ...] = (Rule.FIRST,)) -> Pattern:
    picks = {"pick": rules} if SHOW in steps else {}
    return Pattern("p", "d", steps, KINDS, picks, ("x",), {})


def find(city: str, number: object) -> tuple[dict[str, JsonValue], JsonValue]:
    return {"query": city}, {"data": [{"id": number}]}


def test_values_are_joined_in_typed_form() -> None:
    index = tiny(Find=[find("Oslo", "7")], List=[({"id": 7, "day": "2026-05-01"}, {"data": [{"item": "a"}]})])
    chain = draw(pattern(FIND, LIST), index, random.Random(0))
    assert isinstance(chain, Chain)
    assert chain.values == {"city": "Oslo", "day": "2026-05-01"}
    assert [(e.argument, e.producer, e.field) for e in chain.steps[1].edges] == [("id", 0, "data[0].id")]


@pytest.mark.parametrize("seed", range(10))
def test_one_day_is_shared_by_all_steps_and_the_search_steps_back(seed: int) -> None:
    listed = [{"item": "a"}, {"item": "b"}]
    index = tiny(
        Find=[find("Oslo", 1), find("Rome", 2)],
        List=[({"id": n, "day": f"2026-05-0{d}"}, {"data": listed}) for n in (1, 2) for d in range(1, 6)],
        Show=[
            ({"item": "a", "day": "2026-05-04"}, {"data": {"x": 1}}),
            ({"item": "b", "day": "2026-05-02"}, {"data": {"x": 2}}),
        ],
    )
    for rule, day in ((Rule.FIRST, "2026-05-04"), (Rule.SECOND, "2026-05-02")):
        chain = draw(pattern(FIND, LIST, SHOW, rules=(rule,)), index, random.Random(seed), lambda p: p == "Rome")
        assert isinstance(chain, Chain)
        assert chain.values["day"] == day and chain.values["city"] == "Rome"
        assert {s.arguments.get("day", day) for s in chain.steps} == {day}


def test_an_optional_argument_is_unset_or_bound_and_a_default_is_unset() -> None:
    entries = [({"id": 1, "day": "2026-05-01", "adults": n}, {"data": [1, 2]}) for n in (1, 2)]
    index = tiny(Find=[find("Oslo", 1)], List=entries)
    seen = set()
    for seed in range(20):
        chain = draw(pattern(FIND, LIST), index, random.Random(seed))
        assert isinstance(chain, Chain)
        assert chain.steps[1].arguments.get("adults") == chain.values.get("adults")
        seen.add(chain.values.get("adults"))
    assert seen == {None, 2}


def test_an_entry_with_an_argument_the_step_never_gives_is_not_used() -> None:
    index = tiny(Find=[({"query": "Oslo", "extra": 1}, {"data": [{"id": 1}]})])
    assert isinstance(draw(pattern(FIND), index, random.Random(0)), Infeasible)


def test_infeasible_says_where_and_why() -> None:
    index = tiny(
        Find=[find("Oslo", 1)], List=[({"id": 1, "day": "2026-05-01"}, {"data": [{"item": "a"}, {"item": "b"}]})]
    )
    found = draw(pattern(FIND, LIST, SHOW), index, random.Random(0))
    assert isinstance(found, Infeasible) and found.proven
    assert found.step == "list" and "1 leave Show without a recorded call" in found.reason
    empty = draw(pattern(FIND), tiny(), random.Random(0))
    assert isinstance(empty, Infeasible) and empty.step == "find"
    nowhere = draw(
        pattern(FIND, LIST),
        tiny(Find=[find("Oslo", 3)], List=[({"id": 1, "day": "2026-05-01"}, {"data": [1]})]),
        random.Random(0),
    )
    assert isinstance(nowhere, Infeasible) and "leave List without a recorded call" in nowhere.reason


def test_giving_up_is_not_called_proof() -> None:
    many = [find(f"City {n}", n) for n in range(50)]
    index = tiny(
        Find=many, List=[({"id": n, "day": "2026-05-01"}, {"data": [{"item": "a"}, {"item": "b"}]}) for n in range(50)]
    )
    found = draw(pattern(FIND, LIST, SHOW), index, random.Random(0), budget=10)
    assert isinstance(found, Infeasible) and not found.proven


def entry(value: JsonValue, seen: JsonValue) -> tuple[WorldIndex, Step]:
    world = TinyWorld({"List": [({"id": 1, "day": "2026-05-01"}, value)]})
    return WorldIndex(world, lambda _, __: seen), LIST


@pytest.mark.parametrize(
    ("prices", "shown", "rule", "number"),
    [
        ([5, 3, 4], 3, Rule.CHEAPEST, 1),
        ([5, 3, 4], 1, Rule.CHEAPEST, None),
        ([3, 5, 4], 1, Rule.CHEAPEST, None),
        ([3, 5, 4], 2, Rule.CHEAPEST, 0),
        ([3, 3, 4], 3, Rule.CHEAPEST, None),
        ([5, 4, 3], 2, Rule.CHEAPEST, None),
        ([5], 1, Rule.FIRST, None),
        ([5, 3], 1, Rule.FIRST, 0),
        ([5, 3], 1, Rule.SECOND, None),
        ([5, None], 2, Rule.CHEAPEST, None),
        ([5, 4], 2, Rule.BEST_RATED, None),
    ],
)
def test_a_rule_names_an_item_only_where_the_model_can_tell(
    prices: list[int | None], shown: int, rule: Rule, number: int | None
) -> None:
    items = [{"item": str(i), "price": p} for i, p in enumerate(prices)]
    index, step = entry({"data": items}, {"data": items[:shown]})
    assert item_of(index.step(step).all[0], "data", rule, step.ranks) == number


def test_narrow_keeps_the_rules_that_name_something() -> None:
    items = [{"item": "a", "price": 2}, {"item": "b", "price": 1}]
    index, _ = entry({"data": items}, {"data": items[:1]})
    left = narrow(pattern(FIND, LIST, SHOW, rules=(Rule.FIRST, Rule.SECOND, Rule.CHEAPEST)), index)
    assert isinstance(left, Pattern) and left.picks == {"pick": (Rule.FIRST,)}
    assert isinstance(narrow(pattern(FIND, LIST, SHOW, rules=(Rule.SECOND,)), index), Infeasible)


@pytest.mark.parametrize(
    "value", [{}, [], "", None, {"error": "x"}, {"status": False, "data": [1]}, {"status": True, "data": []}]
)
def test_empty_and_failed_values_are_no_answers(value: JsonValue) -> None:
    assert not answers(value)


def test_values_with_content_are_answers() -> None:
    assert answers({"data": [1]}) and answers([1]) and answers({"id": 1, "error": None})


def test_names_of_one_place_stay_on_one_side() -> None:
    index = tiny(Find=[find("Oslo", 1), find("Oslo Airport", 1), find("Rome", 2), find("Bonn", 3), find("Kyiv", 4)])
    groups = place_groups([pattern(FIND)], index)
    assert frozenset({"oslo", "oslo airport"}) in groups and len(groups) == 4
    for seed in range(20):
        split = split_places(groups, 0.25, seed)
        assert len(split.heldout & {"rome", "bonn", "kyiv"}) + ("oslo" in split.heldout) == 1
        assert split.in_train("OSLO") == split.in_train("oslo airport") != split.in_heldout("Oslo")
        assert not split.train & split.heldout
    assert len({split_places(groups, 0.25, seed).heldout for seed in range(20)}) > 1
    with pytest.raises(ConfigError):
        split_places(groups, 1.0, 0)
