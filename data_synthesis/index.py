"""The recorded world, indexed for search: tool → entries, argument value → entries."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol

from data_synthesis.joins import parameter_schema
from data_synthesis.paths import get, leaves
from data_synthesis.templates.model import FromUser, Step
from environment.core.calls import JsonValue
from environment.core.canonical import canonical_arguments, canonical_value, fold_text, json_key
from environment.core.schema import ToolSchema
from environment.session.observation import ObservationCut, kept_keys

View = Callable[[ToolSchema, JsonValue], JsonValue]
"""What the model sees of a tool's answer; `seen_through` makes one of an `ObservationCut`."""


class Recorded(Protocol):
    """A world whose recorded calls can be listed, such as `CachedWorld`."""

    @property
    def schemas(self) -> Mapping[str, ToolSchema]:
        """The tools of this world by name."""
        ...

    def entries(self, tool: str) -> Iterator[tuple[dict[str, JsonValue], JsonValue]]:
        """Yield (arguments, value) of every recorded call of the tool."""
        ...


folded = lru_cache(maxsize=65536)(fold_text)
"""`fold_text`, remembered: names recur."""
Key = str | int | float
"""A canonical value in a form that can be looked up: itself where it is a scalar, else its JSON text."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One recorded call that answered with something."""

    arguments: Mapping[str, JsonValue]
    keys: Mapping[str, Key]
    """Path → key of its value; equal keys mean equal values."""
    value: JsonValue
    schema: ToolSchema
    view: View

    @cached_property
    def given(self) -> Mapping[str, JsonValue]:
        """Path → value of every single value in the arguments; these themselves where none is a list or object."""
        nested = any(isinstance(value, list | dict) for value in self.arguments.values())
        return dict(leaves(dict(self.arguments))) if nested else self.arguments

    @cached_property
    def seen(self) -> JsonValue:
        """What the model sees of the value."""
        return self.view(self.schema, self.value)

    @cached_property
    def _fields(self) -> dict[str, JsonValue]:
        return {}

    def field(self, path: str) -> JsonValue:
        """Return what the model sees at a path, MISSING where it sees nothing; remembered, for searches ask again."""
        if path not in self._fields:
            self._fields[path] = get(self.seen, path)
        return self._fields[path]

    @cached_property
    def picks(self) -> dict[tuple[object, ...], int | None]:
        """What was picked from it before; `picks.picked` keeps it."""
        return {}


def seen_through(cut: ObservationCut) -> View:
    """Return the view of a model whose observations are cut by `cut`."""
    return lambda schema, value: cut(value, kept_keys(schema)).seen


class Entries:
    """Entries of one tool, found by the values of any set of arguments; each set is indexed when first asked for."""

    def __init__(self, schema: ToolSchema, entries: Iterable[Entry]) -> None:
        self.schema = schema
        self.all = tuple(entries)
        self._keys: dict[tuple[str, type, Key], Key] = {}
        self._by_names: dict[tuple[str, ...], dict[tuple[Key | None, ...], list[Entry]]] = {}

    def key(self, argument: str, value: JsonValue) -> Key:
        """Return the key under which a value of an argument is found."""
        if not isinstance(value, str | int | float):
            return as_key(canonical_value(parameter_schema(self.schema, argument), value))
        question = (argument, type(value), value)
        if question not in self._keys:
            self._keys[question] = as_key(canonical_value(parameter_schema(self.schema, argument), value))
        return self._keys[question]

    def matching(self, fixed: Mapping[str, Key]) -> Sequence[Entry]:
        """Return the entries whose arguments have these keys, in recorded order; not to be altered."""
        if not fixed:
            return self.all
        names = tuple(sorted(fixed))
        if names not in self._by_names:
            index: dict[tuple[Key | None, ...], list[Entry]] = {}
            for entry in self.all:
                index.setdefault(tuple([entry.keys.get(name) for name in names]), []).append(entry)
            self._by_names[names] = index
        return self._by_names[names].get(tuple(fixed[name] for name in names), ())


