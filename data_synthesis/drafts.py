"""Templates out of what others have: workflows and conversations → patterns in our own format.

    reference's workflow_templates.json   one example of arguments each, edges linked by equal values
    ComplexFuncBench conversations        calls by turns, with their answers

Steps, edges and shared values are facts of the source; names, sentences and everything else are made here. Values that
were equal in the example become one variable: one place, one range of dates, one party.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import orjson
import yaml

from data_synthesis.paths import generic, leaves
from data_synthesis.ports import Called, EdgeCount, Link, count, gives, link
from environment.core.calls import JsonValue
from environment.core.canonical import fold_text
from environment.core.errors import DataError, nearest_name
from environment.core.schema import ToolSchema

_NAMED: Mapping[str, str] = {
    "query": "city", "arrival_date": "check_in", "min_date": "check_in", "departure_date": "check_out",
    "max_date": "check_out", "departDate": "depart", "returnDate": "return", "date": "visit_day",
    "children_age": "children", "room_qty": "rooms", "cabinClass": "cabin", "sort": "flight_sort",
    "sort_by": "hotel_sort", "sortBy": "attraction_sort", "legs[].date": "depart",
    "pick_up_latitude": "latitude", "pick_up_longitude": "longitude",
}  # fmt: skip
_SPOTS: Mapping[str, str] = {
    "airport": "airport", "hotel": "hotel", "inn": "hotel", "resort": "hotel", "station": "station",
}  # fmt: skip
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_LISTS = "hotels|result|flightOffers|search_results|products|closest_landmarks|popular_landmarks"
_ITEM = re.compile(rf"({_LISTS})\[(\d)\]")
"""An item of a list of hits, which a user would pick; the first hit of a look-up is no pick."""


@dataclass(frozen=True)
class Draft:
    """A workflow as our format holds it."""

    name: str
    calls: tuple[Called, ...]
    links: tuple[Mapping[str, Link], ...]
    edges: EdgeCount
    times: int = 1
    """How often it was seen."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools in order."""
        return tuple(call.tool for call in self.calls)


def read_workflows(path: Path, schemas: Mapping[str, ToolSchema]) -> list[Draft]:
    """Return the workflows of a file in the reference's layout; DataError names file, workflow and step."""
    rows = _object(_json(path.read_bytes() if path.is_file() else b"", path), str(path)).get("workflows")
    if not isinstance(rows, list) or not rows:
        raise DataError("no workflows", where=str(path), expected='{"workflows": [{"id", "dependencies"}, ...]}')
    drafts: list[Draft] = []
    for number, row in enumerate(cast("list[object]", rows)):
        held = _object(row, f"{path} workflow number {number}")
        where = f"{path} {held.get('id', number)}"
        steps = _object(held.get("dependencies"), where)
        keys = sorted(steps, key=int)
        calls = tuple(_called(_object(steps[key], where), f"{where} step {key}", schemas) for key in keys)
        drafts.append(_draft(str(held.get("id", number)), calls, schemas, int(held.get("frequency", 1))))
    return drafts


def read_conversations(path: Path, schemas: Mapping[str, ToolSchema]) -> list[Draft]:
    """Return the distinct workflows of a file of ComplexFuncBench conversations, the most frequent first.

    Calls of one turn stay on one level. Two conversations are one workflow where tools, edges and levels are equal.
    """
    found: dict[object, Draft] = {}
    times: Counter[object] = Counter()
    edges: dict[object, EdgeCount] = {}
    if not path.is_file():
        raise DataError("no such file", where=str(path))
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        row = _object(_json(line, where), where)
        draft = _draft(str(row.get("id", number)), _claims(_turns(row, where, schemas)), schemas)
        if draft.calls:
            shape = _shape(draft)
            found.setdefault(shape, draft)
            times[shape] += 1
            edges[shape] = edges.get(shape, EdgeCount()) + draft.edges
    if not found:
        raise DataError("no conversation with calls", where=str(path), expected="lines with `conversations`")
    ranked = sorted(found, key=lambda shape: -times[shape])
    return [replace(found[shape], edges=edges[shape], times=times[shape]) for shape in ranked]


def as_yaml(drafts: Sequence[Draft], schemas: Mapping[str, ToolSchema]) -> str:
    """Return the drafts as a template file of our own format."""
    rows = [_row(draft, schemas) for draft in drafts]
    return yaml.safe_dump({"patterns": rows}, sort_keys=False, width=118, default_flow_style=None)


def _shape(draft: Draft) -> object:
    """Return what makes two drafts one workflow: tools, edges and levels."""
    edges = [sorted((a, found.producer, generic(found.field)) for a, found in links.items()) for links in draft.links]
    levels = list(dict.fromkeys(call.level for call in draft.calls))
    return draft.tools, str(edges), tuple(levels.index(call.level) for call in draft.calls)


def _draft(name: str, calls: tuple[Called, ...], schemas: Mapping[str, ToolSchema], times: int = 1) -> Draft:
    links = link(calls, schemas)
    return Draft(name, calls, tuple(links), count(calls, links), times)


