"""Rows made from a small world: every promise of a row is checked against the world itself."""
from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from data_synthesis.answers import MAX_WORDS
from data_synthesis.checks import Reason, query_problems
from data_synthesis.index import WorldIndex, seen_through
from data_synthesis.mix import Mix, neediest
from data_synthesis.offer import offer
from data_synthesis.paths import get
from data_synthesis.records import read_records
from data_synthesis.search import Chain, draw
from data_synthesis.split import place_groups, split_places
from data_synthesis.synth import Maker, SynthConfig, SynthReport, synthesise
from data_synthesis.tasks import task_from_record
from data_synthesis.templates.load import load_patterns
from data_synthesis.templates.model import Pattern
from data_synthesis.writer import WriterConfig, write
from environment.booking.places import all_places
from environment.cache.store import CachedWorld
from environment.core.canonical import canonical_value, fold_text
from environment.core.errors import ConfigError, DataError
from environment.core.task import Task
from environment.session.observation import ObservationCut

CHARS = 260


@pytest.fixture(scope="module")
def made(world_path: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SynthReport]:
    out = tmp_path_factory.mktemp("synth")
    return out, synthesise(world_path, None, out, 260, 50, seed=3, observation_chars=CHARS)


@pytest.fixture(scope="module")
def tasks(made: tuple[Path, SynthReport], world: CachedWorld) -> dict[str, list[Task]]:
    return {
        s: [task_from_record(r, world.schemas) for r in read_records(made[0] / f"{s}.jsonl")]
        for s in ("train", "heldout")
    }


def test_wanted_rows_are_there_in_both_formats(made: tuple[Path, SynthReport]) -> None:
    out, report = made
    assert (report.train.rows, report.heldout.rows) == (260, 50)
    for split in ("train", "heldout"):
        assert list(read_records(out / f"{split}.jsonl")) == list(read_records(out / f"{split}.pkl"))
    assert sum(report.train.patterns.values()) == sum(report.train.steps.values()) == 260
    assert set(report.train.steps) == {1, 2, 3, 4}


def test_every_gold_call_is_answered_as_recorded(made: tuple[Path, SynthReport], world: CachedWorld) -> None:
    for record in read_records(made[0] / "train.jsonl"):
        for step in record["steps"]:
            call = step["ground_truth"]
            answer = world.call(call["function"], call["arguments"])
            assert answer.status == "ok"
            assert answer.value == step["execution_result"]["execution_result"]


def test_every_dependent_value_stands_where_its_edge_says_in_what_the_model_sees(
    tasks: dict[str, list[Task]], world: CachedWorld
) -> None:
    view = seen_through(ObservationCut(limit_chars=CHARS))
    edges = 0
    for task in tasks["train"]:
        for step in task.steps:
            properties = world.schemas[step.function].properties
            for edge in step.edges:
                source = task.steps[edge.producer]
                seen = view(world.schemas[source.function], world.call(source.function, source.arguments).value)
                parameter = properties[edge.argument]
                assert canonical_value(parameter, get(seen, edge.field)) == canonical_value(
                    parameter, step.arguments[edge.argument]
                )
                edges += 1
            assert set(step.depends_on) == {e.producer for e in step.edges}
    assert edges > 200


def test_no_id_of_a_dependent_argument_is_in_the_query(tasks: dict[str, list[Task]]) -> None:
    for task in [*tasks["train"], *tasks["heldout"]]:
        said = fold_text(task.query).split()
        for step in task.steps:
            for edge in step.edges:
                value = str(step.arguments[edge.argument])
                assert not any(c.isdigit() for c in value) or value.casefold() not in said


def cities_in(query: str) -> set[str]:
    """Return the cities a text names; a name that is part of a longer one (Jos, San Jose) counts as the longer."""
    found: set[str] = set()
    for city in sorted((p.city for p in all_places()), key=len, reverse=True):
        query, times = re.subn(rf"\b{re.escape(city)}\b", "", query)
        found |= {city} if times else set()
    return found