class WorldIndex:
    """All tools of a world, each read when first asked for."""

    def __init__(self, world: Recorded, view: View) -> None:
        self._world = world
        self._view = view
        self._tools: dict[str, Entries] = {}
        self._steps: dict[str, Entries] = {}
        self._keys: dict[tuple[str, str, type, str | int | float], Key | None] = {}

    @property
    def schemas(self) -> Mapping[str, ToolSchema]:
        """The tools of the world by name."""
        return self._world.schemas

    @property
    def world(self) -> Recorded:
        """The world behind it."""
        return self._world

    def tool(self, name: str) -> Entries:
        """Return all entries of one tool; KeyError for an unknown one."""
        if name not in self._tools:
            schema = self._world.schemas[name]
            recorded = self._world.entries(name)
            self._tools[name] = Entries(schema, [self._entry(schema, a, v) for a, v in recorded if answers(v)])
        return self._tools[name]

    def step(self, step: Step) -> Entries:
        """Return the entries a step can use."""
        if step.calls not in self._steps:
            usable_ones = (e for e in self.tool(step.tool).all if usable(step, e))
            self._steps[step.calls] = Entries(self._world.schemas[step.tool], usable_ones)
        return self._steps[step.calls]

    def _entry(self, schema: ToolSchema, arguments: Mapping[str, JsonValue], value: JsonValue) -> Entry:
        keys = {name: key for name, v in arguments.items() if (key := self._key(schema, name, v)) is not None}
        entry = Entry({name: arguments[name] for name in keys}, keys, value, schema, self._view)
        if entry.given is entry.arguments:
            return entry
        keys = {path: as_key(canonical_value(parameter_schema(schema, path), v)) for path, v in entry.given.items()}
        return replace(entry, keys=keys)

    def _key(self, schema: ToolSchema, name: str, value: JsonValue) -> Key | None:
        """Return the key of an argument, None where the call need not say it; remembered, for values recur."""
        if not isinstance(value, str | int | float):
            return _told(schema, name, value)
        question = (schema.name, name, type(value), value)
        if question not in self._keys:
            self._keys[question] = _told(schema, name, value)
        return self._keys[question]


def _told(schema: ToolSchema, name: str, value: JsonValue) -> Key | None:
    telling = canonical_arguments(schema, {name: value})
    return as_key(telling[name]) if name in telling else None


def as_key(canonical: JsonValue) -> Key:
    """Return the key of a canonical value."""
    return canonical if isinstance(canonical, str | int | float) else json_key(canonical)


def usable(step: Step, entry: Entry) -> bool:
    """Return whether an entry gives only arguments the step gives, and answers as its `where` wants.

    `$name` is met by a response that holds the start of what the user calls it: `Oslo` for `Oslo, Norway`; `!$name` by
    any other.
    """
    if any(argument not in step.give for argument in entry.given):
        return False
    if not step.where:
        return True
    said = {s.variable: str(entry.given.get(a, "")) for a, s in step.give.items() if isinstance(s, FromUser)}
    return all(_holds(get(entry.value, path), wanted, said) for path, wanted in step.where.items())


def _holds(found: JsonValue, wanted: str, said: Mapping[str, str]) -> bool:
    if wanted.startswith("!"):
        return not _holds(found, wanted[1:], said)
    text = fold_text(str(found))
    if not wanted.startswith("$"):
        return text == fold_text(wanted)
    name = fold_text(said.get(wanted[1:], ""))
    return name == text or name.startswith(f"{text},")


def answers(value: JsonValue) -> bool:
    """Return whether a recorded value says anything: not empty, not an error, `status` not false, `data` not empty."""
    if isinstance(value, dict):
        return not value.get("error") and value.get("status", True) is not False and bool(value.get("data", value))
    return bool(value)
