"""`RapidApi`: a live service behind RapidAPI, by default `booking-com15`, asked with patience, at a pace, on a budget.

The key comes from the environment. It leaves the process in one header only, towards one address: it is in no log, no
error, no repr, no pickle and no file.
"""
from __future__ import annotations

import os
import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from environment.booking.schemas import load_schemas
from environment.core.calls import JsonValue, WorldAnswer
from environment.core.dispatch import answer_call
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.core.shapes import Shapes
from environment.core.upstream import UpstreamFailure, UpstreamStop
from environment.core.validate import check_canonical
from environment.upstream.endpoints import Service, read_service
from environment.upstream.http import HttpLimits, check_address, send
from environment.upstream.patience import Budget, Pace, Patience, patiently
from environment.upstream.reading import read_reply


class Key:
    """A secret that no text and no file gets."""

    def __init__(self, value: str) -> None:
        self._value = value

    @classmethod
    def from_environment(cls, variable: str, environ: Mapping[str, str] | None = None) -> Key:
        """Read a key.

        Raises:
            ConfigError: it is not set, or holds characters that no header takes.
        """
        value = (os.environ if environ is None else environ).get(variable, "").strip()
        if not value:
            fix = f"export {variable}=… (a key of your RapidAPI account), or use --upstream seed"
            raise ConfigError("no key for the live service", where=variable, fix=fix)
        if not value.isascii() or not value.isprintable() or " " in value:
            raise ConfigError("the key holds characters that no key has", where=variable, fix="copy it again")
        return cls(value)

    def headers(self, host: str) -> dict[str, str]:
        """Return the headers of a request with this key."""
        return {"X-RapidAPI-Key": self._value, "X-RapidAPI-Host": host, "Accept": "application/json"}

    def __repr__(self) -> str:
        return "Key(***)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key does not travel: each process reads it from its environment")


@dataclass(frozen=True)
class RapidApiSettings:
    """How a live service is asked."""

    address: str | None = None
    """Another address than the service's own."""
    limits: HttpLimits = field(default_factory=HttpLimits)
    patience: Patience = field(default_factory=Patience)
    per_second: float = 5.0
    """Requests a second, all threads together; 0 is no limit."""
    doubtful: bool = False
    """Ask endpoints that are in doubt as well."""
    seed: int = 0
    """Of the random part of the waits."""


class RapidApi:
    """A live service as an `Upstream`; safe for many threads."""

    waits = True
    """A call waits for another machine."""

    def __init__(
        self,
        key: Key,
        settings: RapidApiSettings | None = None,
        budget: Budget | None = None,
        schemas: Mapping[str, ToolSchema] | None = None,
        service: Service | None = None,
    ) -> None:
        self.schemas: Mapping[str, ToolSchema] = schemas or load_schemas()
        self.service, self.settings = service or read_service(), settings or RapidApiSettings()
        self.budget = budget or Budget()
        self._key, self._pace = key, Pace(self.settings.per_second)
        self._shapes = Shapes(self.schemas)
        self._chance, self._halt = random.Random(self.settings.seed), threading.Event()
        self._address = (self.settings.address or self.service.address).rstrip("/")
        self._stopped: UpstreamStop | None = None
        check_address(self._address)

    @property
    def provenance(self) -> str:
        """Name of the service."""
        return self.service.service

    @property
    def stopped(self) -> str | None:
        """Why nothing more can be asked: the key is refused, the quota or the budget is spent, or `halt` was called."""
        return None if self._stopped is None else str(self._stopped)

    def halt(self) -> None:
        """Let no further request start and end every wait; requests under way go on to their end."""
        self._halt.set()

    def doubt(self, tool: str) -> str | None:
        """Return why a tool is not asked; None where it can be."""
        endpoint = self.service.endpoints.get(tool)
        if endpoint is None:
            return f"{self.service.service} has no endpoint for {tool}"
        if endpoint.doubt is None or self.settings.doubtful:
            return None
        return f"{tool} is not asked of {self.service.service}: {endpoint.doubt}"

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return the service's answer to a valid call.

        Raises:
            UpstreamFailure: no answer that may be kept, after all tries.
        """

        def look_up(schema: ToolSchema, canonical: dict[str, JsonValue]) -> WorldAnswer | None:
            if check_canonical(schema, canonical):
                return None
            return self._ask(schema, _as_given(schema, canonical, arguments))

        return answer_call(self.schemas, name, arguments, look_up)

    def _ask(self, schema: ToolSchema, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        doubt = self.doubt(schema.name)
        if doubt is not None:
            raise UpstreamFailure(doubt, fix="--ask-doubtful asks in spite of that")
        url = self._address + self.service.query(schema.name, arguments)

        def once() -> WorldAnswer:
            if self._stopped is not None:
                raise UpstreamStop(self._stopped.what, fix=self._stopped.fix)
            self.budget.take()
            reply = send(url, self._key.headers(self.service.host), self.settings.limits)
            return read_reply(schema.name, reply, self.service, self._shapes)

        try:
            return patiently(once, self.settings.patience, self._pace, self._chance, self._halt)
        except UpstreamStop as stop:
            self._stopped = stop
            raise


def _as_given(
    schema: ToolSchema, canonical: Mapping[str, JsonValue], given: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return canonical arguments, but free text in the writing of the caller: a service may know no `paris`."""
    free = {name for name, parameter in schema.properties.items() if parameter.get("x-free-text")}
    return {name: str(given[name]).strip() if name in free else value for name, value in canonical.items()}