def test_held_out_cities_are_named_in_no_training_query(tasks: dict[str, list[Task]]) -> None:
    named = {split: {c for t in found for c in cities_in(t.query)} for split, found in tasks.items()}
    assert named["train"] and named["heldout"]
    assert not named["train"] & named["heldout"]


def test_two_places_of_one_request_are_never_one_place_under_two_names(made: tuple[Path, SynthReport]) -> None:
    seen = 0
    for record in read_records(made[0] / "train.jsonl"):
        if record["workflow_id"] != "flight_lookup_both":
            continue
        found = [step["execution_result"]["execution_result"]["data"][0]["id"] for step in record["steps"]]
        assert len(set(found)) == 2, record["query"]
        seen += 1
    assert seen


def test_tools_hold_the_chain_and_one_or_two_more_of_its_families(
    tasks: dict[str, list[Task]], world: CachedWorld
) -> None:
    firsts = Counter[bool]()
    for task in tasks["train"]:
        gold = list(dict.fromkeys(s.function for s in task.steps))
        extra = [name for name in task.tools if name not in gold]
        assert set(gold) <= set(task.tools) and len(set(task.tools)) == len(task.tools)
        assert 1 <= len(extra) <= 2
        firsts[task.tools[0] == gold[0]] += 1
    assert min(firsts.values()) > 50


def test_answers_are_short_and_say_something_found(tasks: dict[str, list[Task]]) -> None:
    answers = [t.answer for t in tasks["train"]]
    assert all(0 < len(a.split()) <= MAX_WORDS for a in answers)
    assert len(set(answers)) > len(answers) // 3


