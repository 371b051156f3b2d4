"""The call formats by name: `reader("python")(text)`, and `parser("xml")` for a session.

To add one, write a module with a `Reader` and name it in `FORMATS`; `tests/test_formats.py` then holds it to the rules.
"""
from __future__ import annotations

from collections.abc import Mapping

from BFCL.parse.hermes import read_hermes
from BFCL.parse.llama_json import read_llama_json
from BFCL.parse.python_calls import read_python
from BFCL.parse.reading import Reader, parser_of
from BFCL.parse.xml_calls import read_xml
from environment.core.errors import ConfigError, nearest_name
from environment.session.turns import Parser

FORMATS: Mapping[str, Reader] = {
    "hermes": read_hermes,
    "llama3_json": read_llama_json,
    "python": read_python,
    "xml": read_xml,
}
"""Name of a format → its reader."""


def reader(name: str) -> Reader:
    """Return the reader of a format; ConfigError names the nearest for an unknown one."""
    if name not in FORMATS:
        expected = "one of " + ", ".join(FORMATS)
        raise ConfigError("unknown call format", got=name, expected=expected, nearest=nearest_name(name, FORMATS))
    return FORMATS[name]


def parser(name: str) -> Parser:
    """Return the parser of a format, as `Session` takes it."""
    return parser_of(reader(name))
