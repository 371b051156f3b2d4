"""Every shipped profile composes and validates, and says what the reference run says."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from environment.booking.seed_world import WorldSize
from environment.core.errors import ConfigError
from training.launch import compose
from training.launch.compose import CONFIG_DIR, GROUPS, group_options
from training.launch.detect import choose_profile
from training.launch.tests.fakes import BARE, EIGHT, PROFILES, launch, value
from training.reward.graduated import RewardWeights

REFERENCE = {
    "algorithm.adv_estimator": "grpo",
    "algorithm.use_kl_in_reward": False,
    "data.train_batch_size": 16,
    "data.return_raw_chat": True,
    "data.truncation": "left",
    "data.max_prompt_length": 12384,
    "data.max_response_length": 16384,
    "actor_rollout_ref.model.enable_gradient_checkpointing": True,
    "actor_rollout_ref.actor.optim.lr": 1e-6,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 16,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 1,
    "actor_rollout_ref.actor.use_kl_loss": True,
    "actor_rollout_ref.actor.kl_loss_coef": 0.001,
    "actor_rollout_ref.actor.kl_loss_type": "low_var_kl",
    "actor_rollout_ref.actor.entropy_coeff": 0,
    "actor_rollout_ref.actor.fsdp_config.param_offload": True,
    "actor_rollout_ref.actor.fsdp_config.optimizer_offload": True,
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.mode": "async",
    "actor_rollout_ref.rollout.n": 16,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 2,
    "actor_rollout_ref.rollout.gpu_memory_utilization": 0.6,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.rollout.temperature": 1.0,
    "actor_rollout_ref.rollout.multi_turn.max_user_turns": 20,
    "actor_rollout_ref.rollout.multi_turn.max_assistant_turns": 20,
    "actor_rollout_ref.rollout.multi_turn.max_tool_response_length": 8192,
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.ref.fsdp_config.param_offload": True,
    "trainer.critic_warmup": 0,
    "trainer.n_gpus_per_node": 8,
    "trainer.nnodes": 1,
    "trainer.save_freq": 10,
    "trainer.max_actor_ckpt_to_keep": 2,
    "trainer.test_freq": 20,
    "trainer.total_training_steps": 100,
    "trainer.total_epochs": 100,
}
"""The reference run's settings, specs section 7.2."""


@pytest.mark.parametrize("profile", PROFILES)
def test_profile_composes_and_validates(profile: str) -> None:
    found = launch(profile=profile)
    assert found.settings.profile == profile
    assert found.settings.run_dir.endswith(f"runs/{profile}-seed1")
    assert value(found, "actor_rollout_ref.rollout.agent.default_agent_loop") == "tool_rl_agent"
    assert value(found, "trainer.device") == found.settings.device == ("cpu" if "cpu" in profile else "cuda")
    assert "${" not in str(value(found, "tool_rl"))


def test_the_options_are_the_profiles_of_the_readme() -> None:
    assert set(group_options("profile")) == set(PROFILES)


def test_reference_settings() -> None:
    found = launch(profile="gpu_8x")
    assert {key: value(found, key) for key in REFERENCE} == REFERENCE
    assert found.settings.model.source == "Qwen/Qwen3-8B"


@pytest.mark.parametrize("group", [group for group in GROUPS if group != "profile"])
def test_every_option_of_every_group_can_be_chosen(group: str) -> None:
    for option in group_options(group):
        launch(f"{group}={option}")


def test_without_flash_attention_gpu_profiles_pad_and_say_what_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.launch.resolve.has_module", lambda name: False)
    found = launch(profile="gpu")
    assert value(found, "actor_rollout_ref.model.use_remove_padding") is False
    assert value(found, "actor_rollout_ref.model.override_config.attn_implementation") == "sdpa"
    assert any("flash-attn" in notice and "pip install" in notice for notice in found.notices)


def test_with_flash_attention_nothing_is_padded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.launch.resolve.has_module", lambda name: True)
    found = launch(profile="gpu")
    assert value(found, "actor_rollout_ref.model.use_remove_padding") is True
    assert not found.notices


