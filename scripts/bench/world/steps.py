"""Steps in process: how many calls of the world one core answers in a second.

    hit            a call to the recorded answer as JSON text, as the server passes it on
    hit_decoded    the same to a fresh Python value, its arguments checked against their schema besides
    session_step   a whole turn of an episode: parsed, called, cut to the observation limit, recorded

Three mixes: `hot` asks for 1 000 calls again and again, `groups` for each call eight times within 64 tasks (eight
rollouts of a task, as in training), `cold` for every call once, so that each is read from the file. Seconds are those
of the processor: nothing here waits, and a core that others use as well would make a wall clock tell of them.
Compared with a dict of parsed answers, which is how the reference keeps its cache.
"""
from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from BFCL.parse.hermes import parse_turn
from environment.cache.store import CachedWorld
from environment.core.task import Task
from environment.core.validate import check_arguments
from environment.session.limits import Limits
from environment.session.remembered import RememberedCut
from environment.session.session import Session
from environment.session.turns import AssistantTurn
from scripts.bench.record import Measure
from scripts.bench.world.calls import Call, recorded_calls, turn_text

DISTINCT, GROUP, TASKS = 1000, 8, 64
TURNS = 16
"""Of an episode of `session_step`."""


def mixes(path: Path, number: int) -> dict[str, list[Call]]:
    """Return the calls of each mix, `number` of them."""
    cold = recorded_calls(path, number)
    hot = [cold[i % DISTINCT] for i in range(number)]
    groups: list[Call] = []
    chance = random.Random(1)
    for start in range(0, number // GROUP, TASKS):
        window = cold[start : start + TASKS] * GROUP
        chance.shuffle(window)
        groups += window
    return {"hot": hot, "groups": groups, "cold": cold}


def measure(path: Path, number: int, repeats: int) -> Iterator[Measure]:
    """Yield the measures of ours and of the peer, alternating between them."""
    all_calls = mixes(path, number)
    table = _as_dict(path, all_calls["hot"][:DISTINCT])
    for mix, calls in all_calls.items():
        runs: dict[tuple[str, str], list[float]] = {}
        for _ in range(repeats):
            for name, rate in _ours(path, calls).items():
                runs.setdefault(("ours", f"{mix}_{name}_per_s"), []).append(rate)
            if mix == "hot":
                runs.setdefault(("dict", "hot_hit_decoded_per_s"), []).append(_dict_rate(table, calls))
        yield from (Measure(subject, metric, tuple(rates)) for (subject, metric), rates in runs.items())


def _ours(path: Path, calls: list[Call]) -> dict[str, float]:
    schemas = CachedWorld.open(path).schemas

    def decoded(world: CachedWorld) -> Callable[[Call], object]:
        return lambda call: (world.call(*call), check_arguments(schemas[call[0]], call[1]))

    def text(world: CachedWorld) -> Callable[[Call], object]:
        return lambda call: world.call_text(*call)

    kinds = {"hit": text, "hit_decoded": decoded}
    rates = {name: _rate(make(CachedWorld.open(path)), calls) for name, make in kinds.items()}
    return {**rates, "session_step": _session_rate(CachedWorld.open(path), calls)}


def _rate(answer: Callable[[Call], object], calls: list[Call]) -> float:
    answer(calls[0])
    began = time.process_time()
    for call in calls:
        answer(call)
    return len(calls) / (time.process_time() - began)


def _session_rate(world: CachedWorld, calls: list[Call]) -> float:
    calls = calls[: len(calls) // 5]
    cut = RememberedCut(Limits().cut())
    limits = Limits(max_turns=TURNS, max_tokens=1 << 30)
    turns = [AssistantTurn(turn_text(call)) for call in calls]
    task = Task("bench", "?", tuple(world.schemas), ())
    began = time.process_time()
    for start in range(0, len(turns), TURNS):
        session = Session(task, world, world.schemas, limits, parse_turn, cut=cut)
        for turn in turns[start : start + TURNS]:
            session.step(turn)
    return len(turns) / (time.process_time() - began)


def _as_dict(path: Path, calls: list[Call]) -> dict[tuple[str, str], bytes]:
    world = CachedWorld.open(path)
    return {(name, _key(arguments)): world.call_text(name, arguments).text for name, arguments in calls}


def _key(arguments: dict[str, object]) -> str:
    return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()


def _dict_rate(table: dict[tuple[str, str], bytes], calls: list[Call]) -> float:
    """Time the simplest thing that gives fresh values: no canonical form, no validation, nothing from disk."""
    return _rate(lambda call: orjson.loads(table[call[0], _key(call[1])]), calls)
