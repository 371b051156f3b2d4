"""Records to tasks: ours come back equal, the reference's get tools and edges, bad ones are named."""
from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_synthesis.joins import Earlier, join_edges
from data_synthesis.paths import MISSING, get, leaves
from data_synthesis.tasks import record_from_task, task_from_record
from environment.booking.schemas import load_schemas
from environment.core.calls import ResultStatus, WorldAnswer
from environment.core.canonical import canonical_value
from environment.core.errors import DataError
from environment.core.schema import ToolSchema
from environment.core.task import Edge, GoldStep, Task

NAMES = st.text("abcdefgh_", min_size=1, max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)
RECORD: dict[str, Any] = {
    "query": "Hotels in Oslo from 2026-05-01 to 2026-05-03",
    "workflow_id": "workflow_7",
    "steps": [
        {
            "step": 0,
            "ground_truth": {"function": "Search_Hotel_Destination", "arguments": {"query": "Oslo"}},
            "candidate_tools": ["Search_Hotels", "Search_Hotel_Destination", "Search_Taxi"],
            "depends_on": [],
            "execution_result": {
                "execution_result": {"data": [{"dest_id": 47, "search_type": "city", "name": "Oslo"}]}
            },
        },
        {
            "step": 1,
            "ground_truth": {
                "function": "Search_Hotels",
                "arguments": {
                    "dest_id": "47",
                    "search_type": "CITY",
                    "arrival_date": "2026-05-01",
                    "departure_date": "2026-05-03",
                    "adults": 1,
                },
            },
            "candidate_tools": ["Search_Hotels", "Get_Filter"],
            "depends_on": [],
            "execution_result": {"execution_result": ""},
        },
    ],
    "overall_success": True,
}


@pytest.fixture(scope="module")
def schemas() -> Mapping[str, ToolSchema]:
    return load_schemas()


@given(JSON)
@settings(max_examples=50)
def test_every_leaf_is_found_at_its_path(value: Any) -> None:
    for path, leaf in leaves(value):
        assert get(value, path) is leaf
    assert get(value, "no.such[3].path") is MISSING


def test_union_of_candidates_in_order_and_the_cap_spares_the_chain(schemas: Mapping[str, ToolSchema]) -> None:
    task = task_from_record(RECORD, schemas)
    assert task.tools == ("Search_Hotels", "Search_Hotel_Destination", "Search_Taxi", "Get_Filter")
    assert task_from_record(RECORD, schemas, max_tools=3).tools == task.tools[:3]
    assert set(task_from_record(RECORD, schemas, max_tools=0).tools) == {"Search_Hotels", "Search_Hotel_Destination"}


def test_edges_are_joined_across_types_by_port_and_not_by_chance(schemas: Mapping[str, ToolSchema]) -> None:
    task = task_from_record(RECORD, schemas)
    assert task.steps[1].edges == (Edge("dest_id", 0, "data[0].dest_id"), Edge("search_type", 0, "data[0].search_type"))
    assert task.steps[1].depends_on == (0,)
    assert (task.domain, task.pattern) == ("hotel", "workflow_7")


def test_a_place_the_user_stated_needs_no_source(schemas: Mapping[str, ToolSchema]) -> None:
    found = Earlier(0, schemas["Search_Flight_Location"], [{"id": "OSL.AIRPORT", "name": "Oslo Airport"}])
    schema = schemas["Taxi_Search_Location"]
    arguments = {"query": "Oslo Airport"}
    assert join_edges(arguments, schema, [found]) == (Edge("query", 0, "[0].name"),)
    assert join_edges(arguments, schema, [found], query="a taxi from oslo airport, please") == ()


def test_nested_arguments_are_joined(schemas: Mapping[str, ToolSchema]) -> None:
    found = [
        Earlier(n, schemas["Search_Flight_Location"], {"data": [{"id": f"{c}.AIRPORT"}]})
        for n, c in enumerate(("OSL", "BER"))
    ]
    legs = {"legs": [{"fromId": "OSL.AIRPORT", "toId": "BER.AIRPORT", "date": "2026-05-01"}]}
    edges = join_edges(legs, schemas["Search_Flights_Multi_Stops"], found)
    assert edges == (Edge("legs[0].fromId", 0, "data[0].id"), Edge("legs[0].toId", 1, "data[0].id"))


