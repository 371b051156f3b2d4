"""The long call patterns: all of the reference's are there, and each gives sound rows."""
from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from data_synthesis.checks import CheckConfig, query_problems
from data_synthesis.drafts import Draft, read_workflows
from data_synthesis.index import Entries, WorldIndex
from data_synthesis.mix import Mix
from data_synthesis.paths import generic, get
from data_synthesis.prune import prune
from data_synthesis.search import Chain, Infeasible, draw, narrow
from data_synthesis.split import place_groups, split_places
from data_synthesis.synth import Maker, SynthConfig
from data_synthesis.tasks import task_from_record
from data_synthesis.templates.load import load_patterns, load_set
from data_synthesis.templates.model import NAMES, FromStep, FromUser, Kind, Pattern
from data_synthesis.trial import trials
from data_synthesis.writer import write
from environment.booking.schemas import load_schemas
from environment.core.validate import check_arguments

SCHEMAS = load_schemas()


def by_tools(patterns: Sequence[Pattern]) -> dict[tuple[str, ...], Pattern]:
    return {tuple(step.tool for step in pattern.steps): pattern for pattern in patterns}


def test_the_sets_are_apart_and_all_holds_both(long_patterns: tuple[Pattern, ...]) -> None:
    short = load_patterns(SCHEMAS)
    assert {p.id for p in load_set(SCHEMAS)} == {p.id for p in short}
    assert len(long_patterns) == 107 == len(by_tools(long_patterns))
    assert len(load_set(SCHEMAS, "all")) == len(short) + 107
    assert len({step.tool for p in long_patterns for step in p.steps}) == 38


@pytest.fixture(scope="module")
def workflows(reference: Path) -> list[Draft]:
    return read_workflows(reference / "workflow_templates.json", SCHEMAS)


def test_every_call_pattern_of_the_reference_is_there(
    workflows: list[Draft], long_patterns: tuple[Pattern, ...]
) -> None:
    ours = by_tools(long_patterns)
    assert {draft.tools for draft in workflows} == set(ours)


def test_every_identifier_that_an_answer_gives_there_comes_from_an_answer_here(
    workflows: list[Draft], long_patterns: tuple[Pattern, ...]
) -> None:
    """An edge of theirs that the ports bear out has an edge of ours, but for what the user may say himself."""
    ours = by_tools(long_patterns)
    for draft in workflows:
        pattern = ours[draft.tools]
        for step, links in zip(pattern.steps, draft.links, strict=True):
            for argument in links:
                port = SCHEMAS[step.tool].takes[generic(argument)]
                if argument.startswith("legs[2]") or port in ("place_name", "date"):
                    continue
                assert isinstance(step.give[argument], FromStep), (pattern.id, step.name, argument)


def test_what_the_reference_links_by_equal_values_is_counted(workflows: list[Draft]) -> None:
    kept, invented, missed = (sum(getattr(d.edges, what) for d in workflows) for what in ("kept", "invented", "missed"))
    assert kept + invented == 544
    assert 15 <= invented <= 40
    legs = sum(argument.startswith("legs[") for d in workflows for links in d.links for argument in links)
    destinations = sum(
        "dest_id" in links and "dest_id" not in call.claimed
        for d in workflows for call, links in zip(d.calls, d.links, strict=True)
    )  # fmt: skip
    assert legs > 60 and destinations >= 23 and missed >= legs + destinations


@pytest.mark.slow
def test_every_pattern_gives_rows_in_the_simulated_world(
    long_patterns: tuple[Pattern, ...], long_index: WorldIndex
) -> None:
    done = trials(long_patterns, long_index, tries=1)
    assert not [trial.why for trial in done if not trial.accepted]


@pytest.fixture(scope="module")
def long_chains(long_patterns: tuple[Pattern, ...], long_index: WorldIndex) -> list[Chain]:
    """One chain of each pattern."""
    place_of = split_places(place_groups(long_patterns, long_index), 0.0, 0).place_of
    drawn: list[Chain] = []
    for pattern in long_patterns:
        narrowed = narrow(pattern, long_index)
        assert isinstance(narrowed, Pattern)
        domains = prune(narrowed, long_index)
        assert not isinstance(domains, Infeasible)
        chain = draw(narrowed, long_index, random.Random(pattern.id), place_of=place_of, domains=domains)
        assert isinstance(chain, Chain)
        drawn.append(chain)
    return drawn


