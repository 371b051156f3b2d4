"""What the bench scores: five-call trajectories with short and with long replies, and rows for the AST checkers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from BFCL.check.replay import GoldWorld, play_turns
from environment.booking.schemas import load_schemas
from environment.core.task import Edge, GoldStep, Task
from environment.core.trajectory import Trajectory
from environment.session.prompt import call_text
from training.reward.complex_tool import Object
from training.reward.legacy import decoded_text

STAY = {"arrival_date": "2026-05-03", "departure_date": "2026-05-06", "adults": 2}
SCHEMAS = load_schemas()


@dataclass(frozen=True)
class Scored:
    """One trajectory with all that either reward takes."""

    trajectory: Trajectory
    task: Task
    text: str
    """What a trainer decodes, for the reward that reads text."""
    ground_truth: list[list[Object]]
    extra_info: Object


def trajectories(hits: int) -> list[Scored]:
    """Return eight kinds of episodes of one five-call task; `hits` is the length of the lists in its replies."""
    task = _task()
    world = GoldWorld(task, _responses(hits), SCHEMAS)
    gold = [call_text(s.function, s.arguments) for s in task.steps]
    wrong = [call_text(s.function, {**s.arguments, next(iter(s.arguments)): "wrong"}) for s in task.steps]
    scripts = [
        [*gold, task.answer],
        [*gold, "That is all."],
        [*gold[:4], task.answer],
        [*gold[:1], task.answer],
        [*gold[:2], wrong[2], *gold[2:], task.answer],
        [*gold[:4], wrong[4], task.answer],
        [gold[0], gold[1] + gold[1], *gold[2:], task.answer],
        [call_text(s.function, {}) for s in task.steps],
    ]
    return [_scored(play_turns(turns, task, world), task) for turns in scripts]


def ast_rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return rows of every form, about half of them right."""
    rng = random.Random(seed)
    return [_row(rng, number) for number in range(count)]


def _task() -> Task:
    steps = (
        GoldStep("Search_Hotel_Destination", {"query": "Oslo"}),
        GoldStep("Search_Hotels", {"dest_id": 2733, "search_type": "CITY", **STAY}, (0,), (_edge("dest_id", 0),)),
        GoldStep("Get_Hotel_Details", {"hotel_id": "880017"}, (1,), (_edge("hotel_id", 1),)),
        GoldStep("Get_Room_List_With_Availability", {"hotel_id": "880017", **STAY}, (1,), (_edge("hotel_id", 1),)),
        GoldStep("Payment_features_of_the_Hotel", {"hotel_id": "880017"}, (1,), (_edge("hotel_id", 1),)),
    )
    return Task("bench", "q", tuple(s.function for s in steps), steps, answer="Fjord House takes cards, 1450 NOK.")


def _edge(argument: str, producer: int) -> Edge:
    return Edge(argument, producer, "data[0].id")


def _responses(hits: int) -> list[Any]:
    def filler(number: int) -> dict[str, Any]:
        return {"id": 500000 + number, "name": f"House {number}", "price": 900.5 + number, "city": "Oslo"}

    rest = [filler(number) for number in range(hits)]
    return [
        {"data": [{"dest_id": "2733", "search_type": "CITY", "name": "Oslo"}, *rest]},
        {"data": [{"hotel_id": 880017, "name": "Fjord House", "price": 1450}, *rest]},
        {"data": {"hotel_id": 880017, "name": "Fjord House", "rooms": rest}},
        {"data": {"rooms": [{"room_id": 31, "price": 1450, "currency": "NOK"}, *rest]}},
        {"data": {"cards": ["Visa", "Mastercard"], "details": rest}},
    ]


def _scored(trajectory: Trajectory, task: Task) -> Scored:
    truth: list[list[Object]] = [
        [{"name": tool, "success": tool == step.function} for tool in task.tools] for step in task.steps
    ]
    traces = [{s.function: {"success": True, "traces": [{"arguments": s.arguments}]}} for s in task.steps]
    extra = {"step_dependency": [list(s.depends_on) or None for s in task.steps], "execution_traces": traces}
    return Scored(trajectory, task, decoded_text(trajectory), truth, extra)


_KINDS = ("string", "integer", "float", "boolean", "array", "dict")


def _row(rng: random.Random, number: int) -> dict[str, Any]:
    category = rng.choice(("simple_python", "multiple", "parallel", "parallel_multiple"))
    functions = [_function(rng, f"tool_{i}.run") for i in range(1 if category == "simple_python" else 3)]
    wanted = functions if "parallel" in category else functions[:1]
    answers = [_answer(rng, function) for function in wanted]
    calls = [_call(rng, answer) for answer in answers]
    rng.shuffle(calls)
    return {
        "case_id": f"{category}_{number}",
        "category": category,
        "function": functions,
        "possible_answer": answers,
        "model_output": calls,
    }


def _function(rng: random.Random, name: str) -> dict[str, Any]:
    kinds = {f"p{i}": rng.choice(_KINDS) for i in range(rng.randint(1, 5))}
    properties: dict[str, Any] = {key: {"type": kind} for key, kind in kinds.items()}
    for parameter in properties.values():
        if parameter["type"] == "array":
            parameter["items"] = {"type": "string"}
    return {"name": name, "parameters": {"type": "dict", "properties": properties, "required": ["p0"]}}


def _answer(rng: random.Random, function: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = function["parameters"]["properties"]
    accepted: dict[str, list[Any]] = {}
    for name, parameter in properties.items():
        accepted[name] = [_value(rng, parameter["type"]) for _ in range(2)] + ([""] if name != "p0" else [])
    return {function["name"]: accepted}


def _value(rng: random.Random, kind: str) -> Any:
    match kind:
        case "string":
            return rng.choice(("New York, NY", "two words", "2026-05-03", "it's a long sentence about a place."))
        case "integer":
            return rng.randint(0, 9)
        case "float":
            return rng.randint(0, 9) / 4
        case "boolean":
            return rng.random() < 0.5
        case "array":
            return [f"item {rng.randint(0, 9)}" for _ in range(3)]
        case _:
            return {"a": [rng.randint(0, 9)], "b": ["x", "y z"]}


def _call(rng: random.Random, answer: dict[str, Any]) -> dict[str, Any]:
    ((name, accepted),) = answer.items()
    given = {key: _plain(rng.choice(values[:2])) for key, values in accepted.items() if rng.random() < 0.95}
    if rng.random() < 0.25 and given:
        given[rng.choice([*given])] = rng.choice(("no such thing", 77, None, [1], {"a": 99}))
    return {name: given}


def _plain(value: Any) -> Any:
    return {key: items[0] for key, items in value.items()} if isinstance(value, dict) else value
