"""Chains: every tool can be reached from what a person can say, and mined templates get the links they lack."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environment.booking.schemas import load_schemas
from environment.booking.tests.test_schemas import shared
from environment.core.errors import DataError
from environment.core.ports import put
from environment.core.schema import ToolSchema
from environment.expansion.chains import Chain, ChainBuilder, ChainStep, Link, complete, depths, shifted
from environment.expansion.workflows import read_workflows, select

SCHEMAS = load_schemas()
BUILDER = ChainBuilder(SCHEMAS)


def tools_of(chain: Chain) -> list[str]:
    return [step.tool for step in chain.steps]


def test_every_tool_has_a_chain_whose_steps_take_only_from_earlier_ones() -> None:
    chains = list(BUILDER.all_chains())
    assert {chain.id for chain in chains} >= set(SCHEMAS)
    for chain in chains:
        assert chain.id.split("+")[0] == chain.steps[-1].tool and chain.ends == (len(chain.steps) - 1,)
        for number, step in enumerate(chain.steps):
            assert all(link.step < number for link in step.links)


def test_chains_are_as_short_as_can_be() -> None:
    assert tools_of(BUILDER.chain_to("Get_Seat_Map")) == [
        "Search_Flight_Location", "Search_Flight_Location", "Search_Flights", "Get_Seat_Map",
    ]  # fmt: skip
    assert tools_of(BUILDER.chain_to("Search_Taxi")) == ["Taxi_Search_Location"] * 2 + ["Search_Taxi"]
    assert tools_of(BUILDER.chain_to("Vehicle_Details"))[-2:] == ["Search_Car_Rentals", "Vehicle_Details"]
    assert depths(SCHEMAS)["Search_Flight_Location"] == 0 and depths(SCHEMAS)["Booking_Summary"] == 2


def test_values_of_one_kind_come_from_different_look_ups_and_those_of_one_thing_from_one() -> None:
    *_, car = BUILDER.chain_to("Search_Car_Rentals").steps
    sources = {link.argument: link.step for link in car.links}
    assert sources["pick_up_latitude"] == sources["pick_up_longitude"] != sources["drop_off_latitude"]
    *_, hotels = BUILDER.chain_to("Search_Hotels").steps
    assert len(hotels.producers) == 1, "dest_id and search_type are of one destination"
    *_, trip = BUILDER.chain_to("Search_Flights_Multi_Stops").steps
    assert [link.argument for link in trip.links] == [f"legs[{i}].{end}" for end in ("fromId", "toId") for i in (0, 1)]
    assert len(trip.producers) == 4


def test_optional_arguments_that_answers_give_have_chains_too() -> None:
    ids = {chain.id: chain for chain in BUILDER.all_chains()}
    assert "Get_Filter" in tools_of(ids["Search_Hotels+categories_filter"])
    assert ids["Get_Hotel_Reviews_Tips+sort_option_id"].steps[-1].named == ("sort_option_id",)


def test_a_tool_that_nothing_feeds_is_named() -> None:
    lonely = {"T": ToolSchema("T", "", {"required": ["x"]}, takes={"x": "x_id"})}
    with pytest.raises(DataError, match="no tool gives") as caught:
        ChainBuilder(lonely).chain_to("T")
    assert "x_id" in str(caught.value) and depths(lonely) == {}


def test_two_tools_that_need_each_other_are_no_endless_chain() -> None:
    ring = {
        "A": ToolSchema("A", "", {"required": ["b"]}, takes={"b": "b_id"}, gives={"a": "a_id"}),
        "B": ToolSchema("B", "", {"required": ["a"]}, takes={"a": "a_id"}, gives={"b": "b_id"}),
    }
    with pytest.raises(DataError, match="no tool gives"):
        ChainBuilder(ring).chain_to("A")


def test_missing_links_are_found_by_port() -> None:
    steps = [ChainStep("Search_Flight_Location"), ChainStep("Search_Flight_Location"), ChainStep("Get_Min_Price")]
    *_, price = complete(steps, SCHEMAS)
    assert {(link.argument, link.step, link.fields) for link in price.links} == {
        ("fromId", 0, ("data[0].id",)), ("toId", 1, ("data[0].id",)),
    }  # fmt: skip
    given = ChainStep("Get_Min_Price", (Link("toId", 0, ("[2].id",)),), constants={"fromId": "OSL"})
    *_, kept = complete([steps[0], given], SCHEMAS)
    assert [link.fields for link in kept.links if link.argument == "toId"] == [("[2].id",)], "what is there stays"
    assert kept.constants == {}
    (alone,) = complete([given], SCHEMAS)
    assert alone.constants == {"fromId": "OSL"}, "an id that nothing gives stays as it was mined"


@pytest.mark.parametrize(
    ("path", "by", "moved"),
    [("a[0].b[1]", 2, "a[2].b[1]"), ("[3].x", 1, "[4].x"), ("a.b", 0, "a.b"), ("a.b", 1, None), ("[7]", 0, "[7]")],
)
def test_the_first_index_moves(path: str, by: int, moved: str | None) -> None:
    assert shifted(path, by) == moved


def test_nested_arguments_are_made_on_the_way() -> None:
    arguments: dict[str, Any] = {"legs": [{"date": "d"}], "x": 1}
    put(arguments, "legs[0].toId", "A")
    put(arguments, "legs[2].toId", "B")
    put(arguments, "a.b", 3)
    assert arguments == {"legs": [{"date": "d", "toId": "A"}, {}, {"toId": "B"}], "x": 1, "a": {"b": 3}}


def test_the_templates_of_the_reference_are_read_whole() -> None:
    chains = read_workflows(shared("workflow_templates.json"), SCHEMAS)
    assert len(chains) == 107 and sum(len(chain.steps) for chain in chains) == 559
    unfed = {name for chain in chains for step in chain.steps for name in step.constants}
    assert unfed <= {"sort_option_id", "categories_filter"}, "every other id comes from an earlier step"
    legs = [link for chain in chains for step in chain.steps for link in step.links if "legs" in link.argument]
    assert len(legs) >= 32, "mining found none"


def template(**step: Any) -> dict[str, Any]:
    steps = {"0": {"function": "Search_Flight_Location", "arguments": {"query": "Oslo"}}, "1": step}
    return {"workflows": [{"id": "workflow_4", "dependencies": steps}]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "Invalid JSON"),
        ("[]", "file: "),
        ({"workflows": [{"id": "x"}]}, "workflows.0.dependencies"),
        (template(function="Get_Seat"), "unknown tool"),
        (template(function="Search_Taxi", dependency_args={"x": {"from_step": 1, "from_field": "x"}}), "not before"),
        ({"workflows": [{"id": "w", "dependencies": {"1": {"function": "Search_Taxi"}}}]}, "not numbered"),
        ({"workflows": [{"id": "w", "dependencies": {"a": {"function": "Search_Taxi"}}}]}, "no number"),
    ],
)
def test_a_broken_file_of_templates_is_named_with_its_fault(tmp_path: Path, content: Any, said: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(DataError, match=said) as caught:
        read_workflows(path, SCHEMAS)
    assert "t.json" in str(caught.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(DataError, match="can't read the templates"):
            read_workflows(path, SCHEMAS)


def test_chains_are_chosen_by_id_and_number() -> None:
    chains = [Chain(f"workflow_{n}", ()) for n in range(4)]
    ids = [chain.id for chain in select(chains, ["3", "workflow_1"])]
    assert ids == ["workflow_1", "workflow_3"]
    assert [chain.id for chain in select(chains, ["all"], ["0", "workflow_2"])] == ["workflow_1", "workflow_3"]
    with pytest.raises(DataError, match="no such workflow") as caught:
        select(chains, ["workflow_11"])
    assert "workflow_1" in str(caught.value)


@given(st.lists(st.sampled_from(sorted(SCHEMAS)), min_size=1, max_size=6))
def test_any_order_of_tools_is_completed_to_a_valid_chain(names: list[str]) -> None:
    for number, step in enumerate(complete([ChainStep(name) for name in names], SCHEMAS)):
        assert all(link.step < number for link in step.links)
        assert len({link.argument for link in step.links}) == len(step.links)
