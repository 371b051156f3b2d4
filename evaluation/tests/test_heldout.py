"""The held-out suite end to end, against a stand-in model and a recorded world."""
from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from environment.core.errors import ConfigError, StageError
from environment.core.task import Task
from environment.core.trajectory import StopReason
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, failed, said
from environment.session.limits import Limits
from evaluation.heldout import HeldoutSettings, run
from evaluation.runner import GIVE_UP_AFTER
from evaluation.settings import model_digest
from evaluation.store import read_trajectories
from evaluation.tests.support import make_task, plain_reward, script, write_world

TASKS = [make_task(i, 1 + i % 2) for i in range(8)]
BY_QUERY = {t.query: t for t in TASKS}
LIMITS = Limits(max_turns=4)
Kind = Callable[[Task, dict[str, Any]], str]


def model(kind: Kind) -> Callable[[dict[str, Any], int], Reply]:
    """Return a stand-in model that answers each task by the script of its kind."""

    def answer(body: dict[str, Any], number: int) -> Reply:
        task = BY_QUERY[next(m["content"] for m in body["messages"] if m["role"] == "user")]
        turn = sum(m["role"] == "assistant" for m in body["messages"])
        return said(script(task, kind(task, body))[turn])

    return answer


def right(task: Task, body: dict[str, Any]) -> str:
    """Do everything right."""
    return "right"


def greedy_only(task: Task, body: dict[str, Any]) -> str:
    """Be right when decoded greedily, just talk when sampled."""
    return "right" if body["temperature"] == 0 else "talk"


