"""The data stages: own rows are imported, split by workflow and measured; too long ones are left out and counted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_synthesis.records import read_records, write_records
from environment.core.errors import DataError
from scripts.bench.world.serving import serve
from scripts.cli.data_work import preprocess, world
from scripts.cli.fitting import keep_fitting
from training.launch.paths import RunPaths
from training.launch.tests.fakes import launch
from training.launch.tests.test_prompt_length import model_folder

SHARED = Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "data"


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_exactly_the_rows_that_fit_stay_in_order(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], limit: int
) -> None:
    file = tmp_path_factory.mktemp("p") / "rows.parquet"
    pq.write_table(pa.table({"n": lengths}), file)
    fitting = [n for n in lengths if n <= limit]
    facts = keep_fitting(file, lambda row: row["n"], limit, 0, "a.key")
    assert pq.read_table(file)["n"].to_pylist() == fitting
    assert (facts["rows"], facts["kept"]) == (len(lengths), len(fitting))


def test_too_few_rows_is_an_error_that_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": [5, 6, 1]}), file)
    with pytest.raises(DataError, match=r"1 of 3 rows fit into 4 tokens") as caught:
        keep_fitting(file, lambda row: row["n"], 4, 2, "a.key")
    assert "a.key" in str(caught.value) and pq.read_table(file).num_rows == 3


@pytest.fixture
def own_rows(tmp_path: Path) -> Path:
    """Return 24 of the reference's records in a pickle, as users have them."""
    source = SHARED / "bfcl_training_3_per_workflow.jsonl"
    if not source.is_file():
        pytest.skip(f"{source.name}: reference data not there")
    rows = list(read_records(source))[:24]
    write_records(tmp_path / "rows.pkl", rows)
    return tmp_path / "rows.pkl"


def test_own_rows_become_world_and_parquet_split_by_workflow(own_rows: Path, tmp_path: Path) -> None:
    found = launch(f"tool_rl.data.train={own_rows}", f"tool_rl.run_root={tmp_path}", "data.max_prompt_length=2000",
                   "actor_rollout_ref.rollout.max_model_len=4000", "tool_rl.sft.max_length=9000")  # fmt: skip
    paths = RunPaths(Path(found.settings.run_dir))
    paths.model.mkdir(parents=True)
    model_folder(paths.model)
    world(paths, found.settings, found.config)
    preprocess(paths, found.settings, found.config)
    rows = {split: pq.read_table(paths.parquet("rl", split)).to_pylist() for split in ("train", "heldout")}
    workflows = {split: {row["extra_info"]["workflow_id"] for row in found} for split, found in rows.items()}
    assert workflows["train"] and workflows["heldout"] and not workflows["train"] & workflows["heldout"]
    assert sum(map(len, rows.values())) == 24
    assert pq.read_table(paths.parquet("sft", "train")).num_rows == len(rows["train"])
    assert all(json.loads(row["extra_info"]["task"])["steps"] for row in rows["train"])


@pytest.mark.slow
def test_a_served_world_prepares_the_same_rows(own_rows: Path, tmp_path: Path) -> None:
    """The run on the server keeps a reference to it and no world of its own; its dialogues are those of the other."""
    given = [f"tool_rl.data.train={own_rows}", "data.max_prompt_length=2000", "tool_rl.sft.max_length=9000",
             "actor_rollout_ref.rollout.max_model_len=4000"]  # fmt: skip
    here = _prepared(tmp_path / "here", given)
    with serve(here.world) as (port, _):
        served = ["tool_rl.world.kind=http", f"tool_rl.world.url=http://127.0.0.1:{port}"]
        there = _prepared(tmp_path / "there", [*given, *served])
    assert not there.world.exists() and json.loads(there.world_of("http").read_text())["entries"] > 0
    for kind, split in (("sft", "train"), ("rl", "train"), ("rl", "heldout")):
        assert pq.read_table(there.parquet(kind, split)).equals(pq.read_table(here.parquet(kind, split)))


def _prepared(root: Path, given: list[str]) -> RunPaths:
    found = launch(*given, f"tool_rl.run_root={root}")
    paths = RunPaths(Path(found.settings.run_dir))
    paths.model.mkdir(parents=True)
    model_folder(paths.model)
    world(paths, found.settings, found.config)
    preprocess(paths, found.settings, found.config)
    return paths
