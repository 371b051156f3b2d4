"""One argument against its accepted values: first its type, then its value.

Every function returns the leaderboard's name of the first mistake, and "" where there is none. What looks odd is the
rule and not an oversight; the recorded verdicts hold it:

* text is equal but for case, spaces and `, . / - _ * ^`, and `'` stands for `"`;
* a value of another type than the document's passes if it has the type of the first accepted value: then it counts as
  the name of a variable, and must be listed exactly;
* items are judged one level deep, and not at all as soon as some accepted value is no list;
* inside an object every key has its own list of accepted values, and values are compared with `==`;
* "" among the accepted values means that the argument, or the key, may be left out.
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

_IGNORED = re.compile(r"[ ,./\-_*^]")
_LONGEST_KEPT = 256


def fold(text: str) -> str:
    """Return text without what the comparison of texts ignores."""
    return _kept(text) if len(text) <= _LONGEST_KEPT else _fold(text)


def _fold(text: str) -> str:
    return _IGNORED.sub("", text).lower().replace("'", '"')


_kept = lru_cache(maxsize=8192)(_fold)
"""The same for short texts, which recur: accepted values are folded for every call that is compared with them."""


def folded(value: Any) -> Any:
    """Return a text folded, anything else as it is."""
    return fold(value) if type(value) is str else value


def value_error(value: Any, accepted: Sequence[Any], kind: type, item_kind: type | None) -> str:
    """Return what is wrong with one value.

    Args:
        value: the model's, decoded.
        accepted: the values that pass.
        kind: what the document wants.
        item_kind: what it wants of a list's items; None where it says nothing.
    """
    first = _first_kind(accepted)
    error = type_error(value, accepted, first, kind, item_kind)
    if error:
        return error
    if (first is None or first is kind) and type(value) is kind:
        if kind is str:
            return "" if fold(value) in [fold(a) for a in accepted if type(a) is str] else "value_error:string"
        if kind is dict:
            return object_error(value, accepted)
        if kind is list:
            return objects_error(value, accepted) if item_kind is dict else list_error(value, accepted)
    return "" if value in accepted else "value_error:others"


def type_error(value: Any, accepted: Sequence[Any], first: type | None, kind: type, item_kind: type | None) -> str:
    """Return what is wrong with the type of a value; `first` is the type of the first accepted value."""
    nested = ""
    if type(value) is kind:
        if item_kind is None or any(_items_fit(value, answer, item_kind) for answer in accepted):
            return ""
        nested = "type_error:nested"
    if first is not None and type(value) is first:
        return nested
    return "type_error:simple"


def list_error(value: Sequence[Any], accepted: Sequence[Any]) -> str:
    """Compare a list with the accepted lists, item by item; an accepted "" stands for the empty list."""
    given = [folded(item) for item in value]
    fits = any(given == [folded(item) for item in answer] for answer in accepted)
    return "" if fits else "value_error:list/tuple"


def object_error(value: Mapping[str, Any], accepted: Sequence[Any]) -> str:
    """Compare an object with the accepted ones; the mistake told is that of the last one tried."""
    error = "dict_checker:unclear"
    for answer in accepted:
        if answer != "":
            error = _keys_error(value, answer)
            if not error:
                return ""
    return error


def objects_error(value: Sequence[Any], accepted: Sequence[Any]) -> str:
    """Compare a list of objects with the accepted lists, in order; an accepted "" stands for the empty list."""
    error = "list_dict_checker:unclear"
    for answer in accepted:
        if len(value) != len(answer):
            error = "value_error:list_dict_count"
            continue
        mistakes = (object_error(item, [wanted]) for item, wanted in zip(value, answer, strict=True))
        error = next((mistake for mistake in mistakes if mistake), "")
        if not error:
            return ""
    return error


def _keys_error(value: Mapping[str, Any], answer: Mapping[str, Sequence[Any]]) -> str:
    error = _known_keys_error(value, answer)
    left_out = any(key not in value and "" not in allowed for key, allowed in answer.items())
    return "value_error:dict_key" if left_out else error


def _known_keys_error(value: Mapping[str, Any], answer: Mapping[str, Sequence[Any]]) -> str:
    for key, given in value.items():
        if key not in answer:
            return "value_error:dict_key"
        if folded(given) not in [folded(item) for item in answer[key]]:
            return "value_error:dict_value"
    return ""


def _items_fit(value: Sequence[Any], answer: Any, item_kind: type) -> bool:
    if type(answer) is not list:
        return True
    items = cast("list[Any]", answer)
    first = _first_kind(items)
    return all(type(item) is item_kind or (first is not None and type(item) is first) for item in value)


def _first_kind(accepted: Sequence[object]) -> type | None:
    """Return the type of the first accepted value that is no "may be left out"."""
    return next((type(answer) for answer in accepted if answer != ""), None)
