"""`python -m scripts.bench.synth [--out FOLDER]`: the joint search and blind restarts over the same recorded world.

For every one of the 107 long call patterns each side draws as often as the other. Yield is accepted chains by attempts:
a search, or one restart. A chain is accepted where a request could ask for it: one value a shared variable, one place
where it must be one. Besides, the rows a second of the whole path: search, query, checks, duplicates, tools, record.
Seconds are those of the processor, so that a busy machine doesn't show.
"""
from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from data_synthesis.index import Entries, WorldIndex, seen_through
from data_synthesis.mix import Mix
from data_synthesis.paths import get
from data_synthesis.prune import prune
from data_synthesis.rehearse import Rehearsal
from data_synthesis.search import Chain, Infeasible, draw, narrow
from data_synthesis.split import place_groups, split_places
from data_synthesis.synth import Maker, SynthConfig
from data_synthesis.templates.load import load_patterns, load_set
from data_synthesis.templates.model import Pattern
from environment.booking.schemas import load_schemas
from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from environment.cache.store import CachedWorld
from environment.session.observation import ObservationCut
from scripts.bench.record import Measure, table, take, write
from scripts.bench.synth.blind import RESTARTS, attempt, consistent

SIGHT, WALKS, CHAINS = 1600, 8, 4


PlaceOf = Callable[[str], str]


def main() -> None:
    """Record the world, measure both sides in turn, write the result and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/bench"))
    parser.add_argument("--cities", type=int, default=16, help="of the recorded world")
    parser.add_argument("--rows", type=int, default=800, help="rows of the whole path")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    size = WorldSize(cities=given.cities, hotels=6, attractions=5, cars=4, destinations=2, dates=4)
    schemas = load_schemas()
    short = {pattern.id for pattern in load_patterns(schemas)}
    patterns = [p for p in load_set(schemas, "all") if p.id not in short]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.world"
        build_seed_cache(path, 0, size, linked=True, more=Rehearsal(patterns, WALKS).calls)
        with CachedWorld.open(path) as world:
            index = WorldIndex(world, seen_through(ObservationCut(limit_chars=SIGHT)))
            samples = [_repeat(patterns, index, seed, given.rows) for seed in range(given.repeats)]
    measures = [Measure(who, what, tuple(sample[who, what] for sample in samples)) for who, what in samples[0]]
    settings: dict[str, object] = {
        "patterns": len(patterns), "chains_a_pattern": CHAINS, "restarts": RESTARTS, "rows": given.rows,
        "walks": WALKS, "sight_characters": SIGHT, "cities": size.cities,
    }  # fmt: skip
    run = take("synth", settings, measures, ("orjson", "pydantic"))
    print(table(run))
    print(f"yield: {run.compare('yield', 'ours', 'blind restarts'):.1f} times that of blind restarts")
    print(write(run, given.out))


def _repeat(patterns: Sequence[Pattern], index: WorldIndex, seed: int, rows: int) -> dict[tuple[str, str], float]:
    place_of = split_places(place_groups(patterns, index), 0.0, 0).place_of
    found = {("ours", name): value for name, value in _ours(patterns, index, seed, place_of).items()}
    found |= {("blind restarts", name): value for name, value in _blind(patterns, index, seed, place_of).items()}
    return found | {("ours", "rows_per_s"): _rows_per_s(patterns, index, seed, rows)}


def _ours(patterns: Sequence[Pattern], index: WorldIndex, seed: int, place_of: PlaceOf) -> dict[str, float]:
    done, covered, wrong = 0, 0, 0
    usable = [p for p in (narrow(p, index) for p in patterns) if isinstance(p, Pattern)]
    started = time.process_time()
    for pattern in usable:
        chances = [random.Random(f"{seed}/{pattern.id}/{number}") for number in range(CHAINS)]
        domains = prune(pattern, index)
        if isinstance(domains, Infeasible):
            continue
        chains = [draw(pattern, index, rng, place_of=place_of, domains=domains) for rng in chances]
        good = [chain for chain in chains if isinstance(chain, Chain)]
        done, covered = done + len(good), covered + bool(good)
        wrong += sum(map(_contradictions, good))
    seconds = time.process_time() - started
    return _figures(done, CHAINS * len(patterns), covered, wrong, seconds)


def _blind(patterns: Sequence[Pattern], index: WorldIndex, seed: int, place_of: PlaceOf) -> dict[str, float]:
    done, covered, attempts, ended = 0, 0, 0, 0
    started = time.process_time()
    for pattern in patterns:
        before = done
        for number in range(CHAINS):
            rng = random.Random(f"{seed}/blind/{pattern.id}/{number}")
            for _ in range(RESTARTS):
                attempts += 1
                entries = attempt(pattern, index, rng)
                if entries is not None:
                    ended += 1
                    if consistent(pattern, entries, place_of):
                        done += 1
                        break
        covered += done > before
    seconds = time.process_time() - started
    return {**_figures(done, attempts, covered, 0, seconds), "reached_the_end": ended / attempts}


def _figures(done: int, attempts: int, covered: int, wrong: int, seconds: float) -> dict[str, float]:
    return {
        "yield": done / attempts, "patterns_covered": float(covered), "contradictions": float(wrong),
        "chains_per_s": done / seconds,
    }  # fmt: skip


def _contradictions(chain: Chain) -> int:
    """Return how many dependent values are not what the earlier answer says."""
    wrong = 0
    for entry, step in zip(chain.entries, chain.steps, strict=True):
        tool = Entries(entry.schema, ())
        for edge in step.edges:
            source = get(chain.entries[edge.producer].value, edge.field)
            wrong += tool.key(edge.argument, source) != entry.keys[edge.argument]
    return wrong


def _rows_per_s(patterns: Sequence[Pattern], index: WorldIndex, seed: int, rows: int) -> float:
    """Return checked rows by CPU second, once every pattern has been drawn from."""
    maker = Maker(index, patterns, seed, SynthConfig(mix=Mix(steps={}), difficulty=True, prune=True))
    list(maker.rows("heldout", 2 * len(patterns)))
    started = time.process_time()
    made = len(list(maker.rows("train", rows)))
    return made / (time.process_time() - started)


if __name__ == "__main__":
    main()
