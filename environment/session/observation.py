"""The text a model sees of a tool's answer: cut by structure, never by character, always valid JSON.

A value that fits its budget is shown whole. Otherwise, until it fits and no further than needed:

    1. lists lose items from the end, every list held to the same length; `{"omitted": 3}` stands for the lost ones
    2. long strings are clipped
    3. fields go, the deepest first and of these the last first; `"omitted_fields": 5` says how many
    4. whatever is left goes from the end

Ids, tokens, slugs, types and names are never clipped and outlive steps 1 to 3: later calls need them.
Counting tokens costs more than all else here, so the number of counts is kept near four a value: a guess by
characters per token comes first, and only its neighbourhood is counted.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from environment.core.calls import JsonValue
from environment.core.schema import ToolSchema
from environment.session.json_text import Path, compact, is_list, is_object, plain, scalars

TokenCounter = Callable[[str], int]
"""Number of tokens of a text, without special tokens."""

CHARS_PER_TOKEN = 4
"""Stands in for a tokenizer where none is given."""
HOPELESS_CHARS_PER_TOKEN = 12
"""A text longer than this for every token of its budget is not even counted."""
CLIP_CHARS = (400, 240, 160, 120, 80, 60, 40, 24, 16)
"""Lengths to which strings are clipped, one after the other."""
KEEP = re.compile(r"(?:^|_)(?:ids?|token|slug|type|name|code|error)$|(?:[a-z](?:Id|Token|Slug|Type|Name|Code))$")
"""Keys whose values later calls are likely to need."""


class LeftOut(int):
    """How much was left out at a place of a cut value; not a value of the world."""


class Clipped(str):
    """A string whose end was cut off; not a value of the world."""

    __slots__ = ()


@dataclass(frozen=True)
class Observation:
    """What the model sees of a value."""

    text: str
    seen: JsonValue
    """The value behind `text`; `LeftOut` and `Clipped` mark what is not the world's."""
    tokens: int
    """Length of `text` in tokens; an estimate where no tokenizer was given."""


@dataclass(frozen=True)
class ObservationCut:
    """Cuts values to a budget of tokens, of characters, or both; None sets no bound."""

    limit_tokens: int | None = None
    limit_chars: int | None = None
    count: TokenCounter | None = None

    def __call__(self, value: JsonValue, keep: Collection[str] = ()) -> Observation:
        """Return the observation of a value.

        Args:
            value: any JSON value.
            keep: further keys to spare; `kept_keys` reads them off a tool.
        """
        budget = _Budget(self.limit_tokens, self.limit_chars, self.count)
        text = compact(value)
        if budget.fits(text):
            return Observation(text, value, budget.last)
        for phase in _phases(plain(value), frozenset(keep)):
            found = _least_cut(phase, budget)
            if found is not None:
                return found
        return _nothing(budget)


def render_observation(
    value: JsonValue,
    *,
    limit_tokens: int | None = None,
    limit_chars: int | None = None,
    count: TokenCounter | None = None,
    keep: Collection[str] = (),
) -> str:
    """Return the text of a value under a budget; see `ObservationCut`."""
    return ObservationCut(limit_tokens, limit_chars, count)(value, keep).text


def kept_keys(schema: ToolSchema) -> frozenset[str]:
    """Return the keys of a tool's answers that other tools take: the ends of its `gives` paths."""
    return frozenset(path.rsplit(".", 1)[-1].replace("[]", "") for path in schema.gives)


@dataclass(frozen=True)
class _Phase:
    """A family of cuts: level 1 cuts least, level `levels` most."""

    levels: int
    build: Callable[[int], JsonValue]


