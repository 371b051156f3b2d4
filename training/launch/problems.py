"""Everything that is wrong with a configuration, in one report.

A run that dies at the first wrong key, then at the second, costs a person ten starts. So every
check returns `Problem`s, and whoever asked raises one `ConfigReport` with all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from environment.core.errors import ConfigError, ToolRlError


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: which key, what about it, and what would be right."""

    key: str
    what: str
    expected: str | None = None
    nearest: str | None = None
    fix: str | None = None

    def render(self) -> str:
        """Return the problem as indented lines."""
        parts = (("expected", self.expected), ("nearest", self.nearest), ("fix", self.fix))
        lines = [f"  {self.key}: {self.what}"]
        return "\n".join(lines + [f"      {name:<9} {text}" for name, text in parts if text is not None])


class ConfigReport(ConfigError):
    """All problems of a configuration together. Nothing was started."""

    def __init__(self, problems: Iterable[Problem], *, where: str = "config") -> None:
        self.problems: Sequence[Problem] = tuple(problems)
        self.place = where
        many = len(self.problems) != 1
        head = f"{len(self.problems)} problem{'s' if many else ''}; nothing was started"
        super().__init__("\n".join([head, *(p.render() for p in self.problems)]), where=where)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.problems, self.place))


def _rebuild(problems: Sequence[Problem], where: str) -> ToolRlError:
    return ConfigReport(problems, where=where)
