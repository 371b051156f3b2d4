"""The suite end to end without a model: figures by hand, both rule sets, records, the flags of the reference."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from environment.core.errors import ConfigError
from environment.core.trajectory import StopReason
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, failed, said
from evaluation.evaluation import main
from evaluation.job import EvalJob, run_job
from evaluation.runner import Place
from evaluation.settings import RunSettings
from evaluation.suites import open_suite
from evaluation.suites.complexfuncbench.tests.support import (
    chain,
    find,
    made,
    pair,
    rows,
    stay,
    write,
)

FIGURES = ("success_rate", "turn_accuracy", "call_accuracy")
WRONG = [made(find("Ghent")), made(stay("Graz")), "Done."]
"""Turns for Hotels-2 with another city's destination: wrong by the strict rules, right by the reference's."""


def job(data: Path, out: Path, **more: Any) -> EvalJob:
    """Return a job over a file that plays gold turns."""
    options = {"data": data, **more}
    return EvalJob("complexfuncbench", options, RunSettings(gold=True, samples=0), Place(out, "gold"))


def served(fake: FakeEndpoint, data: Path, out: Path, **more: Any) -> EvalJob:
    """Return a job over a file that asks a stand-in."""
    settings = RunSettings(base_url=fake.url, model_name="m", mode="raw", samples=0, concurrency=2, retry_tries=1)
    return EvalJob("complexfuncbench", {"data": data, **more}, settings, Place(out, "m"))


def model(scripts: dict[str, list[str]]) -> Any:
    """Return a stand-in that follows the script for the entry it is asked about."""

    def answer(body: dict[str, Any], number: int) -> Reply:
        query = next(m["content"] for m in body["messages"] if m["role"] == "user")
        turn = sum(m["role"] == "assistant" for m in body["messages"])
        return said(next(script for name, script in scripts.items() if name in query)[turn])

    return answer


GOLD = {
    "Hotels-1": [made(find("Lisbon")), made(stay("Lisbon")), "Done."],
    "Cross-3": ["\n".join([made(find("Graz")), made(find("Turku"))]), made(stay("Graz")), "Half of it."],
}


@pytest.mark.parametrize("rules", ["strict", "reference"])
def test_gold_turns_earn_everything_under_both_rule_sets(tmp_path: Path, rules: str) -> None:
    found = run_job(job(write(tmp_path, rows()), tmp_path / "out", rules=rules))
    for one in (found, found["rules"]["strict"], found["rules"]["reference"]):
        assert [one[name]["value"] for name in FIGURES] == [1.0, 1.0, 1.0]
    assert found["rules_differ"] == {"both": 3, "only_strict": 0, "only_reference": 0, "only_reference_by_fault": {}}
    assert {d: r["n"] for d, r in found["by_domain"].items()} == {"Hotels": 2, "Cross": 1}
    assert set(found["by_length"]) == {"2", "4"} and "only 3 items" in found["warnings"][0]
    assert found["settings"]["suite"] == "complexfuncbench" and found["settings"]["rules"] == rules


def test_figures_are_what_counting_by_hand_gives(tmp_path: Path) -> None:
    """Of 3 entries one is right, one has a wrong value in turn 2, one lacks the last call of 4."""
    with FakeEndpoint(model({**GOLD, "Hotels-2": WRONG})) as fake:
        found = run_job(served(fake, write(tmp_path, rows()), tmp_path / "out"))
    strict, reference = found["rules"]["strict"], found["rules"]["reference"]
    assert [strict[n]["value"] for n in FIGURES] == pytest.approx([1 / 3, (2 + 1 + 1) / 6, (2 + 1 + 3) / 8])
    assert [reference[n]["value"] for n in FIGURES] == pytest.approx([2 / 3, (2 + 2 + 1) / 6, (2 + 2 + 3) / 8])
    assert found["success_rate"] == strict["success_rate"]
    assert found["rules_differ"]["only_reference_by_fault"] == {"wrong_value": 1}
    assert found["by_domain"]["Cross"]["call_accuracy"]["value"] == pytest.approx(3 / 4)
    assert found["faults"]["greedy"] == {"none": 1, "wrong_value": 1, "missing_step": 1}
    items = {i["task_id"]: i for i in found["items"]}
    assert items["Hotels-2"]["greedy"]["call_accuracy"] == 0.5 and items["Hotels-2"]["domain"] == "Hotels"


def test_outages_are_in_no_denominator_and_have_no_record(tmp_path: Path) -> None:
    down = {"Hotels-2"}

    def flaky(body: dict[str, Any], number: int) -> Reply:
        out = any(name in str(body["messages"]) for name in down)
        return failed(503) if out else model({**GOLD, "Hotels-2": GOLD["Hotels-1"]})(body, number)

    with FakeEndpoint(flaky) as fake:
        found = run_job(served(fake, write(tmp_path, rows()), tmp_path / "out"))
        assert (found["success_rate"]["n"], found["infrastructure"]) == (2, 1)
        down.clear()
        asked = len(fake.requests)
        found = run_job(served(fake, write(tmp_path, rows()), tmp_path / "out"))
    assert (found["success_rate"]["n"], found["infrastructure"]) == (3, 0)
    assert len(fake.requests) - asked == 3


def test_options_are_checked_all_at_once_and_unknown_ones_have_a_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        open_suite("complexfuncbench", {"data": tmp_path, "rules": "lenient", "limit": 0})
    assert "--rules" in str(caught.value) and "--limit" in str(caught.value)
    with pytest.raises(ConfigError, match=r"nearest +'rules'"):
        open_suite("complexfuncbench", {"rule": "strict"})
    with pytest.raises(ConfigError, match=r"nearest +'complexfuncbench'"):
        open_suite("complexfuncbenchmark", {})


def test_a_world_adds_answers_the_file_does_not_have(tmp_path: Path) -> None:
    """The entry's file records nothing of Ghent; a world made of another file does."""
    from evaluation.suites.complexfuncbench.entries import read_entries
    from evaluation.suites.complexfuncbench.world import all_schemas, import_gold

    other = write(tmp_path, rows())
    import_gold(other, tmp_path / "world.db", all_schemas(read_entries(other)))
    script = {"Hotels-1": [made(find("Ghent")), "Done."]}
    (tmp_path / "one").mkdir()
    data = write(tmp_path / "one", [chain("Hotels-1", "Lisbon")])
    statuses = []
    with FakeEndpoint(model(script)) as fake:
        for number, world in enumerate((None, tmp_path / "world.db")):
            out = tmp_path / f"out{number}"
            run_job(served(fake, data, out, world=world))
            statuses.append(json.loads((out / "m.trajectories.jsonl").read_text())["results"][0]["status"])
    assert statuses == ["miss", "ok"]


