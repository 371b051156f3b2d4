"""`binary`: 1 for a response whose form and calls are both right, 0 for any other.

    score = [form is right] · [calls are right]

Form: `training.reward.form`. Calls: as many as gold steps, and each answers one of them by the leaderboard's AST rules
(`BFCL.check.ast`: function, required and unknown parameters, type and accepted value of each argument), in any order.
It is the reward of FunRL (arXiv 2508.05118) and Tool-N1 (arXiv 2505.00024), whose responses are one turn; over several
turns the calls of all of them are taken together, failed tries included, so one more call than gold scores 0.

The gold value of an argument is accepted, and leaving it out where that is the documented default; an optional argument
the gold call lacks may be given its default. Each set of `GoldStep.accepted` is an answer of its own. Values are judged
as written, not in canonical form: "2" is no 2. Unlike the leaderboard's greedy choice the pairing is the best one, so
the order of calls decides nothing.

Degenerate cases: a task without steps wants no call and a right form; what the world answered is not looked at, nor is
an answer at the end (that is `acc`).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from BFCL.check.assignment import best_assignment
from BFCL.check.ast.call import Answer, Call, Document, call_error
from BFCL.check.ast.check import ODD_SHAPES
from BFCL.check.ast.kinds import Language
from BFCL.check.match import chain_of
from environment.core.calls import JsonValue, ParseStatus
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task
from environment.core.trajectory import Trajectory
from training.reward.form import answer_calls, assistant_turns, tool_call_form
from training.reward.options import check_number
from training.reward.score import Score, scored

_TYPES: dict[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "float", list: "array", dict: "dict"
}  # fmt: skip


@dataclass(frozen=True)
class BinaryOptions:
    """Settings of the binary reward; 1 switches on, 0 off."""

    tool_call: float = 1.0
    """Take the form `<tool_call>{json}</tool_call>`."""
    answer: float = 1.0
    """Take the form `<think>…</think><answer>[f(a=1)]</answer>`."""
    think: float = 0.0
    """Every turn of the form `tool_call` must begin with a closed `<think>` block, as Tool-N1 has it."""

    def __post_init__(self) -> None:
        for name, value in (("tool_call", self.tool_call), ("answer", self.answer), ("think", self.think)):
            check_number(name, value, least=0.0, most=1.0)
        if not (self.tool_call or self.answer):
            raise ConfigError("no form is taken", where="reward.weights", expected="tool_call or answer above 0")


def score(
    trajectory: Trajectory,
    task: Task,
    schemas: Mapping[str, ToolSchema],
    options: BinaryOptions = BinaryOptions(),
) -> Score:
    """Score one trajectory; total."""
    calls = _calls(trajectory, options)
    right = calls is not None and _all_right(calls, task, schemas)
    components = {"form": float(calls is not None), "ast": float(right), "calls/made": float(len(calls or ()))}
    return scored(float(right), components, chain_of(task, schemas).match(trajectory), trajectory)


def _calls(trajectory: Trajectory, options: BinaryOptions) -> list[Call] | None:
    """Return the calls of a response of right form, None for any other."""
    turns = assistant_turns(trajectory)
    if options.answer and not trajectory.calls:
        blocks = answer_calls(turns)
        if blocks is not None:
            return [{block.name: block.arguments} for block in blocks]
    if not options.tool_call or not tool_call_form(turns, bool(options.think)):
        return None
    if any(call.status != ParseStatus.OK for call in trajectory.calls):
        return None
    return [{call.name: call.arguments} for call in trajectory.calls]


def _all_right(calls: Sequence[Call], task: Task, schemas: Mapping[str, ToolSchema]) -> bool:
    if len(calls) != len(task.steps):
        return False
    wanted = [(_document(step, schemas), _answers(step, schemas)) for step in task.steps]
    fits = [[float(any(_fits(document, c, a) for a in answers)) for c in calls] for document, answers in wanted]
    chosen = best_assignment(fits)
    return all(column is not None and fits[row][column] for row, column in enumerate(chosen))


def _fits(document: Document, call: Call, answer: Answer) -> bool:
    try:
        return not call_error(document, call, answer, Language.PYTHON)
    except ODD_SHAPES:
        return False


def _document(step: GoldStep, schemas: Mapping[str, ToolSchema]) -> Document:
    """Return the function document; of a tool without a schema one that fits the gold arguments."""
    schema = schemas.get(step.function)
    if schema is not None:
        return {"name": step.function, "parameters": schema.parameters}
    types = {name: {"type": _type_name(value)} for name, value in step.arguments.items()}
    return {"name": step.function, "parameters": {"properties": types, "required": list(types)}}


def _type_name(value: object) -> str:
    return _TYPES.get(type(value), "any")


def _answers(step: GoldStep, schemas: Mapping[str, ToolSchema]) -> list[Answer]:
    schema = schemas.get(step.function)
    defaults = {name: p["default"] for name, p in schema.properties.items() if "default" in p} if schema else {}
    free = {name: value for name, value in defaults.items() if schema and name not in schema.required}
    return [{step.function: _accepted(arguments, free)} for arguments in (step.arguments, *step.accepted)]


def _accepted(arguments: Mapping[str, JsonValue], defaults: Mapping[str, JsonValue]) -> dict[str, list[Any]]:
    """Return the accepted values; an argument may be left out, or given, where that says its default."""
    accepted = {name: [_nested(value)] for name, value in arguments.items()}
    for name, default in defaults.items():
        if name not in accepted or arguments[name] == default:
            accepted[name] = [_nested(default), ""]
    return accepted


def _nested(value: JsonValue) -> Any:
    """Return an accepted value: inside objects every value stands in a list of its own."""
    if isinstance(value, dict):
        return {key: [item] for key, item in cast("dict[str, JsonValue]", value).items()}
    if isinstance(value, list):
        items = cast("list[JsonValue]", value)
        return [_nested(item) if isinstance(item, dict) else item for item in items]
    return value
