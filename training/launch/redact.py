"""Keys and passwords out of everything that is saved or shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

HIDDEN = "(hidden)"
"""What stands in place of a secret."""

SECRET_NAME = re.compile(
    r"(^|[_.-])(api[_-]?key|secret([_-]?(access)?[_-]?key)?|password|passwd|credentials?|"
    r"(hf|auth|access|refresh|api|bearer|hub|github|gitlab|session)[_-]?token)$",
    re.IGNORECASE,
)
"""Names whose value is a secret. `max_tokens`, `tokenizer`, `prompt_key` are not among them."""

URL_LOGIN = re.compile(r"(\w+://)[^/\s:@]+:[^/\s@]+@")
SHORTEST = 8
"""Values below this many characters are not searched for in free text."""


class Redactor:
    """Hides the secrets of one environment wherever they appear."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        values = {value for name, value in environ.items() if is_secret(name) and len(value) >= SHORTEST}
        longest_first = sorted(values, key=len, reverse=True)
        self._found = re.compile("|".join(map(re.escape, longest_first))) if values else None

    def text(self, text: str) -> str:
        """Return the text with known secrets and logins inside addresses hidden."""
        text = URL_LOGIN.sub(rf"\1{HIDDEN}@", text) if "://" in text else text
        return self._found.sub(HIDDEN, text) if self._found else text

    def tree(self, value: object) -> object:
        """Return containers with every secret hidden, by name and by value."""
        if isinstance(value, Mapping):
            pairs = cast("Mapping[str, object]", value).items()
            return {k: HIDDEN if v and is_secret(str(k)) else self.tree(v) for k, v in pairs}
        if isinstance(value, (list, tuple)):
            return [self.tree(v) for v in cast("list[object]", value)]
        return self.text(value) if isinstance(value, str) else value


def is_secret(name: str) -> bool:
    """Tell whether a variable or key of this name holds a secret."""
    return SECRET_NAME.search(name) is not None
