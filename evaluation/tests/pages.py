"""Reading pages strictly, for tests of the report and the viewer."""
from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

VOID = ("meta", "br", "hr", "img", "input", "link")
"""Tags without an end."""


class Page(HTMLParser):
    """A page, of which every tag must be closed in order."""

    def __init__(self, content: bytes | Path) -> None:
        super().__init__()
        self.source = (content.read_bytes() if isinstance(content, Path) else content).decode("utf-8")
        self.stack: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.words = ""
        self.feed(self.source)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.stack:
            self.words += data

    def values(self, name: str) -> list[str]:
        """Return all values of an attribute."""
        return [value or "" for _, given, value in self.attributes if given == name]
