"""Whether a pattern fits the tools: names, required arguments, and ports at both ends of every edge."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from data_synthesis.paths import generic
from data_synthesis.templates.model import FromStep, Pattern, Step
from environment.core.errors import DataError, nearest_name
from environment.core.schema import ToolSchema

_PICK = re.compile(r"\[(?:\w+=)?@\w+\]")
_HEAD = re.compile(r"[.\[]")


def problems(pattern: Pattern, schemas: Mapping[str, ToolSchema], where: str) -> Iterator[DataError]:
    """Yield everything that keeps the pattern from being called; each names step, argument, port and what is near."""
    before: dict[str, Step] = {}
    for step in pattern.steps:
        here = f"{where} step {step.name}"
        schema = schemas.get(step.tool)
        if schema is None:
            yield DataError(f"unknown tool {step.tool!r}", where=here, nearest=nearest_name(step.tool, schemas))
        else:
            yield from _names(step, schema, here)
            for argument, source in step.give.items():
                if isinstance(source, FromStep):
                    yield from _edge(argument, source, schema, before, schemas, here)
                    yield from _pick(source, pattern, here)
        before[step.name] = step
    yield from _unused(pattern, where)


def _names(step: Step, schema: ToolSchema, where: str) -> Iterator[DataError]:
    given = {_HEAD.split(argument)[0] for argument in step.give}
    for argument in sorted(given - set(schema.properties)):
        near = nearest_name(argument, schema.properties)
        expected = ", ".join(schema.properties)
        yield DataError(f"{step.tool} takes no argument {argument!r}", where=where, expected=expected, nearest=near)
    missing = [name for name in schema.required if name not in given]
    if missing:
        yield DataError(f"step {step.name} leaves out required arguments of {step.tool}", where=where, got=missing)


def _edge(
    argument: str,
    source: FromStep,
    schema: ToolSchema,
    before: Mapping[str, Step],
    schemas: Mapping[str, ToolSchema],
    where: str,
) -> Iterator[DataError]:
    producer = before.get(source.step)
    if producer is None or producer.tool not in schemas:
        if producer is None:
            near = nearest_name(source.step, before)
            what = f"argument {argument} comes from step {source.step!r}, which is not before it"
            yield DataError(what, where=where, expected=", ".join(before) or "no step is before it", nearest=near)
        return
    port = schema.takes.get(generic(argument))
    shape = generic(_PICK.sub("[0]", source.field))
    gives = {**schemas[producer.tool].gives, **{generic(path): given for path, given in producer.gives.items()}}
    given = {gives.get(shape), producer.gives.get(shape), schemas[producer.tool].gives.get(shape)}
    if port is not None and gives and port not in given:
        fields = [path for path, given_port in gives.items() if given_port == port]
        yield DataError(
            f"argument {argument} takes port {port!r}, which is not what {shape!r} of {producer.tool} gives",
            where=where,
            got=f"port {gives[shape]!r}" if shape in gives else "no port",
            expected=", ".join(fields) or f"a step that gives port {port!r}; {producer.tool} gives none",
            nearest=nearest_name(shape, fields),
        )


def _pick(source: FromStep, pattern: Pattern, where: str) -> Iterator[DataError]:
    if source.pick is None:
        return
    rules = pattern.picks.get(source.pick)
    if rules is None:
        near = nearest_name(source.pick, pattern.picks)
        fix = f"add `picks: {{{source.pick}: [first, second]}}`, or `named`"
        yield DataError(f"it picks by {source.pick!r}, which has no rules", where=where, nearest=near, fix=fix)
    elif bool(rules) == (source.key is not None):
        expected = f"`{source.pick}: named`" if source.key else f"`{source.pick}: [first, ...]`"
        yield DataError(f"{source.field!r} does not fit the rules of {source.pick!r}", where=where, expected=expected)


def _unused(pattern: Pattern, where: str) -> Iterator[DataError]:
    used = {source.pick for _, _, source in pattern.sources() if isinstance(source, FromStep)}
    for name in pattern.picks:
        if name not in used:
            near = nearest_name(name, [pick for pick in used if pick])
            yield DataError(f"nothing is picked by {name!r}", where=where, nearest=near)
