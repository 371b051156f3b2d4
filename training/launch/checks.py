"""Settings that must agree with each other: batch arithmetic, token budgets, devices, data paths.

Each check reads the resolved configuration as plain containers and returns problems; none stops at
the first, none imports verl.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from environment.core.errors import ConfigError
from environment.server.client import address
from training.advantages.settings import ONE_A_ROLLOUT
from training.launch.overrides import lookup
from training.launch.problems import Problem
from training.launch.redact import Redactor
from training.launch.settings import ToolRl

Tree = Mapping[str, object]
"""A resolved configuration."""

WHOLE_KEYS: dict[str, int] = {
    "data.train_batch_size": 1,
    "data.max_prompt_length": 1,
    "data.max_response_length": 1,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 1,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 1,
    "actor_rollout_ref.rollout.n": 1,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 1,
    "actor_rollout_ref.rollout.multi_turn.max_user_turns": 1,
    "actor_rollout_ref.rollout.multi_turn.max_assistant_turns": 1,
    "actor_rollout_ref.rollout.multi_turn.max_parallel_calls": 1,
    "actor_rollout_ref.rollout.multi_turn.max_tool_response_length": 1,
    "trainer.nnodes": 1,
    "trainer.n_gpus_per_node": 1,
    "trainer.total_training_steps": 1,
    "trainer.save_freq": -1,
}
"""verl keys that must be whole numbers, with their least value."""

MIN_TURN_TOKENS = 8
"""No assistant turn with a call fits into fewer tokens than this."""


def cross_check(tree: Tree, settings: ToolRl | None) -> list[Problem]:
    """Return every contradiction in the configuration."""
    if not tree:
        return []
    problems = list(_whole_numbers(tree))
    wrong = {problem.key for problem in problems}
    numbers = {key: _number(tree, key) for key in WHOLE_KEYS if key not in wrong}
    for check in (_batches, _tokens, _parallel, _rewards_and_rates):
        problems += check(tree, numbers)
    return problems + (list(_ours(settings, tree)) if settings else [])


def _get(tree: Tree, key: str) -> Any:
    return lookup(tree, key)[1]


def _number(tree: Tree, key: str) -> int:
    return int(_get(tree, key))


def _whole_numbers(tree: Tree) -> Iterator[Problem]:
    for key, least in WHOLE_KEYS.items():
        value = _get(tree, key)
        if not isinstance(value, int) or isinstance(value, bool):
            yield Problem(key, f"is {value!r}", expected="a whole number")
        elif value < least or (least < 0 and value == 0):
            yield Problem(key, f"is {value}", expected=f"at least {least}" if least > 0 else "-1 (never) or at least 1")


def _batches(tree: Tree, numbers: Mapping[str, int]) -> Iterator[Problem]:
    batch = numbers.get("data.train_batch_size")
    mini = numbers.get("actor_rollout_ref.actor.ppo_mini_batch_size")
    rollouts = numbers.get("actor_rollout_ref.rollout.n")
    ranks = _ranks(numbers)
    if batch and mini and batch % mini:
        yield Problem(
            "actor_rollout_ref.actor.ppo_mini_batch_size",
            f"{mini} does not divide data.train_batch_size {batch}",
            expected=f"one of {_divisors(batch)}",
        )
    if batch and rollouts and ranks and batch * rollouts % ranks:
        what = f"{batch} prompts x {rollouts} rollouts = {batch * rollouts} trajectories don't split over {ranks} ranks"
        yield Problem("data.train_batch_size", what, expected=f"a multiple of {ranks}")
    micro = numbers.get("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu")
    if mini and rollouts and ranks and micro:
        share = mini * rollouts // ranks
        if share % micro:
            key = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"
            yield Problem(
                key,
                f"{micro} does not divide the {share} trajectories per rank and update",
                expected=f"one of {_divisors(share)}",
            )
    if rollouts == 1 and _get(tree, "algorithm.adv_estimator") in ("grpo", "rloo"):
        what = "1 rollout per prompt: a group of one has no relative advantage, so nothing would be learnt"
        yield Problem("actor_rollout_ref.rollout.n", what, expected="at least 2")


def _tokens(tree: Tree, numbers: Mapping[str, int]) -> Iterator[Problem]:
    prompt, response = numbers.get("data.max_prompt_length"), numbers.get("data.max_response_length")
    window = _get(tree, "actor_rollout_ref.rollout.max_model_len")
    if prompt and response and isinstance(window, int) and window < prompt + response:
        what = f"{window} is less than prompt {prompt} + response {response}"
        yield Problem("actor_rollout_ref.rollout.max_model_len", what, expected=f"at least {prompt + response}")
    turns = numbers.get("actor_rollout_ref.rollout.multi_turn.max_assistant_turns")
    if response and turns and response < turns * MIN_TURN_TOKENS:
        what = f"{response} tokens can't hold {turns} assistant turns"
        yield Problem("data.max_response_length", what, expected=f"at least {turns * MIN_TURN_TOKENS}")
    shown = numbers.get("actor_rollout_ref.rollout.multi_turn.max_tool_response_length")
    if response and shown and shown >= response:
        key = "actor_rollout_ref.rollout.multi_turn.max_tool_response_length"
        yield Problem(
            key,
            f"one reply of {shown} tokens fills the whole response of {response}",
            expected=f"less than data.max_response_length {response}",
        )


def _parallel(tree: Tree, numbers: Mapping[str, int]) -> Iterator[Problem]:
    split = numbers.get("actor_rollout_ref.rollout.tensor_model_parallel_size")
    ranks = _ranks(numbers)
    if split and ranks and ranks % split:
        key = "actor_rollout_ref.rollout.tensor_model_parallel_size"
        yield Problem(key, f"{split} does not divide the {ranks} ranks", expected=f"one of {_divisors(ranks)}")
    device, ours = _get(tree, "trainer.device"), _get(tree, "tool_rl.device")
    if device != ours:
        yield Problem("trainer.device", f"is {device!r} but tool_rl.device is {ours!r}", expected="the same device")
    strategy = _get(tree, "actor_rollout_ref.actor.strategy")
    if device == "cpu" and strategy != "fsdp2":
        yield Problem("actor_rollout_ref.actor.strategy", f"{strategy!r} needs an accelerator", expected="'fsdp2'")
    if device == "cpu" and _get(tree, "actor_rollout_ref.model.use_remove_padding"):
        what = "needs flash-attn, which has no CPU build"
        yield Problem("actor_rollout_ref.model.use_remove_padding", what, expected="false")


def _rewards_and_rates(tree: Tree, numbers: Mapping[str, int]) -> Iterator[Problem]:
    del numbers
    checks: dict[str, tuple[Callable[[float], bool], str]] = {
        "actor_rollout_ref.actor.optim.lr": (lambda rate: 0 < rate < 1, "a number between 0 and 1"),
        "actor_rollout_ref.actor.kl_loss_coef": (lambda weight: weight >= 0, "at least 0"),
        "actor_rollout_ref.rollout.temperature": (lambda heat: 0 < heat <= 2, "above 0, at most 2"),
        "actor_rollout_ref.rollout.gpu_memory_utilization": (lambda share: 0 < share <= 1, "above 0, at most 1"),
    }
    for key, (right, expected) in checks.items():
        value = _get(tree, key)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not right(value):
            yield Problem(key, f"is {value!r}", expected=expected)


def _ours(settings: ToolRl, tree: Tree) -> Iterator[Problem]:
    if not any(settings.reward.weights.values()):
        yield Problem(
            "tool_rl.reward.weights", "are all 0: every trajectory would score the same", expected="one above 0"
        )
    if settings.sft.enabled and settings.sft.batch_size % settings.sft.micro_batch_size:
        what = f"{settings.sft.micro_batch_size} does not divide tool_rl.sft.batch_size {settings.sft.batch_size}"
        yield Problem("tool_rl.sft.micro_batch_size", what, expected=f"one of {_divisors(settings.sft.batch_size)}")
    if settings.sft.warmup_steps > settings.sft.steps:
        what = f"{settings.sft.warmup_steps} warm-up steps of {settings.sft.steps} steps in all"
        yield Problem("tool_rl.sft.warmup_steps", what, expected="at most tool_rl.sft.steps")
    for part, layers in (("actor", settings.actor.train_layers), ("sft", settings.sft.train_layers)):
        if layers and settings.device != "cpu":
            what = "only the CPU engine can leave layers untrained; here it would do nothing"
            yield Problem(f"tool_rl.{part}.train_layers", what, expected="0")
    keep, rollouts = settings.actor.keep_per_group, _get(tree, "actor_rollout_ref.rollout.n")
    if keep is not None and isinstance(rollouts, int) and keep > rollouts:
        what = f"{keep} of {rollouts} rollouts per prompt"
        yield Problem("tool_rl.actor.keep_per_group", what, expected="at most actor_rollout_ref.rollout.n, or null")
    if not settings.data.train and settings.evaluate.rows > settings.synth.heldout:
        what = f"{settings.evaluate.rows} rows to evaluate, {settings.synth.heldout} synthesised"
        yield Problem("tool_rl.evaluate.rows", what, expected="at most tool_rl.synth.heldout")
    if not settings.data.train and _get(tree, "data.train_batch_size") > settings.synth.train:
        what = f"a batch of {_get(tree, 'data.train_batch_size')} prompts, {settings.synth.train} rows synthesised"
        yield Problem("tool_rl.synth.train", what, expected="at least data.train_batch_size")
    source = settings.model.source
    if source.startswith(("/", ".", "~")) and not Path(source).expanduser().is_dir():
        yield Problem("tool_rl.model.source", f"no folder {source}", expected="a Hugging Face folder or a hub name")
    yield from _data_paths(settings)
    yield from _advantage(settings, tree)


def _advantage(settings: ToolRl, tree: Tree) -> Iterator[Problem]:
    ours, estimator = settings.advantage, _get(tree, "algorithm.adv_estimator")
    parts = {"turn_credit.enabled": ours.turn_credit.enabled, "egpo.enabled": ours.egpo.enabled}
    parts["recentre"] = ours.recentre
    if estimator not in ONE_A_ROLLOUT:
        expected = f"false, or algorithm.adv_estimator one of {', '.join(sorted(ONE_A_ROLLOUT))}"
        for part, on in parts.items():
            if on:
                what = f"shapes one advantage a rollout; {estimator!r} gives every token its own"
                yield Problem(f"tool_rl.advantage.{part}", what, expected=expected)
    if settings.actor.keep_per_group is not None and estimator != "grpo":
        what = f"is {estimator!r}, but tool_rl.actor.keep_per_group computes group-relative advantages itself"
        yield Problem("algorithm.adv_estimator", what, expected="'grpo', or tool_rl.actor.keep_per_group=null")
    metric = _get(tree, "algorithm.filter_groups.metric")
    if _get(tree, "algorithm.filter_groups.enable") and metric != "acc":
        what = f"is {metric!r}: a graduated reward nearly always has spread, so groups without a difference would stay"
        yield Problem("algorithm.filter_groups.metric", what, expected="'acc', the outcome")


def _data_paths(settings: ToolRl) -> Iterator[Problem]:
    train, heldout = settings.data.train, settings.data.heldout
    if heldout and not train:
        yield Problem(
            "tool_rl.data.train",
            "is not set though tool_rl.data.heldout is",
            expected="both or only train",
            fix="TRAIN_DATA_PATH=... beside TEST_DATA_PATH",
        )
    for key, text in (("tool_rl.data.train", train), ("tool_rl.data.heldout", heldout)):
        if not text:
            continue
        if Path(text).suffix not in (".pkl", ".jsonl", ".parquet"):
            yield Problem(key, f"{text!r} has an unknown ending", expected=".pkl, .jsonl or .parquet")
        elif not Path(text).is_file():
            yield Problem(key, f"no file {text}", fix="check the path; it is taken relative to where you stand")
    yield from _world(settings)
    parquet = [text for text in (train, heldout) if text and text.endswith(".parquet")]
    if parquet and settings.sft.enabled:
        yield Problem(
            "tool_rl.sft.enabled",
            f"the warm start needs records; {parquet[0]} holds prompts only",
            expected="false, or records (.jsonl, .pkl)",
        )


def _world(settings: ToolRl) -> Iterator[Problem]:
    world, train = settings.world, settings.data.train
    if world.kind == "import" and not (train and train.endswith((".pkl", ".jsonl"))):
        yield Problem(
            "tool_rl.world.kind",
            "'import' needs records with stored responses",
            expected="tool_rl.data.train naming a .pkl or .jsonl, or tool_rl.world.kind=file with its path",
        )
    if (world.kind == "file") != bool(world.path):
        yield Problem(
            "tool_rl.world.path",
            f"is {world.path!r} with tool_rl.world.kind={world.kind}",
            expected="a recorded world with kind=file, else null",
        )
    elif world.path and not Path(world.path).is_file():
        yield Problem("tool_rl.world.path", f"no file {world.path}")
    yield from _served_world(settings)


def _served_world(settings: ToolRl) -> Iterator[Problem]:
    world = settings.world
    if (world.kind == "http") != bool(world.url):
        what = f"is {Redactor({}).text(repr(world.url))} with tool_rl.world.kind={world.kind}"
        yield Problem("tool_rl.world.url", what, expected="the address of a tool-rl serve with kind=http, else null")
    elif world.url:
        try:
            address(world.url)
        except ConfigError as error:
            yield Problem("tool_rl.world.url", f"is {error.got!r}", expected=error.expected, fix=error.fix)
    if world.kind == "http" and not settings.data.train:
        fix = "TRAIN_DATA_PATH=... with rows of your own, or kind=file with the world's file"
        yield Problem("tool_rl.world.kind", "'http' needs rows: synthesis looks through a world's file", fix=fix)


def _ranks(numbers: Mapping[str, int]) -> int:
    return numbers.get("trainer.nnodes", 0) * numbers.get("trainer.n_gpus_per_node", 0)


def _divisors(number: int) -> str:
    return ", ".join(str(k) for k in range(1, number + 1) if number % k == 0)
