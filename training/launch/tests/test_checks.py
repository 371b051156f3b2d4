"""All mistakes in one report, each with the nearest valid name; arithmetic that can't work is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from training.launch.checks import cross_check
from training.launch.compose import as_tree
from training.launch.overrides import leaf_names, nearest_key
from training.launch.problems import ConfigReport, Problem
from training.launch.resolve import load_launch
from training.launch.tests.fakes import launch, tiny

N = "actor_rollout_ref.rollout.n"
BATCH, MINI = "data.train_batch_size", "actor_rollout_ref.actor.ppo_mini_batch_size"
MICRO, RANKS = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", "trainer.n_gpus_per_node"
NAMES = list(leaf_names(as_tree(tiny().config)))


def problems(*arguments: str, **knobs: str) -> dict[str, Problem]:
    """Return the problems of a configuration by key; none where it is fine."""
    try:
        launch(*arguments, environ=knobs)
    except ConfigReport as report:
        assert report.exit_status == 2
        return {problem.key: problem for problem in report.problems}
    return {}


def put(tree: dict[str, Any], key: str, number: object) -> None:
    """Set a dotted key."""
    *parents, last = key.split(".")
    for part in parents:
        tree = tree[part]
    tree[last] = number


def test_everything_wrong_is_in_one_report() -> None:
    found = problems(
        "data.train_batch_sze=3",
        f"{N}=x",
        "tool_rl.reward.weights.atomc=1",
        "tool_rl.sft.steps=0",
        "tool_rl.evaluate.rows=1000",
        LEARNING_RATE="abc",
        TRAIN_DATA_PATH="/no/such.pkl",
    )
    assert set(found) == {"data.train_batch_sze", N, "tool_rl.reward.weights.atomc", "tool_rl.sft.steps",
                          "actor_rollout_ref.actor.optim.lr", "tool_rl.data.train"}  # fmt: skip
    assert found["data.train_batch_sze"].nearest == BATCH
    assert found["tool_rl.reward.weights.atomc"].nearest == "tool_rl.reward.weights.atomic"
    assert "LEARNING_RATE" in found["actor_rollout_ref.actor.optim.lr"].what


@given(st.sampled_from([name for name in NAMES if len(name.rpartition(".")[2]) > 4]), st.data())
def test_a_typo_in_the_last_part_finds_a_near_name(name: str, data: st.DataObject) -> None:
    parent, _, last = name.rpartition(".")
    at = data.draw(st.integers(0, len(last) - 1))
    typo = f"{parent}.{last[:at]}{last[at + 1 :]}".lstrip(".")
    assume(typo not in NAMES)
    near = nearest_key(typo, NAMES)
    assert near is not None and near.rpartition(".")[0] == parent


def test_a_key_without_its_path_finds_the_whole_one() -> None:
    assert problems("rollout.n=4")["rollout.n"].nearest == N
    assert problems("train_batch_size=4")["train_batch_size"].nearest == BATCH


@settings(max_examples=40, deadline=None)
@given(*(st.integers(1, 12) for _ in range(4)), st.integers(1, 4))
def test_batches_pass_exactly_when_everything_divides(batch: int, mini: int, n: int, micro: int, ranks: int) -> None:
    tree = as_tree(tiny().config)
    for key, number in ((BATCH, batch), (MINI, mini), (N, n), (MICRO, micro), (RANKS, ranks)):
        put(tree, key, number)
    found = cross_check(tree, None)
    fits = batch % mini == 0 and batch * n % ranks == 0 and mini * n // ranks % micro == 0 and n > 1
    assert (not found) == fits


@pytest.mark.parametrize(
    ("argument", "key"),
    [
        ("profile=cpu_tinny", "profile"),
        ("algorithm=gropo", "algorithm"),
        ("reward=graduate", "reward"),
        ("data.max_response_length=20", "data.max_response_length"),
        ("data.max_prompt_length=900", "actor_rollout_ref.rollout.max_model_len"),
        ("trainer.device=cuda", "trainer.device"),
        ("tool_rl.actor.keep_per_group=9", "tool_rl.actor.keep_per_group"),
        ("actor_rollout_ref.actor.strategy=fsdp", "actor_rollout_ref.actor.strategy"),
        ("actor_rollout_ref.model.use_remove_padding=true", "actor_rollout_ref.model.use_remove_padding"),
        ("actor_rollout_ref.actor.optim.lr=-1", "actor_rollout_ref.actor.optim.lr"),
        (
            "actor_rollout_ref.rollout.tensor_model_parallel_size=2",
            "actor_rollout_ref.rollout.tensor_model_parallel_size",
        ),
        ("tool_rl.sft.micro_batch_size=5", "tool_rl.sft.micro_batch_size"),
        ("tool_rl.sft.warmup_steps=99", "tool_rl.sft.warmup_steps"),
        ("tool_rl.world.kind=import", "tool_rl.world.kind"),
        ("tool_rl.world.kind=file", "tool_rl.world.path"),
        ("tool_rl.world.kind=http", "tool_rl.world.url"),
        ("tool_rl.world.url=http://127.0.0.1:8400", "tool_rl.world.url"),
        ("tool_rl.data.heldout=/tmp/x.pkl", "tool_rl.data.train"),
        ("tool_rl.model.source=/no/such/folder", "tool_rl.model.source"),
        ("tool_rl.evaluate.rows=1000", "tool_rl.evaluate.rows"),
        ("tool_rl.device=tpu", "tool_rl.device"),
        ("trainer.total_training_steps=2.5", "trainer.total_training_steps"),
        ("trainer.save_freq=0", "trainer.save_freq"),
        ("data.train_files=3", "data.train_files"),
        ("tool_rl.seed=1,2", "tool_rl.seed"),
        ("nonsense", "nonsense"),
        ("+tool_rl.sft.stepss=1", "tool_rl.sft.stepss"),
    ],
)
def test_what_cannot_work_is_refused_by_name(argument: str, key: str) -> None:
    profile = "cpu_tiny" if not argument.startswith("profile") else None
    with pytest.raises(ConfigReport) as caught:
        if profile is None:
            from training.launch.resolve import load_launch

            load_launch([argument], environ={})
        else:
            launch(argument)
    assert key in {problem.key for problem in caught.value.problems}


@pytest.mark.parametrize("argument", ["actor_rollout_ref.rollout.top_p=0.9", "trainer.experiment_name=5",
                                      "+trainer.tags=[a]", "data.train_batch_size=8", "reward=legacy"])  # fmt: skip
def test_what_is_right_passes(argument: str) -> None:
    assert problems(argument) == {}


def test_keys_can_be_added_and_removed() -> None:
    found = as_tree(launch("+trainer.tags=[a,b]", "++trainer.nnodes=1", "~trainer.esi_redundant_time").config)
    trainer = found["trainer"]
    assert isinstance(trainer, dict)
    assert trainer["tags"] == ["a", "b"] and "esi_redundant_time" not in trainer
    assert "trainer.nnodes" in problems("+trainer.nnodes=1")


def test_layers_cannot_be_left_untrained_on_a_gpu() -> None:
    with pytest.raises(ConfigReport) as caught:
        load_launch(["tool_rl.actor.train_layers=4", "tool_rl.sft.train_layers=2"], profile="gpu")
    keys = [problem.key for problem in caught.value.problems]
    assert {"tool_rl.actor.train_layers", "tool_rl.sft.train_layers"} <= set(keys)


def test_two_profiles_contradict() -> None:
    assert "profile" in problems("profile=cpu_smol")


def test_a_report_survives_the_way_between_processes() -> None:
    report = ConfigReport([Problem("a.b", "is 1", "2", "a.c", "do")])
    again = copy.copy(report)  # by way of __reduce__, as between processes
    assert str(again) == str(report) and again.problems == report.problems


def test_a_served_world_needs_an_address_without_a_login_and_rows(tmp_path: Any) -> None:
    served = "tool_rl.world.kind=http"
    found = problems(served, "tool_rl.world.url=http://me:hunter22@host:1")
    assert set(found) == {"tool_rl.world.url", "tool_rl.world.kind"}, "both at once"
    assert "hunter22" not in "".join(problem.render() for problem in found.values())
    assert "TOOL_RL_SERVE_TOKEN" in str(found["tool_rl.world.url"].fix)
    assert "TRAIN_DATA_PATH" in str(found["tool_rl.world.kind"].fix)
    rows = tmp_path / "rows.jsonl"
    rows.write_text("{}\n")
    knobs = {"TRAIN_DATA_PATH": str(rows)}
    assert problems(served, "tool_rl.world.url=http://127.0.0.1:8400", **knobs) == {}
    assert set(problems(served, "tool_rl.world.url=127.0.0.1:8400", **knobs)) == {"tool_rl.world.url"}
    assert set(problems(served, "tool_rl.world.path=x.db", **knobs)) == {"tool_rl.world.path", "tool_rl.world.url"}
def test_mistakes_in_the_advantage_pipeline_are_found_together() -> None:
    found = problems(
        "tool_rl.advantage.egpo.alpha=1.0",
        "tool_rl.advantage.egpo.scope=cotton",
        "tool_rl.advantage.gate=accuracy",
        "tool_rl.advantage.egpo.lamb=0.4",
        "tool_rl.advantage.masks.overlong=groups",
    )
    assert set(found) == {
        f"tool_rl.advantage.{key}" for key in ("egpo.alpha", "egpo.scope", "gate", "egpo.lamb", "masks.overlong")
    }
    assert found["tool_rl.advantage.egpo.scope"].nearest == "cot"
    assert found["tool_rl.advantage.masks.overlong"].nearest == "group"
    assert found["tool_rl.advantage.egpo.lamb"].nearest == "tool_rl.advantage.egpo.lam"


def test_shaping_needs_one_advantage_a_rollout() -> None:
    found = problems("algorithm=egpo", "algorithm.adv_estimator=gae", "tool_rl.advantage.recentre=true")
    assert {"tool_rl.advantage.egpo.enabled", "tool_rl.advantage.recentre"} <= set(found)
    assert "rloo" in str(found["tool_rl.advantage.recentre"].expected)
    for estimator in ("grpo", "rloo", "opo"):
        assert problems("algorithm=egpo", f"algorithm.adv_estimator={estimator}") == {}


def test_groups_are_told_apart_by_outcome() -> None:
    assert problems("algorithm.filter_groups.enable=true") == {}
    wrong = problems("algorithm.filter_groups.enable=true", "algorithm.filter_groups.metric=reward")
    assert set(wrong) == {"algorithm.filter_groups.metric"}


def test_downsampled_groups_are_grpos() -> None:
    keep = "tool_rl.actor.keep_per_group=2"
    assert problems(keep) == {}
    assert set(problems(keep, "algorithm=rloo")) == {"algorithm.adv_estimator"}


@pytest.mark.parametrize("algorithm", ["grpo", "egpo", "dr_grpo", "rloo"])
def test_only_egpo_shapes(algorithm: str) -> None:
    settings = launch(f"algorithm={algorithm}").settings.advantage
    assert settings.shapes == settings.egpo.enabled == (algorithm == "egpo")
    assert settings.egpo.scope == "assistant", "the tiny model writes no chain of thought"