def test_rl_starts_from_the_prepared_model_where_the_warm_start_is_off() -> None:
    on, off = launch(), launch("tool_rl.sft.enabled=false")
    assert str(value(on, "actor_rollout_ref.model.path")).endswith("/sft/hf")
    assert str(value(off, "actor_rollout_ref.model.path")).endswith("/model")


def test_a_running_cluster_is_joined_with_what_its_nodes_have() -> None:
    found = launch(environ={"RAY_ADDRESS": "10.0.0.1:6379"})
    ray = value(found, "ray_kwargs.ray_init")
    assert isinstance(ray, dict)
    assert (ray["address"], ray["num_cpus"], ray["num_gpus"]) == ("10.0.0.1:6379", None, None)
    alone = value(launch("trainer.n_gpus_per_node=2"), "ray_kwargs.ray_init")
    assert isinstance(alone, dict) and alone["num_gpus"] == 2 and "address" not in alone


def test_rows_of_your_own_get_the_profile_s_wider_windows_unless_you_say_otherwise(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("{}\n", encoding="utf-8")
    synthesised = launch(profile="cpu_smol")
    own = launch(profile="cpu_smol", environ={"TRAIN_DATA_PATH": str(rows)})
    told = launch("data.max_prompt_length=900", "tool_rl.records.data.max_response_length=1500", profile="cpu_smol",
                  environ={"TRAIN_DATA_PATH": str(rows), "MAX_USER_TURNS": "6"})  # fmt: skip
    prompt, response = "data.max_prompt_length", "data.max_response_length"
    assert value(own, "tool_rl.world.kind") == "import"
    assert [value(found, prompt) for found in (synthesised, own, told)] == [400, 1200, 900]
    assert [value(found, response) for found in (synthesised, own, told)] == [320, 1600, 1500]
    assert value(own, "tool_rl.limits.max_tokens") == 1600, "what follows from a window follows it"
    assert value(told, "actor_rollout_ref.rollout.multi_turn.max_user_turns") == 6


@pytest.mark.parametrize("profile", PROFILES)
def test_settings_for_rows_of_your_own_are_keys_that_exist(profile: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("{}\n", encoding="utf-8")
    launch(profile=profile, environ={"TRAIN_DATA_PATH": str(rows)})
    plain = launch(profile=profile)
    names = value(plain, "tool_rl.records")
    assert isinstance(names, dict)
    for key in dotted(names):
        value(plain, key)


def dotted(tree: dict[str, Any], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, inner in tree.items():
        found += dotted(inner, f"{prefix}{name}.") if isinstance(inner, dict) else [f"{prefix}{name}"]
    return found


def test_the_world_s_measures_are_the_simulator_s() -> None:
    measures = value(launch(), "tool_rl.world.size")
    assert isinstance(measures, dict) and set(measures) == set(WorldSize.__dataclass_fields__)


def test_reward_weights_in_yaml_are_the_reward_s_defaults() -> None:
    text = (CONFIG_DIR / "reward" / "graduated.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["tool_rl"]["reward"]["weights"] == asdict(RewardWeights())


def test_profile_follows_the_hardware() -> None:
    assert choose_profile(BARE)[0] == "cpu_smol"
    assert choose_profile(EIGHT)[0] == "gpu_8x"
    assert choose_profile(EIGHT, "10.0.0.1:6379")[0] == "multinode"
    assert "no GPU" in choose_profile(BARE)[1]


def test_missing_verl_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="verl's configuration was not found") as caught:
        launch()
    assert "setup.sh" in str(caught.value) and caught.value.exit_status == 2


def test_composing_imports_neither_torch_nor_verl_nor_ray() -> None:
    code = (
        "import sys; from training.launch.resolve import load_launch; load_launch(profile='gpu_8x');"
        "print([m for m in ('torch', 'verl', 'ray', 'vllm', 'transformers') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