def test_chains_do_not_contradict_themselves(
    long_chains: list[Chain], long_patterns: tuple[Pattern, ...], long_index: WorldIndex
) -> None:
    place_of = split_places(place_groups(long_patterns, long_index), 0.0, 0).place_of
    for chain in long_chains:
        for entry, step in zip(chain.entries, chain.steps, strict=True):
            assert not check_arguments(SCHEMAS[step.function], step.arguments)
            tool = Entries(entry.schema, ())
            for edge in step.edges:
                value = get(chain.entries[edge.producer].seen, edge.field)
                assert tool.key(edge.argument, value) == entry.keys[edge.argument]
        pattern = chain.pattern
        places = {v: place_of(str(chain.values[v])) for v, k in pattern.kinds.items() if k in NAMES}
        for group in pattern.together:
            assert len({places[name] for name in group}) == 1
        dates = [v for v, kind in pattern.kinds.items() if kind is Kind.DATE and v in pattern.after]
        assert all(
            str(chain.values[pattern.after[v]]) < str(chain.values[v])
            for v in dates if v in chain.values and pattern.after[v] in chain.values
        )  # fmt: skip
        calls = [(s.function, str(s.arguments)) for s in chain.steps]
        assert len(set(calls)) == len(calls)


def test_one_variable_has_one_value_in_every_step(long_chains: list[Chain]) -> None:
    for chain in long_chains:
        for step, entry in zip(chain.pattern.steps, chain.entries, strict=True):
            for argument, source in step.give.items():
                if isinstance(source, FromUser):
                    wanted = chain.values.get(source.variable)
                    told = entry.given.get(argument)
                    assert (wanted is None) == (told is None)
                    assert wanted is None or Entries(entry.schema, ()).key(argument, wanted) == entry.keys[argument]


def test_a_request_without_one_of_its_values_is_turned_down(long_chains: list[Chain]) -> None:
    """The values of dependent steps too: each is taken out of the text in turn."""
    taken = 0
    for chain in long_chains[::9]:
        text = write(chain, random.Random(1))
        assert not query_problems(chain, text, SCHEMAS, CheckConfig())
        for name, value in chain.values.items():
            if chain.pattern.kinds[name] in NAMES:
                bare = text.replace(str(value), "that place")
                assert query_problems(chain, bare, SCHEMAS, CheckConfig()), (text, name)
                taken += 1
    assert taken > 10


def test_wording_varies_with_chance_and_only_with_it(long_chains: list[Chain]) -> None:
    chain = next(c for c in long_chains if c.pattern.id == "flights-hotels-taxi")
    texts = [write(chain, random.Random(seed)) for seed in range(12)]
    assert len(set(texts)) == 12
    assert texts == [write(chain, random.Random(seed)) for seed in range(12)]


def test_rows_say_how_hard_they_are_and_read_back(
    long_patterns: tuple[Pattern, ...], long_index: WorldIndex
) -> None:
    some = [p for p in long_patterns if p.id in ("hotels-taxi", "trips-flight-seats", "filters-hotels-policies-2")]
    config = SynthConfig(
        mix=Mix(steps={}), heldout_share=0.0, difficulty=True, same_chain=9, prune=True,
        distractors=(2, 3), distractors_by="similar",
    )  # fmt: skip
    rows = list(Maker(long_index, some, 3, config).rows("train", 9))
    assert {row["workflow_id"] for row in rows} == {p.id for p in some}
    for row in rows:
        hard = row["metadata"]["difficulty"]
        assert hard["steps"] == len(row["steps"]) and hard["distractors_by"] == "similar"
        assert 2 <= len(hard["distractors"]) <= 3
        assert set(hard["distractors"]) == set(row["tools"]) - {s["ground_truth"]["function"] for s in row["steps"]}
        task = task_from_record(row, SCHEMAS)
        assert [step.function for step in task.steps] == row["workflow_pattern"]
    legs = next(row for row in rows if row["workflow_id"] == "trips-flight-seats")["steps"][3]
    assert {edge["argument"] for edge in legs["edges"]} >= {"legs[0].fromId", "legs[1].toId"}
    assert len(legs["ground_truth"]["arguments"]["legs"]) == 2


def test_a_step_that_shows_too_little_is_told(long_patterns: tuple[Pattern, ...], long_index: WorldIndex) -> None:
    five = next(p for p in long_patterns if p.id == "hotels-around-description-5")
    short = WorldIndex(long_index.world, lambda _, value: {})
    found = narrow(five, short)
    assert isinstance(found, Infeasible) and "in sight" in found.reason and found.step == "hotels_around"
