"""Environment variables of the reference's run.sh, each mapped to the configuration key it sets.

There they were plain assignments that the environment could not override. Here a variable that is
set and not empty becomes an override between the profile and the key=value arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KNOBS: dict[str, str] = {
    "MODEL_PATH": "tool_rl.model.source",
    "ALGORITHM": "algorithm",
    "LEARNING_RATE": "actor_rollout_ref.actor.optim.lr",
    "BATCH_SIZE": "data.train_batch_size",
    "MINI_BATCH_SIZE": "actor_rollout_ref.actor.ppo_mini_batch_size",
    "ROLLOUT_N": "actor_rollout_ref.rollout.n",
    "KL_COEF": "actor_rollout_ref.actor.kl_loss_coef",
    "REWARD_ATOMIC": "tool_rl.reward.weights.atomic",
    "REWARD_ORCH": "tool_rl.reward.weights.orchestration",
    "REWARD_STATE": "tool_rl.reward.weights.state",
    "MAX_USER_TURNS": "actor_rollout_ref.rollout.multi_turn.max_user_turns",
    "MAX_ASSISTANT_TURNS": "actor_rollout_ref.rollout.multi_turn.max_assistant_turns",
    "MAX_TOOL_RESPONSE_LENGTH": "actor_rollout_ref.rollout.multi_turn.max_tool_response_length",
    "TRAIN_DATA_PATH": "tool_rl.data.train",
    "TEST_DATA_PATH": "tool_rl.data.heldout",
    "PROJECT_NAME": "trainer.project_name",
    "EXPERIMENT_NAME": "trainer.experiment_name",
    "CHECKPOINT_SAVE_FREQ": "trainer.save_freq",
    "MAX_CHECKPOINTS_TO_KEEP": "trainer.max_actor_ckpt_to_keep",
    "N_GPUS_PER_NODE": "trainer.n_gpus_per_node",
    "NNODES": "trainer.nnodes",
}
"""Variable name to configuration key (`algorithm` is a group)."""

LEGACY_KNOBS: dict[str, str] = {
    "REWARD_ATOMIC": "tool_rl.reward.weights.R_atomic_validity",
    "REWARD_ORCH": "tool_rl.reward.weights.R_outcome_orchestration",
    "REWARD_STATE": "tool_rl.reward.weights.R_outcome_state",
}
"""The same with reward=legacy."""

TEXT_KEYS = frozenset(
    KNOBS[name] for name in ("MODEL_PATH", "TRAIN_DATA_PATH", "TEST_DATA_PATH", "PROJECT_NAME", "EXPERIMENT_NAME")
)
"""Keys whose value is taken letter by letter, never as a number or an expression."""


@dataclass(frozen=True)
class Setting:
    """One override: its key and value as Hydra text, and where it came from."""

    text: str
    source: str

    @property
    def key(self) -> str:
        """Return the key without prefix and value."""
        return self.text.lstrip("+~").split("=", 1)[0]


def from_environment(environ: Mapping[str, str], choices: Mapping[str, str] | None = None) -> list[Setting]:
    """Return the overrides that environment variables ask for, in table order.

    Args:
        environ: the environment; empty values count as unset.
        choices: groups chosen on the command line. W&B is not switched on against `logging`; the reference's reward
            has names of its own for its weights.
    """
    choices = choices or {}
    keys = {**KNOBS, **LEGACY_KNOBS} if choices.get("reward") == "legacy" else KNOBS
    found = [Setting(f"{key}={_quoted(key, environ[name])}", name) for name, key in keys.items() if environ.get(name)]
    if environ.get("WANDB_API_KEY") and "logging" not in choices:
        found.insert(0, Setting("logging=wandb", "WANDB_API_KEY"))
    return found


def _quoted(key: str, value: str) -> str:
    if key not in TEXT_KEYS:
        return value.strip()
    escaped = value.replace("\\'", "\\\\'").replace("'", "\\'")
    return f"'{escaped}'"