@pytest.fixture
def settings(tmp_path: Path) -> HeldoutSettings:
    """Return settings for all tasks, two samples each."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(t.to_json()) + "\n" for t in TASKS), encoding="utf-8")
    world = write_world(tmp_path / "world.db")
    return HeldoutSettings(
        "sft", rows, world, tmp_path / "eval", base_url="unset", limits=LIMITS, samples=2, concurrency=4
    )


def test_a_run_writes_figures_and_every_trajectory(settings: HeldoutSettings) -> None:
    steps: list[tuple[int, int]] = []
    with FakeEndpoint(model(greedy_only)) as fake:
        found = run(replace(settings, base_url=fake.url), reward=plain_reward, progress=lambda *s: steps.append(s))
    assert (found["n"], found["success_rate"]["value"], found["avg_at_2"]["value"]) == (8, 1.0, 0.0)
    assert steps == [(i + 1, 24) for i in range(24)]
    assert json.loads((settings.out / "sft.json").read_text()) == found
    kept = list(read_trajectories(settings.out / "sft.trajectories.jsonl"))
    assert sorted((t.task_id, t.meta["sample"]) for t in kept) == [(t.id, s) for t in TASKS for s in range(3)]
    assert all(t.meta["completion_tokens"] == 7 * t.meta["requests"] for t in kept)
    assert found["tokens"]["requests"] == len(fake.requests)
    assert found["reward_mean"]["value"] == pytest.approx(0.4 + 0.2 * 1.5)


def test_each_sample_has_a_seed_of_its_own_and_the_same_in_every_run(settings: HeldoutSettings) -> None:
    seeds = [settings.sampling(t.id, s).seed for t in TASKS for s in range(3)]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [settings.sampling(t.id, s).seed for t in TASKS for s in range(3)]
    assert settings.sampling("x", 0).temperature == 0
    assert replace(settings, seed=1).sampling("x", 1).seed != settings.sampling("x", 1).seed


def test_a_finished_run_asks_nothing_again(settings: HeldoutSettings) -> None:
    with FakeEndpoint(model(right)) as fake:
        settings = replace(settings, base_url=fake.url)
        first, asked = run(settings, reward=plain_reward), len(fake.requests)
        second = run(settings, reward=plain_reward)
        assert len(fake.requests) == asked
    assert second == first


def test_an_interrupted_run_repeats_only_what_is_missing(settings: HeldoutSettings) -> None:
    with FakeEndpoint(model(right)) as fake:
        settings = replace(settings, base_url=fake.url)
        whole = run(settings)
        path = settings.out / "sft.trajectories.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:20]) + lines[20][:37])
        fake.requests.clear()
        again = run(settings)
    owed = [json.loads(line)["meta"]["requests"] for line in lines[20:]]
    assert len(fake.requests) == sum(owed)
    assert all(again[k] == whole[k] for k in ("n", "success_rate", "avg_at_2", "stops", "faults"))


def test_other_settings_under_the_same_name_are_refused(settings: HeldoutSettings) -> None:
    with FakeEndpoint(model(right)) as fake:
        settings = replace(settings, base_url=fake.url, samples=0)
        run(settings)
        with pytest.raises(ConfigError, match="max_turn_tokens"):
            run(replace(settings, max_turn_tokens=12))
        run(replace(settings, concurrency=1))


def test_outages_are_not_mistakes_and_are_made_up_for(settings: HeldoutSettings) -> None:
    down = {TASKS[2].query, TASKS[5].query}

    def flaky(body: dict[str, Any], number: int) -> Reply:
        out = any(m["content"] in down for m in body["messages"])
        return failed(503) if out else model(right)(body, number)

    with FakeEndpoint(flaky) as fake:
        settings = replace(settings, base_url=fake.url, samples=0, retry_tries=1)
        found = run(settings)
        assert (found["success_rate"]["value"], found["success_rate"]["n"], found["infrastructure"]) == (1.0, 6, 2)
        down.clear()
        found = run(settings)
    assert (found["success_rate"]["n"], found["infrastructure"], found["warnings"]) == (8, 0, found["warnings"][:1])
    assert all(t.stop != StopReason.INFRASTRUCTURE for t in read_trajectories(settings.out / "sft.trajectories.jsonl"))


def test_a_wrong_key_stops_the_run_at_once_and_is_written_nowhere(
    settings: HeldoutSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with FakeEndpoint(lambda body, number: failed(401, "invalid key")) as fake:
        with pytest.raises(StageError, match="invalid key") as caught:
            run(replace(settings, base_url=fake.url))
        assert len(fake.requests) <= settings.concurrency
        assert fake.keys[0] == "Bearer sk-very-secret"
    written = "".join(p.read_text(errors="replace") for p in settings.out.rglob("*") if p.is_file())
    assert "secret" not in written + str(caught.value)


def test_an_endpoint_that_is_gone_ends_the_run_but_keeps_what_was_done(settings: HeldoutSettings) -> None:
    def dying(body: dict[str, Any], number: int) -> Reply:
        return failed(503) if number >= 12 else model(right)(body, number)

    with FakeEndpoint(dying) as fake:
        settings = replace(settings, base_url=fake.url, samples=6, retry_tries=1)
        with pytest.raises(StageError, match=f"{GIVE_UP_AFTER} episodes in a row"):
            run(settings)
    kept = [t for t in read_trajectories(settings.out / "sft.trajectories.jsonl") if t.stop == StopReason.ANSWER]
    assert kept
    with FakeEndpoint(model(right)) as fake:
        found = run(replace(settings, base_url=fake.url))
    assert (found["success_rate"]["n"], found["infrastructure"]) == (8, 0)


def test_a_slow_endpoint_is_no_mistake_of_the_model(settings: HeldoutSettings) -> None:
    def slow(body: dict[str, Any], number: int) -> Reply:
        time.sleep(0.5)
        return said("late")

    with FakeEndpoint(slow) as fake:
        hasty = replace(settings, base_url=fake.url, samples=0, limit=2, limits=Limits(max_seconds=0.05))
        found = run(hasty)
    assert (found["infrastructure"], found["success_rate"]["value"]) == (2, None)


@pytest.mark.parametrize("change", [{"base_url": None}, {"samples": -1}, {"concurrency": 0}])
def test_settings_that_make_no_sense_are_refused(settings: HeldoutSettings, change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        replace(settings, **change)


def test_the_digest_of_a_model_follows_its_content(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"\0" * (66 << 20))
    before = model_digest(tmp_path)
    assert model_digest(tmp_path) == before
    (tmp_path / "config.json").write_text("{ }")
    assert model_digest(tmp_path) != before
    (tmp_path / "config.json").write_text("{}")
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(-3, 2)
        file.write(b"x")
    assert model_digest(tmp_path) != before
