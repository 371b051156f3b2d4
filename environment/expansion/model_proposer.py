"""A language model that thinks of argument values, through any OpenAI-compatible endpoint.

Its text is data: unknown names and ids are dropped, what is not valid is dropped, and what it fails to propose is drawn
instead. Replies are kept on disk before they are used, so a killed expansion goes on with the same ones.
"""
from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from environment.core.calls import JsonValue
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.core.upstream import UpstreamStop
from environment.core.validate import check_arguments
from environment.expansion.chains import POINT_PORTS, USER_PORTS
from environment.expansion.proposals import Proposer
from environment.server.endpoint.ask import AskSettings
from environment.server.endpoint.connect import EndpointSettings, connect
from environment.server.endpoint.failures import EndpointError, Fatal

ADDRESS_VARIABLE = "OPENAI_BASE_URL"


class Proposals(BaseModel):
    """What the model is asked for."""

    sets: list[dict[str, Any]]


def model_settings(
    model: str, address: str | None, kept: Path, environ: Mapping[str, str] | None = None
) -> EndpointSettings:
    """Return how the model that flags and environment name is asked; its key comes from OPENAI_API_KEY.

    Raises:
        ConfigError: no address, or none that can be one.
    """
    where = address or (os.environ if environ is None else environ).get(ADDRESS_VARIABLE)
    if not where:
        fix = f"give --model-address or {ADDRESS_VARIABLE} (OpenAI-compatible, ending in /v1), or --model none"
        raise ConfigError("no endpoint for the model that proposes", where="--model", got=model, fix=fix)
    asking = AskSettings(temperature=1.0, max_tokens=8192, attempts=2, format="json_object")
    return EndpointSettings(where, model, tries=4, timeout=180.0, ask=asking, cache=kept)


class ModelProposer:
    """Asks a model; what it fails to propose comes from `drawn`."""

    def __init__(self, settings: EndpointSettings, drawn: Proposer) -> None:
        self._settings, self._drawn = settings, drawn

    def fill(
        self, schema: ToolSchema, linked: Sequence[str], named: Sequence[str], count: int, about: str, turn: int = 0
    ) -> list[dict[str, JsonValue]]:
        """Return `count` sets, the model's first; see `Proposer.fill`.

        Raises:
            UpstreamStop: the endpoint refuses the key or the request.
        """
        drawn = self._drawn.fill(schema, linked, named, count, about, turn)
        if not any(drawn[:1]) and not named:
            return drawn  # nothing is left for a person to state
        sets = asyncio.run(self._ask(_prompt(schema, linked, named, count, f"{about}/{turn}")))
        fitting = (_fitting(one, schema, linked) for one in sets)
        found = [one for one in fitting if one is not None and all(name in one for name in named)][:count]
        nested = {path.split("[")[0] for path in linked if "[" in path}  # filled in part: dates of legs
        mixed = [{n: base[n] for n in nested if n in base} | one for base, one in zip(drawn, found, strict=False)]
        return [*mixed, *drawn[len(mixed) :]]

    async def _ask(self, prompt: str) -> list[dict[str, Any]]:
        async with connect(self._settings) as asker:
            try:
                return (await asker.ask([{"role": "user", "content": prompt}], Proposals)).sets
            except Fatal as error:
                raise UpstreamStop(f"the model that proposes can't be asked: {error.what}", fix=error.fix) from error
            except EndpointError:
                return []


def _prompt(schema: ToolSchema, linked: Sequence[str], named: Sequence[str], count: int, about: str) -> str:
    tops = {path.split("[")[0] for path in linked if "[" not in path}
    shown = {name: parameter for name, parameter in schema.properties.items() if name not in tops}
    always = [*(name for name in schema.required if name in shown), *named]
    return (
        f"Think of {count} different, realistic ways in which travellers would use the tool {schema.name}: "
        f"{schema.description}\nParameters as JSON Schema: {json.dumps(shown)}\n"
        f"Always give {', '.join(always) or 'nothing'}; give others now and then. Dates lie in the future. "
        f"Vary places over the world, parties and seasons; this is list {about}. "
        'Answer with one JSON object {"sets": [{parameter: value, ...}, ...]} and nothing else.'
    )


def _fitting(said: Mapping[str, Any], schema: ToolSchema, linked: Sequence[str]) -> dict[str, JsonValue] | None:
    """Return a set without unknown names, blanks and ids; None where what is left is no valid part of a call."""
    tops = {path.split("[")[0] for path in linked}
    ids = {path.split("[")[0] for path, port in schema.takes.items() if port not in USER_PORTS | POINT_PORTS}
    open_names = set(schema.properties) - tops - ids
    given = {name: value for name, value in said.items() if name in open_names and value not in (None, "")}
    missing = {f"{name} is missing" for name in tops}
    return given if not set(check_arguments(schema, given)) - missing else None
