"""A language model that thinks of argument values, through any OpenAI-compatible endpoint.

Its text is data: JSON is read out of it, unknown names and ids are dropped, what is not valid is dropped, and what it
fails to propose is drawn instead. Proposals are written down before they are used, so a killed expansion goes on with
the same ones.
"""
from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from environment.core.calls import JsonValue
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.core.upstream import UpstreamFailure, UpstreamStop
from environment.core.validate import check_arguments
from environment.expansion.chains import USER_PORTS
from environment.expansion.files import append
from environment.expansion.proposals import Proposer
from environment.upstream.http import HttpLimits, Reply, Transient, check_address, send
from environment.upstream.patience import Pace, Patience, patiently, seconds_asked

KEY_VARIABLE, ADDRESS_VARIABLE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
_NEVER = threading.Event()
_POINTS = ("latitude", "longitude")


@dataclass(frozen=True)
class ChatModel:
    """A model behind an endpoint."""

    name: str
    address: str
    key: str | None = field(default=None, repr=False)
    limits: HttpLimits = field(default_factory=lambda: HttpLimits(total_s=180.0, read_s=120.0))
    patience: Patience = field(default_factory=Patience)
    seed: int = 0

    @classmethod
    def from_environment(
        cls, name: str, address: str | None, seed: int, environ: Mapping[str, str] | None = None
    ) -> ChatModel:
        """Return the model that flags and environment name.

        Raises:
            ConfigError: no address, or one that a key must not be sent to.
        """
        given = os.environ if environ is None else environ
        where = address or given.get(ADDRESS_VARIABLE)
        if not where:
            fix = f"give --model-address or {ADDRESS_VARIABLE} (OpenAI-compatible, ending in /v1), or --model none"
            raise ConfigError("no endpoint for the model that proposes", where="--model", got=name, fix=fix)
        check_address(where)
        return cls(name, where.rstrip("/"), given.get(KEY_VARIABLE, "").strip() or None, seed=seed)

    def ask(self, prompt: str) -> str:
        """Return the model's text.

        Raises:
            UpstreamFailure: no text after all tries.
        """
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        request = {"model": self.name, "messages": [{"role": "user", "content": prompt}], "seed": self.seed}
        body = json.dumps(request).encode()

        def once() -> str:
            return _text(send(f"{self.address}/chat/completions", headers, self.limits, "POST", body))

        return patiently(once, self.patience, Pace(0), random.Random(self.seed), _NEVER)


class ModelProposer:
    """Asks a model; what it fails to propose comes from `drawn`."""

    def __init__(self, model: ChatModel, drawn: Proposer, kept: Path) -> None:
        """Begin with the proposals that are written down in `kept`."""
        self._model, self._drawn, self._kept = model, drawn, kept
        self._known, self._lock = _read_kept(kept), threading.Lock()

    def fill(
        self, schema: ToolSchema, linked: Sequence[str], named: Sequence[str], count: int, about: str
    ) -> list[dict[str, JsonValue]]:
        """Return `count` sets, the model's first; see `Proposer.fill`."""
        drawn = self._drawn.fill(schema, linked, named, count, about)
        if all(one == {} for one in drawn[:1]) and not named:
            return drawn  # nothing is left for a person to state
        words = json.dumps([self._model.name, about, schema.name, *linked, *named, count])
        mark = blake2b(words.encode(), digest_size=12).hexdigest()
        with self._lock:
            found = self._known.get(mark)
        if found is None:
            found = self._propose(schema, linked, named, count)
            with self._lock:
                self._known[mark] = found
            append(self._kept, json.dumps({"mark": mark, "sets": found}).encode() + b"\n")
        nested = {path.split("[")[0] for path in linked if "[" in path}  # filled in part: dates of legs
        mixed = [{n: base[n] for n in nested if n in base} | one for base, one in zip(drawn, found, strict=False)]
        return [*mixed, *drawn[len(mixed) :]]

    def _propose(
        self, schema: ToolSchema, linked: Sequence[str], named: Sequence[str], count: int
    ) -> list[dict[str, JsonValue]]:
        try:
            text = self._model.ask(_prompt(schema, linked, named, count))
        except UpstreamStop:
            raise
        except UpstreamFailure:
            return []
        sets = (_fitting(one, schema, linked) for one in _sets(text))
        return [one for one in sets if one is not None and all(name in one for name in named)][:count]


def _text(reply: Reply) -> str:
    if reply.status in (401, 403):
        fix = f"check the key in {KEY_VARIABLE}"
        raise UpstreamStop(f"the model's endpoint refuses the key (HTTP {reply.status})", fix=fix)
    if reply.status != 200:
        problem = Transient(f"the model's endpoint answers HTTP {reply.status}")
        problem.retry_after = seconds_asked(reply.headers.get("retry-after"))
        raise problem if reply.status in (408, 429) or reply.status >= 500 else UpstreamFailure(problem.what)
    try:
        text: Any = json.loads(reply.body)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        raise Transient("the model's endpoint sends no choice") from None
    if not isinstance(text, str):
        raise Transient("the model says nothing")
    return text


def _prompt(schema: ToolSchema, linked: Sequence[str], named: Sequence[str], count: int) -> str:
    tops = {path.split("[")[0] for path in linked if "[" not in path}
    shown = {name: parameter for name, parameter in schema.properties.items() if name not in tops}
    required = [name for name in schema.required if name in shown]
    return (
        f"Think of {count} different, realistic ways in which travellers would use the tool {schema.name}: "
        f"{schema.description}\nParameters as JSON Schema: {json.dumps(shown)}\n"
        f"Always give {', '.join([*required, *named]) or 'nothing'}; give others now and then. "
        "Dates lie in the future. Vary places over the world, parties and seasons. "
        'Answer with one JSON object {"sets": [{parameter: value, ...}, ...]} and nothing else.'
    )


def _sets(text: str) -> list[Any]:
    """Return the sets in a model's text, which may stand between other words."""
    start, end = text.find("{"), text.rfind("}")
    try:
        found: Any = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return []
    sets: Any = cast("dict[str, Any]", found).get("sets") if isinstance(found, dict) else None
    return cast("list[Any]", sets) if isinstance(sets, list) else []


def _fitting(one: Any, schema: ToolSchema, linked: Sequence[str]) -> dict[str, JsonValue] | None:
    """Return a set without unknown names, blanks and ids; None where what is left is no valid part of a call."""
    if not isinstance(one, dict):
        return None
    tops = {path.split("[")[0] for path in linked}
    ids = {path.split("[")[0] for path, port in schema.takes.items() if port not in {*USER_PORTS, *_POINTS}}
    open_names = set(schema.properties) - tops - ids
    said = cast("dict[str, Any]", one)
    given = {name: value for name, value in said.items() if name in open_names and value not in (None, "")}
    missing = {f"{name} is missing" for name in tops}
    return given if not set(check_arguments(schema, given)) - missing else None


def _read_kept(path: Path) -> dict[str, list[dict[str, JsonValue]]]:
    """Return what was proposed before; a torn last line is ended, so that the next one stands alone."""
    known: dict[str, list[dict[str, JsonValue]]] = {}
    text = path.read_bytes() if path.exists() else b""
    if text and not text.endswith(b"\n"):
        append(path, b"\n")
    for line in text.split(b"\n"):
        try:
            row: Any = json.loads(line)
            known[row["mark"]] = row["sets"]
        except (ValueError, KeyError, TypeError):
            continue
    return known