def test_another_file_under_the_same_name_is_refused(tmp_path: Path) -> None:
    run_job(job(write(tmp_path, rows()), tmp_path / "out"))
    with pytest.raises(ConfigError, match=r"data +was .* is"):
        run_job(job(write(tmp_path, rows()[:2]), tmp_path / "out"))
    with pytest.raises(ConfigError, match=r"rules +was 'strict' +is 'reference'"):
        run_job(job(write(tmp_path, rows()), tmp_path / "out", rules="reference"))


def judge_reply(score: Any) -> Reply:
    """Return a grade."""
    return said(json.dumps({"score": score, "reason": "as it is"}))


def test_answers_are_graded_and_failures_of_the_judge_are_no_zeros(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def judge(body: dict[str, Any], number: int) -> Reply:
        asked.append(body)
        if "Hotels-2" in body["messages"][1]["content"]:
            return said("I'd say two points.")
        return judge_reply(2 if "Completeness" in body["messages"][0]["content"] else 1)

    with FakeEndpoint(judge) as fake:
        grading = {"judge_model": "g", "judge_base_url": fake.url}
        found = run_job(job(write(tmp_path, rows()), tmp_path / "out", **grading))
        assert (found["completeness"]["value"], found["completeness"]["n"]) == (2.0, 2)
        assert (found["correctness"]["value"], found["answer_judge"]["failures"]) == (1.0, 2)
        assert any("judge of answers failed 2 times" in w for w in found["warnings"])
        before = len(asked)
        run_job(job(write(tmp_path, rows()), tmp_path / "out", **grading))
        again = [b for b in asked[before:] if "Hotels-2" not in b["messages"][1]["content"]]
    assert again == [], "what was graded is paid for once"
    lines = [json.loads(x) for x in (tmp_path / "out" / "gold.answers.jsonl").read_text().splitlines()]
    failed_line = next(x for x in lines if x["task_id"] == "Hotels-2")
    assert failed_line["completeness"]["score"] is None and "malformed" in failed_line["completeness"]["failed"]


def test_a_judge_that_is_away_costs_grades_and_nothing_else(tmp_path: Path) -> None:
    with FakeEndpoint(lambda body, number: failed(401, "bad key")) as fake:
        grading = {"judge_model": "g", "judge_base_url": fake.url}
        found = run_job(job(write(tmp_path, rows()), tmp_path / "out", **grading))
    assert found["success_rate"]["value"] == 1.0 and "completeness" not in found
    assert found["answer_judge"]["failures"] == 6


def test_the_judge_is_told_that_texts_are_material(tmp_path: Path) -> None:
    with FakeEndpoint(lambda body, number: judge_reply(0)) as fake:
        run_job(job(write(tmp_path, rows()[:1]), tmp_path / "out", judge_model="g", judge_base_url=fake.url))
        texts = [b["messages"][1]["content"] for b in fake.requests]
        rules = [b["messages"][0]["content"] for b in fake.requests]
    assert all("don't do it" in rule for rule in rules)
    assert any("call: Search_Hotels" in text and "Lisbon Inn" in text for text in texts)


# The flags of the reference.


def run_main(*flags: str) -> int:
    """Run the entry with flags."""
    return main([*flags, "--use-bfcl"])


def records(folder: Path, name: str = "full-1000", model_name: str = "m") -> list[dict[str, Any]]:
    """Return the records of a run."""
    return [json.loads(x) for x in (folder / "result" / model_name / f"{name}.jsonl").read_text().splitlines()]


def test_the_reference_flags_give_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with FakeEndpoint(native({**GOLD, "Hotels-2": WRONG})) as fake:
        flags = ("--model_name", "openai/m", "--input_file", str(write(tmp_path, rows())), "--vllm_url", fake.url)
        assert run_main(*flags, "--proc_num", "2") == 0
        assert {r["model"] for r in fake.requests} == {"m"} and {r["temperature"] for r in fake.requests} == {0.0}
        asked = len(fake.requests)
        assert run_main(*flags, "--proc_num", "1") == 0
        assert len(fake.requests) == asked
    found = {r["id"]: r for r in records(tmp_path, model_name="openai/m")}
    assert list(found["Hotels-1"]) == ["id", "gen_convs", "message", "count_dict", "resp_eval"]
    assert found["Hotels-1"]["message"] == found["Hotels-2"]["message"] == "Success."
    assert found["Cross-3"]["message"]["error_type"] == "incomplete_execution"
    assert found["Cross-3"]["count_dict"] == {
        "success_turn_num": 1, "total_turn_num": 2, "correct_call_num": 3, "total_call_num": 4, "real_turn_num": 2,
    }  # fmt: skip
    convs = found["Hotels-1"]["gen_convs"]
    assert [m["role"] for m in convs] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert convs[2]["tool_call_id"] == convs[1]["tool_calls"][0]["id"]
    assert convs[2]["name"] == "Search_Hotel_Destination"
    assert "3 records" in capsys.readouterr().out


def native(scripts: dict[str, list[str]]) -> Any:
    """Return a stand-in that follows scripts and gives calls as objects."""
    raw = model(scripts)

    def answer(body: dict[str, Any], number: int) -> Reply:
        status, reply, headers = raw(body, number)
        message = reply["choices"][0]["message"]
        calls = [part.partition("</tool_call>")[0] for part in message["content"].split("<tool_call>")[1:]]
        if calls:
            message["tool_calls"] = [_object(json.loads(c), i) for i, c in enumerate(calls)]
            message["content"] = None
        return status, reply, headers

    return answer


def _object(said_call: dict[str, Any], number: int) -> dict[str, Any]:
    arguments = json.dumps(said_call["arguments"])
    return {"id": f"c{number}", "type": "function", "function": {"name": said_call["name"], "arguments": arguments}}


def test_debug_plays_the_first_entries_under_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [*rows(), pair("Cross-4", "Split", "Parma")]
    with FakeEndpoint(native({**GOLD, "Hotels-2": WRONG})) as fake:
        flags = ("--model_name", "m", "--input_file", str(write(tmp_path, lines)), "--vllm_url", fake.url)
        assert run_main(*flags, "--debug", "--exp_name", "try") == 0
    assert len(records(tmp_path, "try-debug")) == 3


def test_a_wrong_key_ends_with_status_1_and_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    with FakeEndpoint(lambda body, number: failed(401, "no: sk-very-secret-key")) as fake:
        flags = ("--model_name", "m", "--input_file", str(write(tmp_path, rows())), "--vllm_url", fake.url)
        assert run_main(*flags) == 1
    assert not (tmp_path / "result" / "m" / "full-1000.jsonl").exists()
    told = "".join(capsys.readouterr())
    written = "".join(p.read_text(errors="replace") for p in tmp_path.rglob("*") if p.is_file())
    assert "HTTP 401" in told and "secret" not in told + written


@pytest.mark.parametrize("name", ["../../up", "a/../../b", "", "a\x00b", "x" * 300, "/", "a/.hidden"])
def test_names_that_are_no_folder_of_ours_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    inner = tmp_path / "deep" / "down"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    data = write(tmp_path, rows())
    before = {p for p in tmp_path.rglob("*")}
    assert run_main("--model_name", name, "--input_file", str(data), "--vllm_url", "http://127.0.0.1:9/v1") == 2
    assert {p for p in tmp_path.rglob("*")} == before and "--model_name" in capsys.readouterr().err


def test_an_experiment_that_climbs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = write(tmp_path, rows())
    flags = ("--model_name", "m", "--exp_name", "../x", "--input_file", str(data), "--vllm_url", "http://h/v1")
    assert run_main(*flags) == 2
    assert not (tmp_path / "result").exists()


def test_errors_of_the_data_are_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_main("--model_name", "m", "--vllm_url", "http://127.0.0.1:9/v1") == 1
    told = capsys.readouterr().err
    assert "ComplexFuncBench.jsonl" in told and "Traceback" not in told


def test_infrastructure_is_marked_as_such_in_the_file(tmp_path: Path) -> None:
    with FakeEndpoint(lambda body, number: failed(500)) as fake:
        found = run_job(served(fake, write(tmp_path, rows()), tmp_path / "out"))
    kept = [json.loads(x) for x in (tmp_path / "out" / "m.trajectories.jsonl").read_text().splitlines()]
    assert {k["stop"] for k in kept} == {StopReason.INFRASTRUCTURE.value} and found["success_rate"]["value"] is None

