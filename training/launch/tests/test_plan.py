"""The plan: right arithmetic, honest about what is reused, for every profile, and nothing is touched."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from training.launch.compose import as_tree
from training.launch.paths import RunPaths
from training.launch.plan import make_plan
from training.launch.plan_text import render_plan
from training.launch.problems import Problem
from training.launch.rundir import settle_config
from training.launch.stages import plan_stages
from training.launch.stamps import Stamps
from training.launch.tests.fakes import PROFILES, launch, tiny
from training.launch.verl_check import VerlCheck


def planned(*arguments: str, profile: str = "cpu_tiny", **knobs: str) -> str:
    """Return the text of a plan."""
    found = launch(*arguments, profile=profile, environ=knobs)
    return render_plan(make_plan(found, as_tree(found.config)))


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_has_a_plan_on_a_bare_machine(profile: str, tmp_path: Path) -> None:
    text = planned(f"tool_rl.run_root={tmp_path}", profile=profile)
    for word in ("world", "rl", "export", "evaluate-rl", "report", "batches", "tokens", "disk", "nothing was started"):
        assert word in text
    assert list(tmp_path.iterdir()) == []


def test_the_reference_s_arithmetic() -> None:
    text = planned(profile="gpu_8x")
    assert "16 prompts x 16 rollouts = 256 trajectories" in text
    assert "100 steps, 25600 trajectories" in text
    assert "4 vLLM replica(s) of 2 GPU(s)" in text
    assert "12384 prompt + 16384 response = 28768" in text
    assert "0 GPU(s), the profile asks for 8" in text


def test_a_cpu_update_is_told_as_it_is_made() -> None:
    text = planned("actor_rollout_ref.rollout.n=6", "tool_rl.actor.keep_per_group=3", profile="cpu_smol")
    assert "the 3 widest of each 6 of 96 trajectories an update, laid end to end" in text
    assert "32 trajectories an update, 1 at once: 32 passes" in planned(profile="gpu_8x")


def test_settings_are_shown_with_their_source() -> None:
    text = planned("tool_rl.seed=3", ROLLOUT_N="8")
    assert "ROLLOUT_N" in text and "argument" in text and "--profile" in text


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.touch()
    text = planned(f"tool_rl.data.train={rows}", "tool_rl.sft.enabled=false")
    assert "left out: your own rows" in text and "left out: off" in text and "stored responses" in text


@pytest.mark.slow
def test_long_templates_are_part_of_what_the_world_is_made_of(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("patterns: []")
    paths = RunPaths(tmp_path)
    worlds, synths = {}, {}
    for which in ("default", "all", str(own)):
        stages = {s.name: s for s in plan_stages(launch(f"tool_rl.synth.templates={which}").settings, paths)}
        worlds[which], synths[which] = stages["world"], stages["synth"]
    assert "tool_rl.synth.templates" not in worlds["default"].keys
    assert {"tool_rl.synth.templates", "tool_rl.synth.seed"} <= set(worlds["all"].keys)
    assert worlds["all"].inputs == () and worlds[str(own)].inputs == synths[str(own)].inputs == (own,)


def test_done_stages_are_reused_and_later_ones_wait(tmp_path: Path) -> None:
    found = launch(f"tool_rl.run_root={tmp_path}")
    paths, tree = RunPaths(Path(found.settings.run_dir)), as_tree(found.config)
    settle_config(paths, tree)
    world, model = plan_stages(found.settings, paths)[:2]
    paths.world.parent.mkdir(parents=True)
    paths.world.write_bytes(b"world")
    Stamps(paths, tree).finish(world, 1.0)
    Stamps(paths, tree).begin(model)
    states = {stage.name: stage.state for stage in make_plan(found, tree).stages}
    assert (states["world"], states["model"], states["synth"]) == ("done", "started", "new")


def test_a_configuration_other_than_the_run_s_is_announced(tmp_path: Path) -> None:
    first = launch(f"tool_rl.run_root={tmp_path}")
    settle_config(RunPaths(Path(first.settings.run_dir)), as_tree(first.config))
    assert "a run would refuse" in planned(f"tool_rl.run_root={tmp_path}", "tool_rl.sft.steps=3")


@pytest.mark.parametrize(
    ("program", "words", "wrong"),
    [
        ("print('TOOL_RL fine')", "fine", False),
        ("print('TOOL_RL absent ImportError: no verl')", "can't be imported", False),
        ("print('TOOL_RL wrong ValueError: bad batch')", "refuses", True),
        ("raise SystemExit(3)", "without an answer", False),
    ],
)
def test_what_verl_s_validator_says(program: str, words: str, wrong: bool) -> None:
    verdict = VerlCheck(tiny().config, program=program).result()
    assert words in verdict.words
    assert list(verdict.problems) == ([Problem("verl", "ValueError: bad batch")] if wrong else [])


def test_a_slow_validator_is_not_waited_for() -> None:
    began = time.monotonic()
    verdict = VerlCheck(tiny().config, program="import time; time.sleep(60)", patience_s=0.5).result()
    assert "no answer in time" in verdict.words and time.monotonic() - began < 10


def test_the_plan_says_what_shapes_advantages_and_what_it_costs() -> None:
    assert "advantages      grpo\n" in planned()
    text = planned("algorithm=egpo", "tool_rl.advantage.recentre=true")
    assert "grpo, EGPO (lambda 0.4, alpha 2, entropy of assistant), re-centred; one more forward pass" in text
    assert "forward pass" not in planned("algorithm=egpo", profile="gpu"), "verl computes them with the old log-probs"