def _called(row: Mapping[str, Any], where: str, schemas: Mapping[str, ToolSchema]) -> Called:
    tool = str(row.get("function"))
    _check_tool(tool, where, schemas)
    claimed = {
        str(argument): Link(int(edge["from_step"]), _under_data(str(edge["from_field"])))
        for argument, edge in _object(row.get("dependency_args") or {}, where).items()
    }
    return Called(tool, _object(row.get("arguments") or {}, where), claimed)


def _check_tool(tool: str, where: str, schemas: Mapping[str, ToolSchema]) -> None:
    if tool not in schemas:
        raise DataError(f"unknown tool {tool!r}", where=where, nearest=nearest_name(tool, schemas))


def _under_data(field: str) -> str:
    return f"data{field}" if field.startswith("[") else f"data.{field}"


def _turns(row: Mapping[str, Any], where: str, schemas: Mapping[str, ToolSchema]) -> Iterator[Called]:
    """Yield the calls of a conversation with their answers, in the order they were made."""
    waiting: list[Any] = []
    turns = row.get("conversations")
    if not isinstance(turns, list):
        raise DataError("no conversation", where=where, expected="`conversations`, a list of turns")
    for level, turn in enumerate(cast("list[object]", turns)):
        said = _object(turn, where)
        if said.get("role") == "assistant":
            waiting = list(said.get("function_call") or [])
        elif said.get("role") == "observation":
            seen = cast("list[Any]", said.get("content") or [])
            for call, answer in zip(waiting, seen, strict=False):
                held = _object(call, where)
                _check_tool(str(held.get("name")), f"{where} turn {level}", schemas)
                yield Called(str(held["name"]), _object(held.get("arguments") or {}, where), answer=answer, level=level)
            waiting = []


def _claims(calls: Iterator[Called]) -> tuple[Called, ...]:
    """Return the calls with the edges that equal values suggest: the first earlier field that holds the value."""
    done: list[Called] = []
    for call in calls:
        claimed: dict[str, Link] = {}
        for path, value in call.given().items():
            for number, before in enumerate(done):
                equal = (p for p, found in leaves(before.answer) if type(found) is type(value) and found == value)
                field = next(equal, None)
                if field is not None:
                    claimed[path] = Link(number, field)
                    break
        done.append(Called(call.tool, call.arguments, claimed, call.answer, call.level))
    return tuple(done)


def _row(draft: Draft, schemas: Mapping[str, ToolSchema]) -> dict[str, Any]:
    names = _Names()
    picks: dict[str, list[str]] = {}
    steps: list[dict[str, Any]] = []
    for number, (call, links) in enumerate(zip(draft.calls, draft.links, strict=True)):
        give = {
            path: _linked(links[path], picks) if path in links else names.of(path, value, call.tool, schemas)
            for path, value in call.given().items()
        }
        steps.append({"name": f"s{number}", "tool": call.tool, "give": give})
        for path, found in links.items():
            _also(steps[found.producer], found, schemas[call.tool].takes[generic(path)], schemas)
    groups = {schemas[call.tool].group for call in draft.calls}
    row: dict[str, Any] = {"id": draft.name, "domain": groups.pop() if len(groups) == 1 else "cross", "steps": steps}
    return {**row, "picks": picks} if picks else row


def _also(producer: dict[str, Any], found: Link, port: str, schemas: Mapping[str, ToolSchema]) -> None:
    """Say of a step what its field passes for, where the schema says something else: a destination that is a hotel."""
    if gives(schemas[producer["tool"]], found.field) != port:
        producer.setdefault("gives", {})[generic(found.field)] = port


def _linked(found: Link, picks: dict[str, list[str]]) -> str:
    """Return a source; an item of a list of hits becomes a pick."""
    match = _ITEM.search(found.field)
    if match is None or int(match[2]) >= len(_ORDINALS):
        return f"s{found.producer}.{found.field}"
    number = int(match[2])
    pick = f"pick_{found.producer}_{number + 1}"
    picks.setdefault(pick, [_ORDINALS[number]])
    return f"s{found.producer}.{found.field.replace(match[0], f'{match[1]}[@{pick}]')}"


class _Names:
    """Variables of one workflow: equal values of one kind are one variable."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._used: Counter[str] = Counter()

    def of(self, path: str, value: JsonValue, tool: str, schemas: Mapping[str, ToolSchema]) -> str:
        """Return `$variable`, with a question mark where the tool can do without the argument."""
        shape = generic(path)
        name = _NAMED.get(shape, shape.split(".")[-1])
        if shape == "query":
            name = next((spot for word, spot in _SPOTS.items() if word in fold_text(str(value)).split()), name)
        kind = "date" if schemas[tool].takes.get(shape) == "date" else name
        key = (kind, fold_text(str(value)))
        if key not in self._known:
            self._used[name] += 1
            self._known[key] = name if self._used[name] == 1 else f"{name}_{self._used[name]}"
        needed = shape.split("[")[0].split(".")[0] in schemas[tool].required
        return f"${self._known[key]}" + ("" if needed else "?")


def _json(data: bytes, where: object) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        what = "no JSON" if data else "no such file, or an empty one"
        raise DataError(what, where=str(where), got=str(error)) from error


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError("not an object", where=where, got=type(value).__name__)
    return cast("dict[str, Any]", value)
