"""`el`: HTML elements as values. Text is escaped unless it is `Markup`, so nothing a model wrote becomes a tag.

Control characters, which could hide or reorder text, are shown by name.
"""
from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return a value as escaped text."""
    return Markup(html.escape(_HIDDEN.sub(lambda m: f"⟨{ord(m.group()):04X}⟩", str(value)), quote=True))


def el(tag: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element.

    Args:
        children: Markup as it is, other values as text, iterables flattened, None and False left out.
        attributes: `class_` is class, `_` becomes `-`; None and False leave the attribute out, True has no value.
    """
    opened = f"<{tag}{''.join(_attribute(k, v) for k, v in attributes.items())}>"
    return Markup(opened if tag in _VOID else f"{opened}{join(children)}</{tag}>")


def join(parts: Iterable[Any]) -> Markup:
    """Return parts one after the other; see `el` for what a part may be."""
    return Markup("".join(_part(p) for p in parts))


def _part(part: Any) -> str:
    if part is None or part is False:
        return ""
    if isinstance(part, Markup):
        return str(part)
    if isinstance(part, str) or not isinstance(part, Iterable):
        return text(part)
    return join(part)


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = name.strip("_").replace("_", "-") if name != "viewBox" else name
    return f" {name}" if value is True else f' {name}="{text(value)}"'
