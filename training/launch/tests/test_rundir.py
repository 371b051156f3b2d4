"""A run directory has one configuration for its whole life, and says what differs; secrets stay out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.core.errors import ConfigError
from training.launch.compose import as_tree
from training.launch.files import LARGE, fingerprint, read_json, write_atomic, write_json
from training.launch.main import read_run
from training.launch.paths import RunPaths
from training.launch.redact import HIDDEN, Redactor, is_secret
from training.launch.rundir import compare, fresh_name, hold, read_config, settle_config
from training.launch.siblings import runs_of_other_seeds
from training.launch.tests.fakes import launch

N = "actor_rollout_ref.rollout.n"


def settled(root: Path, *arguments: str) -> RunPaths:
    """Write the configuration of a launch into its run directory below `root`."""
    found = launch(*arguments, f"tool_rl.run_root={root}")
    paths = RunPaths(Path(found.settings.run_dir))
    settle_config(paths, as_tree(found.config))
    return paths


def test_the_same_configuration_again_is_fine(tmp_path: Path) -> None:
    assert settled(tmp_path) == settled(tmp_path)


def test_another_configuration_is_refused_with_each_difference_and_nothing_changes(tmp_path: Path) -> None:
    paths = settled(tmp_path)
    before = paths.config.read_bytes()
    with pytest.raises(ConfigError, match="cannot resume") as caught:
        settled(tmp_path, f"{N}=8", "tool_rl.sft.steps=7")
    text = str(caught.value)
    assert f"{N}" in text and "was 4" in text and "is 8" in text and "is 7" in text and "EXPERIMENT_NAME" in text
    assert caught.value.exit_status == 2 and paths.config.read_bytes() == before


def test_where_curves_go_may_change_and_is_written_down(tmp_path: Path) -> None:
    settled(tmp_path)
    assert "wandb: true" in settled(tmp_path, "logging=wandb").config.read_text()


def test_a_moved_run_directory_goes_on(tmp_path: Path) -> None:
    paths = settled(tmp_path / "old")
    moved = tmp_path / "new"
    (tmp_path / "old").rename(moved)
    config, ours, found = read_run(moved / paths.root.name)
    assert found.root == moved / paths.root.name
    assert ours.run_dir == str(found.root) and str(tmp_path / "old") not in str(config)
    assert settled(moved).root == found.root


@given(st.dictionaries(st.text("abc", min_size=1), st.integers() | st.text() | st.lists(st.integers())))
def test_a_configuration_does_not_differ_from_itself(tree: dict[str, object]) -> None:
    assert compare(tree, tree, Path("/x")) == []
    assert [key for key, _, _ in compare(tree, {**tree, "d": 1}, Path("/x"))] == ["d"]


def test_the_lock_is_free_again_afterwards(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    for _ in range(2):
        with hold(paths), pytest.raises(ConfigError, match="another run"), hold(paths):
            pass


def test_fresh_names_never_exist(tmp_path: Path) -> None:
    names = []
    for _ in range(3):
        names.append(fresh_name(tmp_path, "a"))
        (tmp_path / names[-1]).mkdir()
    assert names == ["a", "a-2", "a-3"]


def test_a_folder_without_configuration_is_an_error_that_helps(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        read_run(tmp_path)


def test_runs_that_differ_in_seed_alone_belong_together(tmp_path: Path) -> None:
    runs = [settled(tmp_path, f"tool_rl.seed={seed}") for seed in (3, 1, 2)]
    other = settled(tmp_path, "tool_rl.seed=4", f"{N}=8")
    for paths in (*runs[:2], other):
        write_json(paths.summary, {})
    assert runs_of_other_seeds(runs[0]) == [runs[1].root, runs[0].root]


@pytest.mark.parametrize("name", ["WANDB_API_KEY", "HF_TOKEN", "aws_secret_access_key", "db.password"])
def test_secret_names(name: str) -> None:
    assert is_secret(name)


def test_no_key_of_the_configuration_is_taken_for_a_secret() -> None:
    tree = as_tree(launch(profile="gpu_8x").config)
    assert Redactor({}).tree(tree) == tree


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8, max_size=40), st.text(), st.text())
@settings(max_examples=40)
def test_a_secret_never_gets_through(secret: str, before: str, after: str) -> None:
    redact = Redactor({"MY_API_KEY": secret})
    assert secret not in str(redact.tree({"a": [before + secret + after], "b": {"c": secret}})).replace(HIDDEN, "")
    assert redact.text("http://me:pass@host/x") == f"http://{HIDDEN}@host/x"


@given(st.text(), st.text())
@settings(max_examples=25)
def test_fingerprints_follow_content(tmp_path_factory: pytest.TempPathFactory, one: str, two: str) -> None:
    root = tmp_path_factory.mktemp("f")
    for name, text in (("a", one), ("b", two)):
        write_atomic(root / name / "x", text)
    assert (fingerprint(root / "a") == fingerprint(root / "b")) == (one.encode() == two.encode())
    assert fingerprint(root / "none") is None


def test_large_files_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big"
    with path.open("wb") as file:
        file.truncate(LARGE + 1)
    before = fingerprint(path)
    os.utime(path, ns=(1, 1))
    assert fingerprint(path) != before


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_json(path, {"a": 2})
    assert read_json(path) == {"a": 1} and [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_damaged_json_reads_as_absent(tmp_path: Path) -> None:
    (tmp_path / "x").write_text('{"a": ')
    assert read_json(tmp_path / "x") is None and read_config(RunPaths(tmp_path)) is None
