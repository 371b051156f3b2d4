"""`prepare`, `overlap` and the writer's options as a user runs them: what is said, where it ends, with what status."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from data_synthesis.single_turn.tests.sets import weather, write_lines
from environment.core.errors import ConfigError
from environment.server.endpoint.tests.scripted import FakeEndpoint, failed, said
from scripts.cli.app import main
from scripts.cli.sets import writer_overrides

KEEP = {
    "answerable": True, "unsupported_values": [], "complete": True, "minimal": True, "decision": "keep",
    "corrected_calls": "", "reason": "fine",
}  # fmt: skip


Run = Callable[..., tuple[int, str, str]]
"""Arguments → status, output, errors."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def once(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tool-rl", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
            raise SystemExit(0)
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return once


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "raw.jsonl", [weather(1, "Oslo"), weather(2, "Rome"), "{"])


def test_prepare_offline(raw: Path, tmp_path: Path, run: Run) -> None:
    status, shown, _ = run("prepare", raw, tmp_path / "clean.jsonl")
    assert status == 0 and "2 of 3 rows" in shown and "| read | 3 | 2 | broken_json 1 |" in shown
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == ["clean.card.json", "clean.card.md", "clean.dropped.jsonl", "clean.jsonl", "raw.jsonl"]


def test_prepare_with_two_models(raw: Path, tmp_path: Path, run: Run) -> None:
    output = tmp_path / "clean.jsonl"
    with FakeEndpoint(lambda body, number: said(json.dumps(KEEP))) as fake:
        models = ["--model", "a", "--base-url", fake.url, "--judge2-model", "b", "--max-tokens", 100_000]
        status, shown, _ = run("prepare", raw, output, *models, "--response-format", "json_object")
        assert status == 0 and "judged by a, then by b" in shown and len(fake.requests) == 4
        status, shown, _ = run("prepare", raw, output, *models, "--response-format", "json_object")
        assert status == 0 and "a: 0 asked, 2 from disk" in shown and len(fake.requests) == 4
    assert (tmp_path / "clean.replies.db").is_file()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--model", "a", "--base-url", "nowhere"], "--base-url"),
        (["--judge2-model", "b"], "--judge2-model"),
        (["--model", "a", "--max-cost", "1"], "price"),
        (["--model", "a", "--response-format", "xml"], "json_schema, json_object, none"),
        (["--against", "missing.json"], "missing.json"),
    ],
)
def test_each_mistake_of_prepare_is_one_message(
    raw: Path, tmp_path: Path, run: Run, arguments: list[str], told: str
) -> None:
    status, _, error = run("prepare", raw, tmp_path / "clean.jsonl", *arguments)
    assert status > 0 and told in error and "Traceback" not in error
    assert not (tmp_path / "clean.jsonl").exists()


def test_a_bad_key_is_one_message(
    raw: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with FakeEndpoint(lambda body, number: failed(401, "invalid key")) as fake:
        arguments = ["prepare", raw, tmp_path / "clean.jsonl", "--model", "a", "--base-url", fake.url]
        status, _, error = run(*arguments)
    assert status == 1 and "HTTP 401" in error and "valid key" in error and "sk-secret" not in error


def test_overlap_says_what_is_shared_and_forbids(raw: Path, tmp_path: Path, run: Run) -> None:
    one = write_lines(tmp_path / "one.jsonl", [weather(1, "Oslo"), weather(2, "Rome")])
    two = write_lines(tmp_path / "two.jsonl", [weather(3, "Lima"), weather(4, "Rome")])
    report = tmp_path / "overlap.json"
    status, shown, _ = run("overlap", one, two, "--json", report)
    assert status == 0 and "| entity | 2 | 2 | 1 | 1 of 2 | 50.0% |" in shown
    status, _, error = run("overlap", one, two, "--forbid", "entity", "--json", report)
    assert status == 1 and "'rome' in 2 and 4" in error
    saved = json.loads(report.read_text())
    assert saved["overlaps"][0]["measures"]["entity"]["shared"] == 1 and len(saved["broken"]) == 1
    for arguments, told in (
        ([one, tmp_path / "none.jsonl"], "none.jsonl"), ([one, raw], "raw.jsonl line 3"), ([one, tmp_path], "folder"),
        ([one, two, "--forbid", "entitys"], "'entity'"), ([one, two, "--json", tmp_path], "folder"),
        ([one, two, "--ngram", "0"], "--ngram"),
    ):  # fmt: skip
        status, _, error = run("overlap", *arguments)
        assert status > 0 and told in error and "Traceback" not in error


def test_writer_options_become_settings_or_one_message() -> None:
    assert writer_overrides("offline", None, None) == []
    address = 'tool_rl.synth.llm.base_url="http://127.0.0.1:1/v1"'
    assert writer_overrides("llm", "m", "http://127.0.0.1:1/v1") == ['tool_rl.synth.llm.model="m"', address]
    for wrong in (("lm", None, None), ("llm", None, None), ("offline", "m", None)):
        with pytest.raises(ConfigError, match=r"--writer|--model"):
            writer_overrides(*wrong)
