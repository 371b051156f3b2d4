"""Hypothesis strategies: any JSON, and calls of the BookingAPI tools from plausible to absurd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from environment.booking.schemas import load_schemas
from environment.core.schema import ToolSchema

SCHEMAS = load_schemas()

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
names = st.text(max_size=5)
json_values = st.recursive(
    scalars, lambda one: st.lists(one, max_size=3) | st.dictionaries(names, one, max_size=3), max_leaves=8
)
dates = st.dates().map(lambda d: d.isoformat())
times = st.times().map(lambda t: f"{t.hour:02d}:{t.minute:02d}")
ages = st.lists(st.integers(0, 17), min_size=1, max_size=4).map(lambda a: ",".join(map(str, a)))
tools = st.sampled_from(sorted(SCHEMAS)).map(SCHEMAS.__getitem__)


def plausible(parameter: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that fit a parameter, in the loose forms models write."""
    shape = parameter.get("x-format") or parameter.get("format")
    if "enum" in parameter:
        members = st.sampled_from(parameter["enum"])
        return members | members.map(str.lower) | members.map(lambda m: m.replace("_", " "))
    if shape in ("date", "time", "ages"):
        return {"date": dates, "time": times, "ages": ages}[shape]
    match parameter["type"]:
        case "integer":
            return st.integers(1, 9) | st.integers(1, 9).map(str) | st.integers(1, 9).map(float)
        case "number":
            whole = st.integers(int(parameter.get("minimum", 0)), int(parameter.get("maximum", 900)))
            return whole | whole.map(lambda n: f" {n}.0 ") | whole.map(float)
        case "array":
            return st.lists(_object(parameter["items"]), min_size=1, max_size=3)
        case _:
            return st.integers(0, 10**9) | st.text(min_size=1, max_size=9).filter(str.strip)


def _object(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    fitting = {name: plausible(p) for name, p in schema["properties"].items()}
    required = {name: s for name, s in fitting.items() if name in schema["required"]}
    optional = {name: s for name, s in fitting.items() if name not in schema["required"]}
    return st.fixed_dictionaries(required, optional=optional)


def arguments_of(schema: ToolSchema) -> st.SearchStrategy[dict[str, Any]]:
    """Calls of one tool in which every value fits its parameter."""
    return _object(schema.parameters)


@st.composite
def good_calls(draw: st.DrawFn) -> tuple[ToolSchema, dict[str, Any]]:
    """A tool and arguments that fit it (dates may stand in the wrong order)."""
    schema = draw(tools)
    return schema, draw(arguments_of(schema))


@st.composite
def any_calls(draw: st.DrawFn) -> tuple[ToolSchema, dict[str, Any]]:
    """A tool and arguments of which any may be missing, unknown or of any type."""
    schema = draw(tools)
    good = draw(arguments_of(schema))
    some = st.sampled_from([*schema.properties, "city", ""])
    return schema, good | draw(st.dictionaries(some, json_values, max_size=4))