def test_queries_are_unlike_each_other(tasks: dict[str, list[Task]]) -> None:
    queries = [t.query for t in [*tasks["train"], *tasks["heldout"]]]
    assert len(set(queries)) == len(queries)
    lengths = sorted(len(q.split()) for q in queries)
    assert 20 <= lengths[len(lengths) // 2] <= 45


def test_same_seed_same_files_other_seed_other_rows(world_path: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        synthesise(world_path, None, tmp_path / name, 30, 8, seed, observation_chars=CHARS)
    for file in ("train.jsonl", "train.pkl", "heldout.jsonl", "heldout.pkl"):
        a, b, c = ((tmp_path / name / file).read_bytes() for name in "abc")
        assert a == b != c


def test_mix_rules_lengths_and_patterns(world_path: Path, tmp_path: Path) -> None:
    mix = Mix(steps={2: 3, 3: 1}, patterns={"hotel_search": 5, "map_near": 0})
    report = synthesise(world_path, None, tmp_path, 40, 8, 0, config=SynthConfig(mix=mix), observation_chars=CHARS)
    assert report.train.steps == {2: 30, 3: 10}
    assert report.train.patterns["hotel_search"] > 10
    assert "map_near" not in report.train.patterns


def test_mix_rules_families(index: WorldIndex) -> None:
    maker = Maker(index, load_patterns(index.schemas), 0, SynthConfig(mix=Mix(domains={"hotel": 1, "car": 1})))
    assert {row["domain"] for row in maker.rows("train", 40)} == {"hotel", "car"}


def test_plain_wording_has_no_words_to_work_out(index: WorldIndex) -> None:
    plain = SynthConfig(writer=WriterConfig(iso_share=1.0, words_share=0.0, nights_share=0.0))
    for row in Maker(index, load_patterns(index.schemas), 0, plain).rows("train", 60):
        values = [v for step in row["steps"] for v in step["ground_truth"]["arguments"].values()]
        dates = [v for v in values if isinstance(v, str) and (v[4:5] == "-" or v[2:3] == ":")]
        assert all(v in row["query"] for v in dates)


def test_wrong_mixes_are_refused(world: CachedWorld) -> None:
    patterns = load_patterns(world.schemas)
    for mix, told in (
        (Mix(patterns={"hotel_serch": 1}), "hotel_search"),
        (Mix(steps={9: 1}), "share"),
        (Mix(domains={"hotels": 1}), "'hotel'"),
        (Mix(steps={1: -1}), "negative"),
    ):
        with pytest.raises(ConfigError, match=told):
            mix.shares(patterns)


def test_the_neediest_pattern_keeps_counts_within_one_of_their_share() -> None:
    shares, made = {"a": 0.5, "b": 0.3, "c": 0.2}, Counter[str]()
    for total in range(1, 60):
        made[neediest(shares, made)] += 1
        assert all(abs(made[name] - share * total) < 1.5 for name, share in shares.items())


def test_picks_out_of_sight_leave_with_a_reason(world: CachedWorld) -> None:
    tight = WorldIndex(world, seen_through(ObservationCut(limit_chars=110)))
    maker = Maker(tight, load_patterns(world.schemas), 0, SynthConfig())
    rows = list(maker.rows("train", 60))
    assert "in sight" in maker.reports["train"].infeasible["hotel_policies_twice"]
    assert not any(row["workflow_id"].endswith("twice") for row in rows)


def test_a_row_that_repeats_a_chain_too_often_is_turned_down(index: WorldIndex) -> None:
    config = SynthConfig(mix=Mix(patterns={}, steps={1: 1}), same_chain=1, misses=30)
    maker = Maker(index, load_patterns(index.schemas), 0, config)
    rows = list(maker.rows("train", 5000))
    calls = Counter(str([s["ground_truth"] for s in row["steps"]]) for row in rows)
    assert max(calls.values()) == 1
    assert len(rows) < 5000
    assert maker.reports["train"].rejected[Reason.SAME_CHAIN] > 0


def test_nothing_to_make_is_an_error(index: WorldIndex) -> None:
    maker = Maker(index, load_patterns(index.schemas), 0, SynthConfig(heldout_share=0.0))
    with pytest.raises(DataError, match="not one row"):
        list(maker.rows("heldout", 3))


@pytest.mark.parametrize("number", range(0, 40, 3))
def test_a_query_that_loses_a_value_or_gains_an_id_is_caught(index: WorldIndex, number: int) -> None:
    patterns = [p for p in load_patterns(index.schemas) if len(p.steps) > 2 and p.domain in ("hotel", "flight", "car")]
    pattern: Pattern = patterns[number % len(patterns)]
    rng = random.Random(number)
    places = split_places(place_groups([pattern], index), 0.0, 0)
    chain = draw(pattern, index, rng, place_of=places.place_of)
    assert isinstance(chain, Chain)
    text = write(chain, rng)
    assert not query_problems(chain, text, index.schemas)
    place = min(chain.places)
    reasons = {p.reason for p in query_problems(chain, text.replace(place, "somewhere else"), index.schemas)}
    assert reasons == {Reason.UNSTATED}
    edge = next(
        e for s in chain.steps for e in s.edges if any(c.isdigit() or c == "." for c in str(s.arguments[e.argument]))
    )
    leak = next(str(s.arguments[edge.argument]) for s in chain.steps if edge in s.edges)
    assert Reason.LEAK in {p.reason for p in query_problems(chain, f"{text} It is {leak}.", index.schemas)}
    for extra, reason in (
        ("Use Search_Hotels.", Reason.TOOL_WORD),
        ("Then call the API.", Reason.NARRATION),
        ("Oh " * 60, Reason.TOO_LONG),
    ):
        assert reason in {p.reason for p in query_problems(chain, f"{text} {extra}", index.schemas)}


def test_offer_is_shuffled_by_its_generator_alone(world: CachedWorld) -> None:
    gold = ["Search_Hotels", "Search_Hotel_Destination", "Search_Hotels"]
    offers = [offer(gold, world.schemas, random.Random(7), 3, 3) for _ in range(2)]
    assert offers[0] == offers[1] and len(offers[0]) == 5
    assert {world.schemas[name].group for name in offers[0]} == {"hotel"}
    assert len({offer(gold, world.schemas, random.Random(n), 0, 0) for n in range(20)}) == 2
