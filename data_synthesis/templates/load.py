"""Reading templates: YAML files → patterns, each checked against the tool schemas it speaks of.

Every file of a folder may hold `kinds` (variable → kind), `steps`, `phrases` and `patterns`; kinds, steps and phrases
are shared between files. In `give`, `$name` is a variable the user states, `$name?` one he may leave out, and
`step.path` a field of an earlier step. A pattern lists steps by name, or as `{use: step, as: name, bind: {old: new}}`
to use one a second time under other variables.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from data_synthesis.paths import generic
from data_synthesis.templates.model import FromStep, FromUser, Kind, Pattern, Rule, Source, Step
from environment.core.errors import DataError, nearest_name
from environment.core.schema import ToolSchema

_FROM_STEP = re.compile(r"(\w+?)((?:\.|\[).+)")
_PICK = re.compile(r"\[@\w+\]")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _StepText(_Strict):
    tool: str
    give: dict[str, str]
    ranks: dict[Rule, str] = {}
    where: dict[str, str] = {}
    answer: list[str] = []


class _Use(_Strict):
    use: str
    name: str
    bind: dict[str, str] = {}


class _PatternText(_Strict):
    id: str
    domain: str
    steps: list[str | _Use]
    say: list[str]
    picks: dict[str, list[Rule]] = {}
    phrases: dict[str, str] = {}
    answer: list[str] = []
    weight: float = 1.0


class _File(_Strict):
    kinds: dict[str, Kind] = {}
    phrases: dict[str, str] = {}
    steps: dict[str, _StepText] = {}
    patterns: list[_PatternText] = []


def default_folder() -> Path:
    """Return the folder of the templates that ship with the project."""
    return Path(__file__).parent


def load_patterns(schemas: Mapping[str, ToolSchema], folder: Path | None = None) -> tuple[Pattern, ...]:
    """Return the patterns of a folder in the order of file names, all checked against the schemas.

    A pattern that uses a tool the schemas lack is left out: another world may offer fewer tools.

    Raises:
        DataError: a file is no valid template, or a step gives what its tool doesn't take.
    """
    root = folder or default_folder()
    files = [(path, _read(path)) for path in sorted(root.glob("*.yaml"))]
    if not any(file.patterns for _, file in files):
        raise DataError("no workflow template found", where=str(root), expected="YAML files with `patterns`")
    shared = _File()
    for _, file in files:
        shared.kinds.update(file.kinds)
        shared.phrases.update(file.phrases)
        shared.steps.update(file.steps)
    patterns = [_pattern(text, shared, f"{path} pattern {text.id}") for path, file in files for text in file.patterns]
    usable = [p for p in patterns if all(step.tool in schemas for step in p.steps)]
    for pattern in usable:
        _check(pattern, schemas)
    return tuple(usable)


def _read(path: Path) -> _File:
    try:
        return _File.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (yaml.YAMLError, ValidationError) as error:
        raise DataError("the file is no valid template", where=str(path), got=str(error)) from error


def _pattern(text: _PatternText, shared: _File, where: str) -> Pattern:
    steps = tuple(_step(use, shared, where) for use in text.steps)
    if text.answer:
        last = steps[-1]
        steps = (*steps[:-1], replace(last, answer=tuple(text.answer)))
    variables = {s.variable for step in steps for s in step.give.values() if isinstance(s, FromUser)}
    unknown = sorted(variables - set(shared.kinds))
    if unknown:
        raise DataError(
            f"variable {unknown[0]!r} has no kind", where=where, nearest=nearest_name(unknown[0], shared.kinds)
        )
    return Pattern(
        id=text.id,
        domain=text.domain,
        steps=steps,
        kinds={name: shared.kinds[name] for name in sorted(variables)},
        picks={name: tuple(rules) for name, rules in text.picks.items()},
        say=tuple(text.say),
        phrases={**shared.phrases, **text.phrases},
        weight=text.weight,
    )


def _step(use: str | _Use, shared: _File, here: str) -> Step:
    wanted = use if isinstance(use, str) else use.use
    if wanted not in shared.steps:
        raise DataError(f"unknown step {wanted!r}", where=here, nearest=nearest_name(wanted, shared.steps))
    text = shared.steps[wanted]
    name, bind = (use, {}) if isinstance(use, str) else (use.name, use.bind)
    where = {path: f"${bind.get(v[1:], v[1:])}" if v.startswith("$") else v for path, v in text.where.items()}
    give = {argument: _source(value, bind, here) for argument, value in text.give.items()}
    return Step(name, text.tool, give, text.ranks, where, tuple(text.answer))


def _source(text: str, bind: Mapping[str, str], where: str) -> Source:
    if text.startswith("$"):
        name = text[1:].removesuffix("?")
        return FromUser(bind.get(name, name), optional=text.endswith("?"))
    match = _FROM_STEP.fullmatch(text)
    if match is None:
        raise DataError(
            "an argument comes from nowhere", where=where, got=text, expected="$variable, $variable? or step.path"
        )
    step, path = match.groups()
    path = _PICK.sub(lambda m: f"[@{bind.get(m[0][2:-1], m[0][2:-1])}]", path.removeprefix("."))
    return FromStep(bind.get(step, step), path)


def _check(pattern: Pattern, schemas: Mapping[str, ToolSchema]) -> None:
    where = f"template pattern {pattern.id}"
    before: dict[str, Step] = {}
    for step in pattern.steps:
        schema = schemas[step.tool]
        _check_names(step, schema, where)
        for argument, source in step.give.items():
            if isinstance(source, FromStep):
                _check_edge(argument, source, schema, before, schemas, where)
                if source.pick is not None and source.pick not in pattern.picks:
                    raise DataError(f"step {step.name} picks by {source.pick!r}, which has no rules", where=where)
        before[step.name] = step


def _check_names(step: Step, schema: ToolSchema, where: str) -> None:
    for argument in step.give:
        if argument not in schema.properties:
            near = nearest_name(argument, schema.properties)
            raise DataError(f"{step.tool} takes no argument {argument!r}", where=where, nearest=near)
    missing = [name for name in schema.required if name not in step.give]
    if missing:
        raise DataError(f"step {step.name} leaves out required arguments of {step.tool}", where=where, got=missing)


def _check_edge(
    argument: str,
    source: FromStep,
    schema: ToolSchema,
    before: Mapping[str, Step],
    schemas: Mapping[str, ToolSchema],
    where: str,
) -> None:
    if source.step not in before:
        raise DataError(
            f"an argument comes from step {source.step!r}, which is not before it", where=where, got=argument
        )
    port = schema.takes.get(argument)
    shape = generic(_PICK.sub("[0]", source.field))
    gives = schemas[before[source.step].tool].gives
    if port is not None and gives and gives.get(shape) != port:
        expected = ", ".join(_fields(gives, port)) or f"no field gives port {port}"
        raise DataError(
            f"{argument} takes port {port!r}, which is not what {shape!r} gives",
            where=where,
            got=gives.get(shape),
            expected=expected,
        )


def _fields(gives: Mapping[str, str], port: str) -> Iterable[str]:
    return (path for path, given in gives.items() if given == port)
