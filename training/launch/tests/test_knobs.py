"""Environment variables really override, and lose only against key=value arguments."""

from __future__ import annotations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st

from training.launch.knobs import KNOBS, TEXT_KEYS, from_environment
from training.launch.tests.fakes import launch, value

NUMBERS = {
    "LEARNING_RATE": "3e-05", "BATCH_SIZE": "8", "MINI_BATCH_SIZE": "2", "ROLLOUT_N": "8", "KL_COEF": "0.02",
    "REWARD_ATOMIC": "0.3", "REWARD_ORCH": "0.6", "REWARD_STATE": "0.1", "MAX_USER_TURNS": "3",
    "MAX_ASSISTANT_TURNS": "4", "MAX_TOOL_RESPONSE_LENGTH": "55", "CHECKPOINT_SAVE_FREQ": "2",
    "MAX_CHECKPOINTS_TO_KEEP": "3", "N_GPUS_PER_NODE": "2", "NNODES": "2",
}  # fmt: skip


def test_every_number_knob_reaches_its_key() -> None:
    found = launch(environ=NUMBERS)
    for name, text in NUMBERS.items():
        assert value(found, KNOBS[name]) == pytest.approx(float(text)), name


def test_limits_follow_the_turn_knobs() -> None:
    limits = launch(environ=NUMBERS).settings.limits
    assert (limits.max_turns, limits.observation_tokens) == (4, 55)


@settings(max_examples=30, deadline=None)
@given(
    st.text(
        st.characters(codec="utf-8", exclude_characters="\n\r\0", exclude_categories=["Cc", "Cs"]), min_size=1
    ).filter(lambda text: text.strip() == text and not text.startswith(("/", ".", "~")) and "\\" not in text)
)
def test_texts_arrive_letter_by_letter(text: str) -> None:
    (setting,) = from_environment({"PROJECT_NAME": text})
    assert OverridesParser.create().parse_override(setting.text).value() == text


def test_precedence_is_profile_then_environment_then_argument() -> None:
    key = "actor_rollout_ref.rollout.n"
    assert value(launch(), key) == 4
    assert value(launch(environ={"ROLLOUT_N": "6"}), key) == 6
    assert value(launch(f"{key}=8", environ={"ROLLOUT_N": "6"}), key) == 8


def test_an_empty_variable_counts_as_unset() -> None:
    assert from_environment(dict.fromkeys(KNOBS, "")) == []


def test_sources_are_recorded() -> None:
    found = launch("tool_rl.seed=3", environ={"ROLLOUT_N": "6"})
    assert [(s.key, s.source) for s in found.sources] == [
        ("profile", "--profile"), ("actor_rollout_ref.rollout.n", "ROLLOUT_N"), ("tool_rl.seed", "argument"),
    ]  # fmt: skip


def test_algorithm_chooses_the_group() -> None:
    assert value(launch(environ={"ALGORITHM": "rloo"}), "algorithm.adv_estimator") == "rloo"


def test_weights_of_the_legacy_reward_have_their_own_names() -> None:
    found = launch("reward=legacy", environ={"REWARD_ATOMIC": "0.25"})
    assert found.settings.reward.weights["R_atomic_validity"] == 0.25


def test_wandb_needs_a_key_or_a_wish() -> None:
    assert "wandb" not in str(value(launch(), "trainer.logger"))
    assert "wandb" in str(value(launch(environ={"WANDB_API_KEY": "x" * 40}), "trainer.logger"))
    assert "wandb" in str(value(launch("logging=wandb"), "trainer.logger"))
    assert "wandb" not in str(value(launch("logging=files", environ={"WANDB_API_KEY": "x" * 40}), "trainer.logger"))


def test_text_keys_are_known_knobs() -> None:
    assert set(KNOBS.values()) >= TEXT_KEYS
