"""The taxonomy's tables: counted by hand, each wrong argument under its tool, infrastructure in no share."""
from __future__ import annotations

import re
from dataclasses import replace

from environment.core.trajectory import StopReason
from evaluation.mistakes import Kind
from evaluation.report.errors import MOST_ARGUMENTS, WORDS, Tally, tally, taxonomy, wrong_values
from evaluation.tests.support import SCHEMAS, make_task, play, script

TASKS = {task.id: task for task in (make_task(n) for n in range(4))}
KINDS = ("right", "wrong", "wrong", "surplus", "talk", "garbled")
EPISODES = [play(task, script(task, kind), n) for task in TASKS.values() for n, kind in enumerate(KINDS)]


def words(markup: str | None) -> str:
    assert markup is not None
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", markup))


def test_episodes_are_counted_once_a_kind() -> None:
    found = tally(EPISODES, TASKS, SCHEMAS)
    assert found is not None and found.episodes == len(EPISODES) == 24
    assert found.kinds[Kind.WRONG_VALUE] == 8 and found.kinds[Kind.EXTRA_CALL] == 4
    assert found.kinds[Kind.MALFORMED] == 4 and found.kinds[Kind.GAVE_UP] == 8
    assert found.arguments == {("Search_Hotels", "departure_date", "differs"): 8}


def test_the_table_shows_shares_of_the_episodes_that_count() -> None:
    lost = [replace(episode, stop=StopReason.INFRASTRUCTURE) for episode in EPISODES[:6]]
    found = tally([*EPISODES, *lost], TASKS, SCHEMAS)
    assert found is not None and found.episodes == 24 and found.kinds[Kind.INFRASTRUCTURE] == 6
    shown = words(taxonomy({"rl": found}))
    assert "wrong value 33.3 %" in shown and "gave up: answered before the chain was done 33.3 %" in shown
    assert "infrastructure 6" in shown and "episodes 24" in shown
    assert WORDS[Kind.ORDER] not in shown


def test_every_kind_has_its_words() -> None:
    assert WORDS.keys() == set(Kind)


def test_wrong_arguments_are_ordered_by_how_often_and_say_how() -> None:
    found = Tally(episodes=9)
    found.arguments.update({("A", "x", "differs"): 3, ("A", "x", "left out"): 1, ("B", "x", "made up"): 9})
    found.arguments.update({("C", f"a{n:02d}", "differs"): 1 for n in range(30)})
    table = wrong_values({"sft": found, "rl": Tally(episodes=9)})
    rows = re.findall(r'<th scope="row"><code>(\w+)</code> <small>(\w)</small>', str(table))
    assert rows[:3] == [("x", "B"), ("x", "A"), ("a00", "C")] and len(rows) == MOST_ARGUMENTS
    assert "3 differ, 1 left out" in words(table)


def test_nothing_known_means_no_table() -> None:
    assert tally(EPISODES, {}, SCHEMAS) is None
    assert taxonomy({}) is None and wrong_values({"rl": Tally(3)}) is None
