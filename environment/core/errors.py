"""One hierarchy of errors, each able to say what, where, got, expected, nearest and how to fix.

A message is built from the parts that are given, so that a stranger reading a terminal can act
on it without the source at hand:

    rows.jsonl line 3: unknown tool
      got       'Serch_Hotels'
      expected  a tool of the schema file
      nearest   'Search_Hotels'
      fix       correct the name, or pass the schema that defines it
"""
from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST_NAME = 200
"""Characters of a name that is compared with others: the time grows with its length, and it may come from a model."""


class ToolRlError(Exception):
    """Base of every error this project raises on purpose."""

    exit_status = 1
    """Exit status of a command that ends with this error."""

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        got: object = None,
        expected: str | None = None,
        nearest: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.got = got
        self.expected = expected
        self.nearest = nearest
        self.fix = fix
        super().__init__(self.render())

    def render(self) -> str:
        """Return the whole message, one line a part."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        parts = [("got", None if self.got is None else _short(self.got)), ("expected", self.expected)]
        parts += [("nearest", None if self.nearest is None else repr(self.nearest)), ("fix", self.fix)]
        return "\n".join([head, *(f"  {name:<9} {text}" for name, text in parts if text is not None)])

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.got, self.expected, self.nearest, self.fix))


class ConfigError(ToolRlError):
    """A setting is wrong. The command ends with status 2 and nothing was started."""

    exit_status = 2


class DataError(ToolRlError):
    """A row, record or file of data can't be used."""


class WorldError(ToolRlError):
    """The recorded world is missing, damaged or of another version."""


class StageError(ToolRlError):
    """A stage of the main job could not finish."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, or None where nothing is close, as for a name beyond any length."""
    if len(name) > LONGEST_NAME:
        return None
    folded = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _short(value: object, limit: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _rebuild(
    kind: type[ToolRlError],
    what: str,
    where: str | None,
    got: object,
    expected: str | None,
    nearest: str | None,
    fix: str | None,
) -> ToolRlError:
    return kind(what, where=where, got=got, expected=expected, nearest=nearest, fix=fix)
