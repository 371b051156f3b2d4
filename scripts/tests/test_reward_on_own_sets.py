"""The reward for training on sets the project makes itself: gold is one, every mistake costs, in the meant order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from BFCL.check.replay import play_turns, replay_gold
from data_synthesis.records import read_records
from data_synthesis.synth import synthesise
from data_synthesis.tasks import task_from_record
from environment.booking.schemas import load_schemas
from environment.cache.build import build_seed_cache
from environment.cache.store import CachedWorld
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from environment.session.prompt import call_text
from training.reward import graduated

pytestmark = pytest.mark.slow  # makes a world
SCHEMAS = load_schemas()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CachedWorld, list[Task]]]:
    folder = tmp_path_factory.mktemp("sets")
    build_seed_cache(folder / "world.db")
    synthesise(folder / "world.db", None, folder, 60, 20, 1)
    rows = [row for name in ("train", "heldout") for row in read_records(folder / f"{name}.jsonl")]
    with CachedWorld.open(folder / "world.db", SCHEMAS) as world:
        yield world, [task_from_record(row, SCHEMAS) for row in rows]


def value(trajectory: Trajectory, task: Task) -> float:
    return graduated.score(trajectory, task, SCHEMAS).score


def wrong(task: Task, index: int) -> str:
    """The call of a step with its first argument wrong."""
    step = task.steps[index]
    return call_text(step.function, {**step.arguments, next(iter(step.arguments)): "no such value"})


def test_gold_is_one_on_every_row(made: tuple[CachedWorld, list[Task]]) -> None:
    world, tasks = made
    assert len(tasks) == 80
    for task in tasks:
        found = graduated.score(replay_gold(task, world), task, SCHEMAS)
        assert (found.score, found.acc) == (1.0, True), task.id


def test_the_ladder_and_the_exploits_row_by_row(made: tuple[CachedWorld, list[Task]]) -> None:
    world, tasks = made
    long = [task for task in tasks if len(task.steps) >= 3]
    assert len(long) >= 5
    for task in long:
        gold = [call_text(s.function, s.arguments) for s in task.steps]
        hollow = [call_text(s.function, {}) for s in task.steps]
        last = len(gold) - 1

        def earned(turns: list[str], task: Task = task) -> float:
            return value(play_turns([*turns, task.answer], task, world), task)

        rungs = [
            earned(gold),
            earned([*gold[:last], wrong(task, last), gold[last]]),
            earned([*gold[:last], wrong(task, last)]),
            earned(gold[:last]),
            earned(gold[:1]),
            earned([call_text("No_Such_Tool", {})]),
            earned([]),
        ]
        assert rungs == sorted(rungs, reverse=True) and len(set(rungs)) == len(rungs), (task.id, rungs)
        assert rungs[4] <= 1.5 / len(gold)
        for exploit in (hollow, [*gold[:1] * 5, *hollow[1:]], [*gold[:1] * 15, *hollow[1:]]):
            assert earned(exploit) <= 0.5, task.id
