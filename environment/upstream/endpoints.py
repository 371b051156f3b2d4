"""Where a live service answers which tool, and how its arguments become a query: facts, read from a data file.

Parameter names are those of the tool's schema unless the file says otherwise. `fixed` values go along where the
endpoint takes them, so that answers do not depend on where the caller sits. An endpoint with a `doubt` is asked only by
who wants it in spite of that.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environment.core.calls import JsonValue
from environment.core.errors import DataError

BOOKING_COM15 = Path(__file__).with_name("booking_com15.json")
"""The service that the reference records from."""


class Endpoint(BaseModel):
    """Where one tool is answered."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = Field(pattern=r"^/[\w./-]*$")
    fixed: tuple[str, ...] = Field(default=(), alias="with")
    """Names of the fixed values this endpoint takes."""
    names: dict[str, str] = Field(default_factory=dict)
    """Parameter → its name in the query, where that differs."""
    doubt: str | None = None
    """What speaks against asking; None for an endpoint that is confirmed."""


class Service(BaseModel):
    """A live service."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    service: str
    address: str
    host: str
    key_variable: str
    """Environment variable that holds the key."""
    fixed: dict[str, str] = Field(default_factory=dict)
    passing_messages: tuple[str, ...] = ()
    """Words in an error of the service that mean: later perhaps."""
    volatile: tuple[str, ...] = ()
    """Keys of the wrapper that differ each time and say nothing, left out of what is recorded."""
    endpoints: dict[str, Endpoint]

    def query(self, tool: str, arguments: Mapping[str, JsonValue]) -> str:
        """Return path and query of a call; lists and objects go as JSON text, numbers as the service writes them."""
        endpoint = self.endpoints[tool]
        pairs = [(endpoint.names.get(name, name), _text(value)) for name, value in arguments.items()]
        pairs += [(name, self.fixed[name]) for name in endpoint.fixed]
        return f"{endpoint.path}?{urlencode(pairs)}"


def read_service(path: Path = BOOKING_COM15) -> Service:
    """Read a service's file.

    Raises:
        DataError: no such file, or not the layout of `booking_com15.json`.
    """
    try:
        service = Service.model_validate_json(path.read_bytes())
    except OSError as error:
        what = f"no service file can be read ({error.strerror})"
        raise DataError(what, where=str(path), fix="give a file like booking_com15.json") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(f"{place}: {first['msg']}", where=str(path), got=first.get("input")) from error
    for tool, endpoint in service.endpoints.items():
        lacking = [name for name in endpoint.fixed if name not in service.fixed]
        if lacking:
            raise DataError("no fixed value of that name", where=f"{path} {tool}", got=lacking[0])
    return service


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(cast("object", value), ensure_ascii=False, separators=(",", ":"))