def test_without_schemas_only_telling_values_are_joined() -> None:
    found = [
        Earlier(
            0,
            None,
            {"count": 2, "ok": True, "day": "2026-05-01", "token": "d7699_x4", "word": "standard", "big": 123456},
        )
    ]
    arguments = {
        "adults": 2,
        "flag": True,
        "date": "2026-05-01",
        "token": "d7699_x4",
        "kind": "standard",
        "number": 123456,
    }
    assert {e.argument for e in join_edges(arguments, None, found)} == {"token", "number"}


def test_the_named_producer_comes_first_else_the_latest() -> None:
    found = [Earlier(n, None, {"token": "d7699_x4"}) for n in range(3)]
    assert join_edges({"token": "d7699_x4"}, None, found)[0].producer == 2
    assert join_edges({"token": "d7699_x4"}, None, found, named=[1])[0].producer == 1


@given(st.lists(st.tuples(NAMES, JSON), min_size=1, max_size=3), st.data())
@settings(max_examples=30)
def test_our_records_come_back_equal(calls: list[tuple[str, Any]], data: st.DataObject) -> None:
    steps = tuple(
        GoldStep(name, {"x": value}, (0,) if n else (), (Edge("x", 0, "a[0].b"),) if n else ())
        for n, (name, value) in enumerate(calls)
    )
    tools = tuple(dict.fromkeys(name for name, _ in calls))
    task = Task("id-1", data.draw(st.text("abc ", min_size=1)).strip() or "q", tools, steps, "p", "d", "Done.")
    answers = [WorldAnswer(ResultStatus.OK, {"data": 1})] * len(steps)
    assert task_from_record(json.loads(json.dumps(record_from_task(task, answers, {"seed": 1})))) == task


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r: r.pop("query"), "query"),
        (lambda r: r.update(steps=[]), "steps"),
        (lambda r: r["steps"][1].pop("ground_truth"), r"steps\.1\.ground_truth"),
        (lambda r: r["steps"][0]["ground_truth"].update(arguments="x"), r"steps\.0\.ground_truth\.arguments"),
        (lambda r: r["steps"][0].update(depends_on=[1]), "not before it"),
        (lambda r: r["steps"][0].update(edges=[{"argument": "query", "producer": 0, "field": "a"}]), "not before it"),
        (lambda r: r["steps"][0]["ground_truth"].update(function="Serch_Hotels"), "'Search_Hotels'"),
    ],
)
def test_what_is_wrong_with_a_record_is_named(change: Any, told: str, schemas: Mapping[str, ToolSchema]) -> None:
    record = copy.deepcopy(RECORD)
    change(record)
    with pytest.raises(DataError, match=told) as caught:
        task_from_record(record, schemas, where="rows.pkl record 3")
    assert "rows.pkl record 3" in str(caught.value)


def test_the_reference_records_are_read_whole(reference: Path, schemas: Mapping[str, ToolSchema]) -> None:
    identities: set[str] = set()
    for name, steps in (("bfcl_training_3_per_workflow", 442), ("eval_100", 465)):
        rows = [json.loads(line) for line in (reference / f"{name}.jsonl").read_text().splitlines()]
        tasks = [task_from_record(row, schemas) for row in rows]
        identities |= {t.id for t in tasks}
        assert sum(len(t.steps) for t in tasks) == steps
        for row, task in zip(rows, tasks, strict=True):
            check_edges(row, task, schemas)
    assert len(identities) == 201


def check_edges(row: Mapping[str, Any], task: Task, schemas: Mapping[str, ToolSchema]) -> None:
    for number, step in enumerate(task.steps):
        assert set(row["steps"][number]["depends_on"]) <= set(step.depends_on)
        for edge in step.edges:
            held = get(row["steps"][edge.producer]["execution_result"]["execution_result"], edge.field)
            parameter = schemas[step.function].properties.get(edge.argument, {})
            assert canonical_value(parameter, held) == canonical_value(parameter, get(step.arguments, edge.argument))


def test_most_dependencies_the_reference_names_are_explained_by_a_value(
    reference: Path, schemas: Mapping[str, ToolSchema]
) -> None:
    rows = [json.loads(line) for line in (reference / "bfcl_training_3_per_workflow.jsonl").read_text().splitlines()]
    named = explained = 0
    for row in rows:
        for given_, step in zip(row["steps"], task_from_record(row, schemas).steps, strict=True):
            named += len(given_["depends_on"])
            explained += len(set(given_["depends_on"]) & {e.producer for e in step.edges})
    assert explained / named > 0.8
