"""Reading tool schemas: our own file, or one in the reference's layout.

Ours is a JSON array with real JSON Schema, ports and defaults. The reference's is JSON Lines with BFCL's type names
(`dict`, `float`, `tuple`) and everything else in prose; it is read as it stands, so it carries no ports or defaults.
Its `response` is one and the same wrapper for all tools, which a quarter of its own recordings do not have, so it is
no shape to judge answers by and is left out.
"""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environment.core.errors import DataError
from environment.core.schema import ToolSchema

OWN_FILE = Path(__file__).parents[1] / "booking_api.json"
"""The 40 tools of BookingAPI."""

_TYPES = {"dict": "object", "float": "number", "tuple": "array", "list": "array", "bool": "boolean", "str": "string"}


class _Row(BaseModel):
    """One tool as a schema file holds it."""

    model_config = ConfigDict(extra="ignore")
    name: str = Field(min_length=1)
    description: str = ""
    parameters: dict[str, Any]
    group: str = ""
    takes: dict[str, str] = Field(default_factory=dict)
    gives: dict[str, str] = Field(default_factory=dict)
    response: dict[str, Any] = Field(default_factory=dict)


def load_schemas(path: Path | None = None) -> dict[str, ToolSchema]:
    """Return tool name → schema in file order, from our own file or from `path` (JSON array or JSON Lines)."""
    source = path or OWN_FILE
    schemas: dict[str, ToolSchema] = {}
    for number, row in enumerate(_rows(source), 1):
        schema = schema_of(row, f"{source.name} tool {number}")
        if schema.name in schemas:
            raise DataError("tool defined twice", where=f"{source.name} tool {number}", got=schema.name)
        schemas[schema.name] = schema
    return schemas


def _rows(source: Path) -> list[Any]:
    try:
        text = source.read_bytes()
        array = orjson.loads(text) if text.lstrip().startswith(b"[") else None
        rows = array if array is not None else [orjson.loads(line) for line in text.splitlines() if line.strip()]
    except OSError as error:
        what = f"no schema file can be read ({error.strerror})"
        raise DataError(what, where=str(source), fix="give the path of a schema file") from error
    except orjson.JSONDecodeError as error:
        raise DataError(f"not JSON: {error}", where=str(source), expected="a JSON array or JSON Lines") from error
    if not rows:
        raise DataError("no tools in the schema file", where=str(source))
    return cast("list[Any]", rows)


def schema_of(row: object, where: str) -> ToolSchema:
    """Return one tool as a schema file or a benchmark entry holds it; DataError says what is wrong, and `where`."""
    try:
        read = _Row.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(f"{place}: {first['msg']}", where=where, got=first.get("input")) from error
    parameters = cast("Mapping[str, Any]", _json_schema(read.parameters))
    response = {} if read.parameters.get("type") == "dict" else read.response
    return ToolSchema(read.name, read.description, parameters, read.group, read.takes, read.gives, response)


def _json_schema(schema: object) -> Any:
    """Return the schema with BFCL's type names turned into those of JSON Schema, at every level."""
    if isinstance(schema, list):
        return [_json_schema(item) for item in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    out = {name: _json_schema(value) for name, value in cast("dict[str, object]", schema).items()}
    kind = out.get("type")
    if isinstance(kind, str):
        out["type"] = _TYPES.get(kind, kind)
    return out
