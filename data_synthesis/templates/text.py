"""A template file as it is written: its fields, and what is wrong with one that is none."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from data_synthesis.templates.model import Kind, Rule
from environment.core.errors import DataError, nearest_name

Name = Annotated[str, Field(pattern=r"^\w[\w-]*$")]
"""Of a pattern or a step."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ToolText(_Strict):
    """What holds for every step of a tool; a step of its own may say otherwise."""

    want: str = ""
    noun: str = ""
    silent: bool = False
    near: str = "at"
    of: str = ""
    link: str = "of"
    which: str = ""
    means: dict[str, str] = {}
    ranks: dict[Rule, str] = {}
    answer: list[str] = []
    where: dict[Kind, dict[str, str]] = {}
    """Kind of the variable an argument takes → what the response must hold then."""


class StepText(_Strict):
    """A step that patterns share by its name."""

    tool: str
    give: dict[str, str]
    ranks: dict[Rule, str] = {}
    where: dict[str, str] = {}
    gives: dict[str, str] = {}
    answer: list[str] = []


class OwnStepText(StepText):
    """A step of one pattern."""

    name: Name
    want: str = ""


class Use(_Strict):
    """A shared step a second time, under other variables."""

    use: str
    name: Name
    bind: dict[str, str] = {}


class PatternText(_Strict):
    """One pattern."""

    id: Name
    domain: str
    steps: list[str | Use | OwnStepText] = Field(min_length=1)
    say: list[str] = []
    picks: dict[str, list[Rule] | Literal["named"]] = {}
    phrases: dict[str, str] = {}
    answer: list[str] = []
    weight: float = 1.0
    together: list[list[str]] = []
    after: dict[str, str] = {}


class File(_Strict):
    """One file; kinds, tools, phrases and steps are shared between the files that are loaded together."""

    kinds: dict[str, Kind] = {}
    tools: dict[str, ToolText] = {}
    phrases: dict[str, str] = {}
    steps: dict[str, StepText] = {}
    patterns: list[PatternText] = []


def read_file(path: Path) -> File:
    """Return a template file; DataError names the place in it, what stands there and the nearest valid name."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the template can't be read ({error})", where=str(path)) from error
    try:
        found = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise DataError(f"the file is no valid template: no YAML ({error})", where=str(path)) from error
    if not isinstance(found, dict):
        raise DataError("the file is no valid template", where=str(path), got=type(found).__name__, expected="a table")
    try:
        return File.model_validate(found)
    except ValidationError as error:
        raise _explained(error, path, found) from error


def _explained(error: ValidationError, path: Path, found: object) -> DataError:
    """Return the first thing wrong, with the id of its pattern and, for an unknown field, the nearest known one."""
    first = max(error.errors(), key=lambda e: e["type"] == "extra_forbidden")
    place = [part for part in first["loc"] if not (isinstance(part, str) and part in _UNION_MARKS)]
    near = None
    if first["type"] == "extra_forbidden":
        near = nearest_name(str(place[-1]), _FIELDS)
    elif first["type"] == "enum":
        near = nearest_name(str(first.get("input")), [str(word) for word in (*Rule, *Kind)])
    return DataError(
        f"the file is no valid template: {'.'.join(map(str, place))}: {first['msg'].lower()}",
        where=f"{path}{_pattern_at(found, place)}",
        got=first.get("input"),
        nearest=near,
    )


def _pattern_at(found: object, place: list[int | str]) -> str:
    if not isinstance(found, Mapping) or len(place) < 2 or place[0] != "patterns" or not isinstance(place[1], int):
        return ""
    patterns: object = found.get("patterns")
    row: object = patterns[place[1]] if isinstance(patterns, list) and place[1] < len(patterns) else None
    return f" pattern {row['id']}" if isinstance(row, Mapping) and "id" in row else ""


def _fields(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    return model.model_fields


_UNION_MARKS = frozenset({"str", "Use", "OwnStepText", "list[str-enum[Rule]]", "literal['named']"})
_FIELDS = sorted({name for model in (File, PatternText, OwnStepText, Use, ToolText) for name in _fields(model)})
