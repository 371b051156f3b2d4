from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from environment.booking.schemas import load_schemas
from environment.core.errors import DataError
from environment.core.validate import check_arguments

SHARED = Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).parents[4] / "shared")) / "data"
GROUPS = {"hotel": 17, "car": 8, "flight": 7, "attraction": 5, "taxi": 2, "meta": 1}


def shared(name: str) -> Path:
    if not (SHARED / name).exists():
        pytest.skip(f"{name}: reference data not there")
    return SHARED / name


def test_the_forty_tools_by_group() -> None:
    schemas = load_schemas()
    assert {g: sum(s.group == g for s in schemas.values()) for g in GROUPS} == GROUPS
    assert len(schemas) == 40


def test_descriptions_are_short_and_parameters_typed() -> None:
    for schema in load_schemas().values():
        assert 0 < len(schema.description.split()) <= 12
        assert set(schema.required) <= set(schema.properties)
        assert all("type" in parameter for parameter in schema.properties.values())


def test_every_kind_of_value_taken_is_given_by_some_tool_or_by_the_user() -> None:
    schemas = load_schemas().values()
    given = {port for schema in schemas for port in schema.gives.values()}
    taken = {port for schema in schemas for port in schema.takes.values()}
    assert taken <= given
    for schema in schemas:
        assert {path.split("[")[0] for path in schema.takes} <= set(schema.properties)


def test_every_id_a_tool_wants_has_a_port() -> None:
    for schema in load_schemas().values():
        for name, parameter in schema.properties.items():
            if name.lower().endswith(("id", "slug", "token", "key")) and "enum" not in parameter:
                assert name in schema.takes, (schema.name, name)


def test_names_and_arguments_are_those_of_the_reference() -> None:
    theirs, ours = load_schemas(shared("booking_api.json")), load_schemas()
    assert set(theirs) == set(ours)
    for name, schema in theirs.items():
        assert set(schema.properties) == set(ours[name].properties)
        assert set(schema.required) == set(ours[name].required)
        assert schema.parameters["type"] == "object"
    legs = theirs["Search_Flights_Multi_Stops"].properties["legs"]
    assert legs["items"]["type"] == "object"


@pytest.mark.parametrize("name", ["bfcl_training_3_per_workflow.jsonl", "eval_100.jsonl"])
def test_every_call_of_the_reference_is_valid(name: str) -> None:
    schemas = load_schemas()
    with shared(name).open() as lines:
        calls = [step["ground_truth"] for line in lines for step in json.loads(line)["steps"]]
    assert len(calls) > 400
    assert [c for c in calls if check_arguments(schemas[c["function"]], c["arguments"])] == []


def test_both_layouts_of_a_file_are_read(tmp_path: Path) -> None:
    row = {"name": "T", "description": "d", "parameters": {"type": "dict", "properties": {"a": {"type": "float"}}}}
    for text in (json.dumps(row) + "\n\n", json.dumps([row])):
        (tmp_path / "f.json").write_text(text)
        (schema,) = load_schemas(tmp_path / "f.json").values()
        assert (schema.parameters["type"], schema.properties["a"]["type"]) == ("object", "number")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "no tools"),
        ("", "no tools"),
        ("{", "not JSON"),
        ('{"name": "T"}', "parameters: Field required"),
        ('{"name": "", "parameters": {}}', "name:"),
        ('[{"name": "T", "parameters": {}}, {"name": "T", "parameters": {}}]', "defined twice"),
        ("[1]", "tool 1"),
    ],
)
def test_a_bad_file_is_named_with_its_fault(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(DataError, match=said) as caught:
        load_schemas(path)
    assert "bad.json" in str(caught.value)


@pytest.mark.parametrize("path", ["nowhere.json", "."])
def test_what_is_no_file_is_named(path: str) -> None:
    with pytest.raises(DataError, match="no schema file can be read"):
        load_schemas(Path(path))
