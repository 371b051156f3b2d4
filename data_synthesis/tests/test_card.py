"""Cards: the same facts for programs and for people, true to the files, equal for equal sets."""
from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from data_synthesis.card.document import Card, amend_card, write_card
from data_synthesis.card.synth import write_synth_card
from data_synthesis.preprocess import preprocess_rl, preprocess_sft
from data_synthesis.preprocess.card import amend_preprocess_card
from data_synthesis.records import read_records
from data_synthesis.synth import SynthReport, synthesise
from environment.booking.schemas import load_schemas
from environment.core.errors import DataError


@pytest.fixture(scope="module")
def made(world_path: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SynthReport]:
    folder = tmp_path_factory.mktemp("card")
    return folder, synthesise(world_path, None, folder, 40, 10, 3, observation_chars=260)


def test_a_synthesis_card_counts_the_rows_of_the_files(made: tuple[Path, SynthReport]) -> None:
    folder, report = made
    machine, people = write_synth_card(folder, report, {"seed": 3}, load_schemas())
    card = json.loads(machine.read_text())
    rows = {split: list(read_records(folder / f"{split}.jsonl")) for split in ("train", "heldout")}
    for split, records in rows.items():
        by_template = {name: c[split] for name, c in card["counts"]["By template"].items() if c[split]}
        assert sum(by_template.values()) == len(records)
        assert set(by_template) == {record["workflow_id"] for record in records}
        assert sum(c[split] for c in card["counts"]["By domain"].values()) == len(records)
        assert sum(int(n) * c[split] for n, c in card["counts"]["By number of calls"].items()) == sum(
            len(record["steps"]) for record in records
        )
    turned_down = card["counts"].get("Turned down, by reason", {})
    assert {name: c["train"] for name, c in turned_down.items() if c["train"]} == report.train.rejected
    assert [o["measures"]["entity"]["samples"] for o in card["overlaps"]] == [0]
    assert card["about"]["seed"] == 3
    for file in card["files"]:
        data = (folder / file["name"]).read_bytes()
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    text = people.read_text()
    assert all(f"| {name} |" in text for name in card["counts"]["By template"]) and "| entity |" in text


def test_equal_sets_have_equal_cards(made: tuple[Path, SynthReport], world_path: Path, tmp_path: Path) -> None:
    folder, report = made
    again = synthesise(world_path, None, tmp_path, 40, 10, 3, observation_chars=260)
    one = [path.read_bytes() for path in write_synth_card(folder, report)]
    assert one == [path.read_bytes() for path in write_synth_card(tmp_path, again)]


def test_preprocessing_writes_a_card_beside_every_parquet(
    made: tuple[Path, SynthReport], world_path: Path, tmp_path: Path
) -> None:
    preprocess_rl(made[0] / "train.jsonl", tmp_path / "rl.parquet")
    preprocess_sft(made[0] / "train.jsonl", world_path, tmp_path / "sft.parquet", observation_chars=260)
    for name in ("rl", "sft"):
        card = json.loads((tmp_path / f"{name}.card.json").read_text())
        assert card["about"]["rows"] == 40 and card["files"][0]["name"] == f"{name}.parquet"
        assert sum(c["rows"] for c in card["counts"]["By template"].values()) == 40
        assert f"{name}.parquet" in (tmp_path / f"{name}.card.md").read_text()


def test_a_card_can_be_added_to_when_its_file_changes(made: tuple[Path, SynthReport], tmp_path: Path) -> None:
    file = tmp_path / "rl.parquet"
    preprocess_rl(made[0] / "train.jsonl", file)
    before = json.loads((tmp_path / "rl.card.json").read_text())
    pq.write_table(pq.read_table(file).slice(0, 30), file)
    amend_preprocess_card(file, {"rows that fit": 30})
    card = json.loads((tmp_path / "rl.card.json").read_text())
    assert card["about"] == {**before["about"], "rows that fit": 30}
    assert card["files"][0]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest() != before["files"][0]["sha256"]
    assert "rows that fit: 30" in (tmp_path / "rl.card.md").read_text()


@pytest.mark.parametrize("text", [None, "{", "[]", "{}"])
def test_what_is_no_card_is_not_added_to(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "x.card.json").write_text(text)
    with pytest.raises(DataError, match=r"x\.card\.json"):
        amend_card(tmp_path / "x", {"a": 1})


def test_text_of_rows_does_not_break_the_tables(tmp_path: Path) -> None:
    card = Card("T", {"a": "x|y\nz"}, {"H": {"a|b": {"rows": 1}}}, {"N": ["line\n# no heading"]})
    _, people = write_card(tmp_path / "set.v1", card)
    assert people.name == "set.v1.card.md"
    text = people.read_text()
    assert "| a\\|b | 1 |" in text and "\n# no heading" not in text and "x\\|y z" in text
