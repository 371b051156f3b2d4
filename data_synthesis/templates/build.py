"""From the text of a pattern to the pattern: steps by name, variables by kind, arguments by source."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from data_synthesis.templates.model import FromStep, FromUser, Kind, Pattern, Source, Speech, Step
from data_synthesis.templates.text import File, OwnStepText, PatternText, StepText, ToolText, Use
from environment.core.errors import DataError, nearest_name

_FROM_STEP = re.compile(r"([\w-]+?)((?:\.|\[).+)")
_PICK = re.compile(r"\[((?:\w+=)?@)(\w+)\]")
_VARIABLE = re.compile(r"\$(\w+)$")
_NUMBERED = re.compile(r"_\d+$")
FOLLOWS = {
    "departure_date": "arrival_date", "max_date": "min_date", "returnDate": "departDate",
    "drop_off_date": "pick_up_date", "legs[1].date": "legs[0].date",
}  # fmt: skip
"""Date argument → the argument of the same call it lies after."""


def merge(files: Iterable[File]) -> File:
    """Return one file with what all of them share; a later file wins where two say the same name."""
    shared = File()
    for file in files:
        shared.kinds.update(file.kinds)
        shared.tools.update(file.tools)
        shared.phrases.update(file.phrases)
        shared.steps.update(file.steps)
    return shared


def build(text: PatternText, shared: File, where: str) -> Pattern:
    """Return the pattern of a text.

    Raises:
        DataError: a step or variable is unknown, a step name stands twice, or an argument comes from nowhere.
    """
    steps = tuple(_step(use, shared, where) for use in text.steps)
    _check_unique([step.name for step in steps], where)
    if text.answer:
        steps = (*steps[:-1], replace(steps[-1], answer=tuple(text.answer)))
    kinds = _kinds(steps, shared, where)
    own = {use.name for use in text.steps if isinstance(use, OwnStepText)}
    steps = tuple(_defaults(step, shared.tools.get(step.tool), kinds if step.name in own else {}) for step in steps)
    together = tuple(frozenset(group) for group in text.together)
    picks = {name: () if rules == "named" else tuple(rules) for name, rules in text.picks.items()}
    _check_known(
        [*(name for group in together for name in group), *text.after, *text.after.values()], kinds, picks, where
    )
    return Pattern(
        id=text.id,
        domain=text.domain,
        steps=steps,
        kinds=kinds,
        picks=picks,
        say=tuple(text.say),
        phrases={**shared.phrases, **text.phrases},
        weight=text.weight,
        together=together,
        after={**_after(steps, kinds), **text.after},
    )


def base(variable: str) -> str:
    """Return the name of a variable without its number: `city_2` is a second `city`."""
    return _NUMBERED.sub("", variable)


def _kinds(steps: Iterable[Step], shared: File, where: str) -> dict[str, Kind]:
    variables = {s.variable for step in steps for s in step.give.values() if isinstance(s, FromUser)}
    kinds: dict[str, Kind] = {}
    for name in sorted(variables):
        kind = shared.kinds.get(name, shared.kinds.get(base(name)))
        if kind is None:
            near = nearest_name(base(name), shared.kinds)
            raise DataError(
                f"variable {name!r} has no kind", where=where, nearest=near, fix="list it under `kinds` of the file"
            )
        kinds[name] = kind
    return kinds


def _after(steps: Iterable[Step], kinds: Mapping[str, Kind]) -> dict[str, str]:
    """Return which date lies after which: by the arguments of one call, and `depart_2` after `depart`."""
    found: dict[str, str] = {}
    for name, kind in kinds.items():
        number = name.removeprefix(base(name))
        before = base(name) + ("" if number == "_2" else f"_{int(number[1:]) - 1}" if number else "")
        if kind is Kind.DATE and number and before in kinds:
            found[name] = before
    for step in steps:
        for late, early in FOLLOWS.items():
            last, first = step.give.get(late), step.give.get(early)
            if isinstance(last, FromUser) and isinstance(first, FromUser) and last.variable != first.variable:
                found[last.variable] = first.variable
    return found


def _check_unique(names: list[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            fix = "give the second one a name of its own with {use: ..., name: ...}"
            raise DataError(f"step {name!r} stands twice", where=where, fix=fix)


def _check_known(names: Iterable[str], kinds: Mapping[str, Kind], picks: Mapping[str, object], where: str) -> None:
    for name in names:
        if name not in kinds:
            near = nearest_name(name, [*kinds, *picks])
            raise DataError(f"no step takes the variable {name!r}", where=where, nearest=near)


def _step(use: str | Use | OwnStepText, shared: File, here: str) -> Step:
    if isinstance(use, OwnStepText):
        return _made(use.name, use, {}, here, Speech(want=use.want))
    wanted = use if isinstance(use, str) else use.use
    if wanted not in shared.steps:
        raise DataError(f"unknown step {wanted!r}", where=here, nearest=nearest_name(wanted, shared.steps))
    name, bind = (use, {}) if isinstance(use, str) else (use.name, use.bind)
    return _made(name, shared.steps[wanted], bind, here, Speech())


def _made(name: str, text: StepText, bind: Mapping[str, str], here: str, speech: Speech) -> Step:
    where = {path: _VARIABLE.sub(lambda m: f"${bind.get(m[1], m[1])}", v) for path, v in text.where.items()}
    give = {argument: source(value, bind, f"{here} step {name}") for argument, value in text.give.items()}
    return Step(name, text.tool, give, text.ranks, where, tuple(text.answer), text.gives, speech)


def _defaults(step: Step, tool: ToolText | None, kinds: Mapping[str, Kind]) -> Step:
    """Return the step with what its tool says and it doesn't say itself."""
    if tool is None:
        return step
    names = ("noun", "silent", "near", "of", "link", "which", "means")
    speech = Speech(want=step.speech.want or tool.want, **{name: getattr(tool, name) for name in names})
    return replace(
        step,
        ranks=step.ranks or tool.ranks,
        answer=step.answer or tuple(tool.answer),
        where=step.where or _where(step, tool, kinds),
        speech=speech,
    )


def _where(step: Step, tool: ToolText, kinds: Mapping[str, Kind]) -> dict[str, str]:
    for given in step.give.values():
        kind = kinds.get(given.variable) if isinstance(given, FromUser) else None
        if isinstance(given, FromUser) and kind is not None and kind in tool.where:
            wanted = tool.where[kind]
            return {path: f"{text}{given.variable}" if text in ("$", "!$") else text for path, text in wanted.items()}
    return {}


def source(text: str, bind: Mapping[str, str], where: str) -> Source:
    """Return where an argument comes from: `$variable`, `$variable?` or `step.path`."""
    if text.startswith("$"):
        name = text[1:].removesuffix("?")
        return FromUser(bind.get(name, name), optional=text.endswith("?"))
    match = _FROM_STEP.fullmatch(text)
    if match is None:
        raise DataError(
            "an argument comes from nowhere", where=where, got=text, expected="$variable, $variable? or step.path"
        )
    step, path = match.groups()
    path = _PICK.sub(lambda m: f"[{m[1]}{bind.get(m[2], m[2])}]", path.removeprefix("."))
    return FromStep(bind.get(step, step), path)
