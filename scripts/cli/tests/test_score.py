"""`tool-rl score`: stored rollouts earn what they earned, bad lines are named, the output is whole or absent."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from BFCL.check.replay import GoldWorld, play_turns, replay_gold
from environment.booking.schemas import load_schemas
from environment.core.errors import ConfigError, ToolRlError
from environment.core.task import Edge, GoldStep, Task
from environment.core.trajectory import Trajectory
from environment.session.prompt import gold_turns
from scripts.cli.app import app
from training.reward.registry import names, reward

SCHEMAS = load_schemas()
FIND = GoldStep("Search_Hotel_Destination", {"query": "Oslo"})
LOOK = GoldStep("Get_Hotel_Details", {"hotel_id": "7731"}, (0,), (Edge("hotel_id", 0, "[0].id"),))
TASK = Task("t-1", "q", (FIND.function, LOOK.function), (FIND, LOOK), answer="It is hotel Bravo.")
WORLD = GoldWorld(TASK, [[{"id": "7731"}], {"name": "Bravo"}], SCHEMAS)


def rollouts() -> list[Trajectory]:
    gold = replay_gold(TASK, WORLD)
    short = play_turns([gold_turns(TASK)[0], "I stop."], TASK, WORLD)
    vague = play_turns([*gold_turns(TASK)[:2], "Done."], TASK, WORLD)
    return [gold, short, vague]


def scored(trajectory: Trajectory, name: str) -> float:
    return reward(name)(trajectory, TASK, SCHEMAS).score


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run as training leaves it: rollouts with the reward they earned, and the tasks they were made from."""
    (tmp_path / "rollouts").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_text(json.dumps(TASK.to_json()) + "\n")
    lines: list[str] = []
    for sample, trajectory in enumerate(rollouts()):
        was = reward("graduated")(trajectory, TASK, SCHEMAS).as_log()
        meta = {**trajectory.meta, "step": 3, "sample": sample, "reward": was}
        lines.append(json.dumps(replace(trajectory, meta=meta).to_json()) + "\n")
    (tmp_path / "rollouts" / "step_00003.jsonl").write_text("".join(lines))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["score", *arguments])


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", names())
def test_every_reward_scores_stored_rollouts_as_live_ones(run_dir: Path, name: str) -> None:
    result = run("--reward", name, "--trajectories", str(run_dir / "rollouts" / "step_00003.jsonl"))
    assert result.exit_code == 0, result.stderr
    found = rows(result.stdout)
    assert [row["score"] for row in found] == [scored(t, name) for t in rollouts()]
    assert [(row["line"], row["step"], row["sample"]) for row in found] == [(1, 3, 0), (2, 3, 1), (3, 3, 2)]
    assert found[0]["acc"] is True and "3 rollouts scored" in result.stderr


def test_what_was_earned_then_is_compared(run_dir: Path) -> None:
    path = str(run_dir / "rollouts" / "step_00003.jsonl")
    assert "0 of 3 differ now" in run("--trajectories", path).stderr
    assert "1 of 3 differ now" in run("--trajectories", path, "--weight", "bare_answer=1").stderr


def test_the_output_is_whole_or_absent(run_dir: Path) -> None:
    path, out = run_dir / "rollouts" / "step_00003.jsonl", run_dir / "new" / "scores.jsonl"
    assert run("--trajectories", str(path), "--out", str(out)).exit_code == 0
    assert len(rows(out.read_text())) == 3 and [p.name for p in out.parent.iterdir()] == ["scores.jsonl"]
    broken = run("--trajectories", str(run_dir / "nothing.jsonl"), "--out", str(out))
    assert broken.exit_code == 1 and len(rows(out.read_text())) == 3


def test_bad_lines_cost_themselves_and_the_exit_status(run_dir: Path) -> None:
    path = run_dir / "rollouts" / "step_00003.jsonl"
    good = path.read_text().splitlines()
    stranger = json.dumps({**json.loads(good[0]), "task_id": "t-2"})
    path.write_text("\n".join([good[0][:80], stranger, "5", '{"task_id": 1}', *good]) + "\n")
    result = run("--trajectories", str(path))
    assert result.exit_code == 1 and len(rows(result.stdout)) == 3
    assert [f"line {n}:" in result.stderr for n in range(1, 6)] == [True] * 4 + [False]
    assert "'t-1'" in result.stderr and "--tasks" in result.stderr


def test_tasks_can_be_named_or_stand_in_the_line(run_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = (run_dir / "rollouts" / "step_00003.jsonl").read_text().splitlines()
    alone = tmp_path_factory.mktemp("elsewhere") / "r.jsonl"
    alone.write_text("\n".join(lines))
    assert run("--trajectories", str(alone)).exit_code == 1
    assert run("--trajectories", str(alone), "--tasks", str(run_dir / "data" / "train.jsonl")).exit_code == 0
    alone.write_text("\n".join(json.dumps({**json.loads(line), "task": TASK.to_json()}) for line in lines))
    assert run("--trajectories", str(alone)).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--reward", "gradated"], "'graduated'"),
        (["--weight", "surplus=1"], "unknown option"),
        (["--weight", "surplus_cost"], "NAME=NUMBER"),
        (["--weight", "surplus_cost=-1"], r"reward.weights.surplus_cost"),
    ],
)
def test_wrong_settings_end_with_status_2(run_dir: Path, arguments: list[str], told: str) -> None:
    result = run("--trajectories", str(run_dir / "rollouts" / "step_00003.jsonl"), *arguments)
    assert isinstance(result.exception, ConfigError) and result.exception.exit_status == 2
    assert told in str(result.exception)


def test_an_output_that_cannot_be_written_is_said(run_dir: Path) -> None:
    path = str(run_dir / "rollouts" / "step_00003.jsonl")
    for out in (run_dir, Path("/proc/nowhere/x.jsonl")):
        result = run("--trajectories", path, "--out", str(out))
        assert isinstance(result.exception, ToolRlError) and str(out) in str(result.exception)


def test_void_rollouts_are_counted_apart(run_dir: Path) -> None:
    path = run_dir / "rollouts" / "step_00003.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), "stop": "infrastructure"}), *others]))
    result = run("--trajectories", str(path))
    assert rows(result.stdout)[0]["void"] is True and "1 of them void" in result.stderr


def test_no_model_library_is_loaded(run_dir: Path) -> None:
    import subprocess

    code = (
        "import sys; from scripts.cli.app import app\n"
        f"app(['score', '--trajectories', {str(run_dir / 'rollouts' / 'step_00003.jsonl')!r}], standalone_mode=False)\n"
        "print([m for m in ('torch', 'verl', 'ray', 'vllm', 'transformers') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
