"""A few entries over a small made-up world, and ways to play them."""
from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environment.core.task import GoldStep, Task
from environment.core.trajectory import Trajectory
from environment.session.prompt import call_text
from evaluation.model import GoldPolicy
from evaluation.policy.chat import Sampling
from evaluation.suite import Mark, Seat
from evaluation.suites.complexfuncbench.suite import ComplexFuncBench, Options
from evaluation.suites.complexfuncbench.write import entry_row
from evaluation.tests.support import CITIES, SCHEMAS

STAY = {"search_type": "city", "arrival_date": "2027-05-01", "departure_date": "2027-05-04"}
TOOLS = ("Search_Hotel_Destination", "Search_Hotels", "Get_Hotel_Details", "Search_Taxi", "Location_to_Lat_Long")


def place(city: str) -> dict[str, Any]:
    """Return what a search for a city's destination is answered."""
    number = CITIES.index(city)
    return {"status": True, "message": "Success", "data": [{"dest_id": str(4000 + number), "name": city}]}


def stays(city: str) -> dict[str, Any]:
    """Return what a search for hotels in a city is answered."""
    number = CITIES.index(city)
    hotels = [{"hotel_id": 70000 + number, "name": f"{city} Inn"}]
    return {"status": True, "message": "Success", "data": {"hotels": hotels}}


def find(city: str) -> GoldStep:
    """Return the search for a city's destination."""
    return GoldStep("Search_Hotel_Destination", {"query": city})


def stay(city: str, *needs: int) -> GoldStep:
    """Return the search for hotels in a city."""
    return GoldStep("Search_Hotels", {"dest_id": str(4000 + CITIES.index(city)), **STAY}, needs)


def make_row(identity: str, steps: Sequence[GoldStep], answers: Sequence[Any], query: str = "") -> dict[str, Any]:
    """Return an entry as a file holds it."""
    task = Task(identity, query or f"Find hotels for {identity}.", TOOLS, tuple(steps), answer=f"Booked, {identity}.")
    return entry_row(task, SCHEMAS, answers)


def chain(identity: str, city: str) -> dict[str, Any]:
    """Return an entry of two turns with a call each."""
    return make_row(identity, [find(city), stay(city, 0)], [place(city), stays(city)])


def pair(identity: str, one: str, other: str) -> dict[str, Any]:
    """Return an entry of two turns with two calls each."""
    steps = [find(one), find(other), stay(one, 0), stay(other, 1)]
    return make_row(identity, steps, [place(one), place(other), stays(one), stays(other)])


def rows() -> list[dict[str, Any]]:
    """Return a file's worth of entries."""
    return [chain("Hotels-1", "Lisbon"), chain("Hotels-2", "Ghent"), pair("Cross-3", "Graz", "Turku")]


def write(folder: Path, lines: Sequence[Any]) -> Path:
    """Write a file; texts go in as they are."""
    path = folder / "cfb.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def open_suite(folder: Path, lines: Sequence[Any] | None = None, **options: Any) -> ComplexFuncBench:
    """Return the suite over some entries."""
    return ComplexFuncBench(Options(data=write(folder, rows() if lines is None else lines), **options))


def call(name: str, **arguments: Any) -> str:
    """Return a call as a model writes it."""
    return call_text(name, arguments)


def made(step: GoldStep, **changes: Any) -> str:
    """Return a gold call, some of its arguments changed; None takes one out."""
    arguments = {k: v for k, v in {**step.arguments, **changes}.items() if v is not None}
    return call_text(step.function, arguments)


def play(suite: ComplexFuncBench, identity: str, turns: Sequence[str]) -> Trajectory:
    """Return what comes of playing some turns."""
    item = next(i for i in suite.items if i.id == identity)
    seat = Seat(0, Sampling(), lambda tools: GoldPolicy(tools, iter(turns)))
    return asyncio.run(suite.episode(item, seat))


def judged(suite: ComplexFuncBench, identity: str, turns: Sequence[str]) -> Mark:
    """Return the mark for some turns."""
    item = next(i for i in suite.items if i.id == identity)
    return suite.judge(item, play(suite, identity, turns))