class _Budget:
    """Judges texts; learns characters per token from each count."""

    def __init__(self, limit_tokens: int | None, limit_chars: int | None, count: TokenCounter | None) -> None:
        self._tokens = limit_tokens
        self._chars = limit_chars
        self._count = count
        self._ratio = float(CHARS_PER_TOKEN)
        self.last = 0
        """Tokens of the text judged last."""

    def fits(self, text: str) -> bool:
        """Return whether the text is within the budget, counting its tokens if need be."""
        if self._chars is not None and len(text) > self._chars:
            return False
        if self._tokens is not None and len(text) > self._tokens * HOPELESS_CHARS_PER_TOKEN:
            return False
        self.last = -(-len(text) // CHARS_PER_TOKEN) if self._count is None else self._count(text)
        self._ratio = len(text) / max(self.last, 1)
        return self._tokens is None or self.last <= self._tokens

    def seems_to_fit(self, text: str) -> bool:
        """Guess what `fits` would say, without counting."""
        if self._chars is not None and len(text) > self._chars:
            return False
        return self._tokens is None or len(text) <= self._tokens * self._ratio


def _phases(value: JsonValue, keep: frozenset[str]) -> Iterator[_Phase]:
    longest = _longest_list(value)
    yield _Phase(longest - 1, lambda level: _cap(value, longest - level))
    single = _cap(value, 1)
    yield _Phase(len(CLIP_CHARS), lambda level: _clip(single, CLIP_CHARS[level - 1], keep))
    clipped = _clip(single, CLIP_CHARS[-1], keep)
    optional = _optional_fields(clipped, keep)
    yield _Phase(len(optional), lambda level: _without(clipped, optional[:level]))
    bare = _drop(clipped, frozenset(optional))
    rest = [path for path, _ in scalars(bare)][::-1]
    yield _Phase(len(rest), lambda level: _without(bare, rest[:level], before=len(optional)))


def _least_cut(phase: _Phase, budget: _Budget) -> Observation | None:
    """Return the observation at the lowest level that fits, None where the highest does not.

    Gallops outwards from the guess and bisects once the border is bracketed; the level returned was counted.
    """
    low, high, step = 0, phase.levels + 1, 1
    best: Observation | None = None
    probe = min(_guess(phase, budget), phase.levels)
    while low + 1 < high:
        seen = phase.build(probe)
        text = compact(seen)
        if budget.fits(text):
            high, best, towards = probe, Observation(text, seen, budget.last), probe - step
        else:
            low, towards = probe, probe + step
        bracketed = low > 0 and best is not None
        probe = (low + high) // 2 if bracketed else min(max(towards, low + 1), high - 1)
        step *= 2
    return best


def _guess(phase: _Phase, budget: _Budget) -> int:
    low, high = 1, phase.levels + 1
    while low < high:
        middle = (low + high) // 2
        if budget.seems_to_fit(compact(phase.build(middle))):
            high = middle
        else:
            low = middle + 1
    return low


def _nothing(budget: _Budget) -> Observation:
    seen = {"omitted": LeftOut(1)}
    text = compact(seen)
    if budget.fits(text):
        return Observation(text, seen, budget.last)
    budget.fits("{}")
    return Observation("{}", {}, budget.last)


def _longest_list(value: JsonValue) -> int:
    longest, stack = 1, [value]
    while stack:
        node = stack.pop()
        if is_list(node):
            longest = max(longest, len(node))
        if is_object(node) or is_list(node):
            stack.extend(node.values() if is_object(node) else node)
    return longest


def _cap(value: JsonValue, items: int) -> JsonValue:
    """Hold every list to `items` items."""
    if is_object(value):
        return {key: _cap(child, items) for key, child in value.items()}
    if is_list(value):
        kept = [_cap(child, items) for child in value[:items]]
        return kept if len(value) <= items else [*kept, {"omitted": LeftOut(len(value) - items)}]
    return value


def _clip(value: JsonValue, chars: int, keep: frozenset[str], key: str = "") -> JsonValue:
    """Clip every string longer than `chars` that does not stand under a key to spare."""
    if is_object(value):
        return {name: _clip(child, chars, keep, name) for name, child in value.items()}
    if is_list(value):
        return [_clip(child, chars, keep, key) for child in value]
    if isinstance(value, str) and len(value) > chars and (key == "error" or not _spared(key, keep)):
        return Clipped(value[: chars - 1] + "…")
    return value


def _spared(key: str, keep: frozenset[str]) -> bool:
    return key in keep or KEEP.search(key) is not None


def _optional_fields(value: JsonValue, keep: frozenset[str]) -> list[Path]:
    """Return the paths of the fields that may go, in the order in which they go."""
    leaves = [path for path, leaf in scalars(value) if not isinstance(leaf, LeftOut)]
    paths = [path for path in leaves if not _spared(_last_key(path), keep)]
    return sorted(reversed(paths), key=len, reverse=True)


def _last_key(path: Path) -> str:
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _without(value: JsonValue, paths: list[Path], before: int = 0) -> JsonValue:
    """Return the value without the fields at `paths`, and with the number of all fields left out."""
    left = _drop(value, frozenset(paths))
    note = {"omitted_fields": LeftOut(len(paths) + before)}
    if is_object(left):
        return {**left, **note}
    return [*left, note] if is_list(left) else note


def _drop(value: JsonValue, paths: frozenset[Path], at: Path = ()) -> JsonValue:
    """Return the value without `paths` and without the containers that this leaves empty."""
    if is_object(value):
        kept = {key: child for key, child in value.items() if (*at, key) not in paths}
        left = {key: _drop(child, paths, (*at, key)) for key, child in kept.items()}
        return {key: child for key, child in left.items() if not _emptied(kept[key], child)}
    if is_list(value):
        pairs = [(child, _drop(child, paths, (*at, i))) for i, child in enumerate(value) if (*at, i) not in paths]
        return [after for before, after in pairs if not _emptied(before, after)]
    return value


def _emptied(before: JsonValue, after: JsonValue) -> bool:
    return isinstance(after, dict | list) and not after and bool(before)
