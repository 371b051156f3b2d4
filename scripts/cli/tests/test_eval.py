"""`tool-rl eval`, `compare` and `convert` as a user meets them: good input, bad input, an endpoint that misbehaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from environment.core.errors import ToolRlError
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, closed_address, failed, said
from environment.server.tests.broken_peer import page, peer, says
from evaluation.suites.complexfuncbench.entries import read_entries
from evaluation.suites.complexfuncbench.tests.support import chain, find, made, rows, stay, write
from evaluation.tests.support import evaluation_of, make_task, write_world
from scripts.cli.app import app
from scripts.cli.eval_work import clock, plain, progress_line, result_name, suite_options
from scripts.cli.tests.processes import hear_interrupts

REPO = Path(__file__).resolve().parents[3]
CITY = {"Hotels-1": "Lisbon", "Hotels-2": "Ghent", "Hotels-4": "Split", "Hotels-5": "Parma", "Hotels-6": "Leiden"}
LINES = [chain(name, city) for name, city in CITY.items()]
Answer = Callable[[dict[str, Any], int], Reply]


def tool_rl(*arguments: object) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments])


def message(result: Result) -> str:
    """Return the message a command ended with; anything but an error raised on purpose is a defect."""
    assert isinstance(result.exception, ToolRlError), result.exception
    return str(result.exception)


def right(body: dict[str, Any], number: int) -> Reply:
    """Do every entry right."""
    query = next(m["content"] for m in body["messages"] if m["role"] == "user")
    name = next(n for n in CITY if f"{n}." in query)
    turn = sum(m["role"] == "assistant" for m in body["messages"])
    return said([made(find(CITY[name])), made(stay(CITY[name])), "Done."][turn])


def evaluate(fake: FakeEndpoint | str, data: Path, out: Path, *more: object) -> Result:
    """Evaluate a stand-in on a file of entries."""
    url = fake if isinstance(fake, str) else fake.url
    common = ("--data", data, "--model", "m", "--base-url", url, "--mode", "raw", "--out", out, "--concurrency", 2)
    return tool_rl("eval", "complexfuncbench", *common, *more)


def summary(out: Path, name: str = "m") -> dict[str, Any]:
    """Return a summary file."""
    return json.loads((out / f"{name}.json").read_text())


def test_gold_turns_need_no_model_and_show_a_table(tmp_path: Path) -> None:
    data = write(tmp_path, rows())
    shown = tool_rl("eval", "complexfuncbench", "--data", data, "--gold", "--out", tmp_path / "out")
    assert shown.exit_code == 0, shown.exception
    assert "complexfuncbench gold: 3 items" in shown.stdout and "success rate" in shown.stdout
    assert "success rate (reference)" in shown.stdout and "by domain" in shown.stdout and "only 3 items" in shown.stdout
    again = tool_rl("eval", "complexfuncbench", "--data", data, "--gold", "--out", tmp_path / "out", "--json")
    assert json.loads(again.stdout)["success_rate"]["value"] == 1.0
    assert "3 episodes are kept from before" in again.stderr


def test_an_endpoint_is_evaluated_with_samples_and_progress(tmp_path: Path) -> None:
    with FakeEndpoint(right) as fake:
        shown = evaluate(fake, write(tmp_path, LINES), tmp_path / "out", "--seeds", 2, "--limit", 4)
    assert shown.exit_code == 0, shown.exception
    assert "12/12 episodes" in shown.stderr and "0:00 left" in shown.stderr
    found = summary(tmp_path / "out")
    assert (found["n"], found["pass_at_2"]["value"], found["pass_hat_2"]["value"]) == (4, 1.0, 1.0)
    seeds = [b["seed"] for b in fake.requests]
    assert len(set(seeds)) == 12 and Counter(b["temperature"] for b in fake.requests) == {0.0: 12, 1.0: 24}


# Faults of the endpoint. Each run is bounded by its own limits, and a hard one stands above all of them.

pytestmark = pytest.mark.timeout(100)


def storm(status: int, until: int) -> Answer:
    """Fail the first requests."""
    return lambda body, number: failed(status, "busy", Retry_After="0") if number < until else right(body, number)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_storm_that_passes_costs_time_alone(tmp_path: Path, status: int) -> None:
    with FakeEndpoint(storm(status, 3)) as fake:
        shown = evaluate(fake, write(tmp_path, LINES[:2]), tmp_path / "out", "--tries", 4)
    assert shown.exit_code == 0, shown.exception
    assert (summary(tmp_path / "out")["success_rate"]["value"], summary(tmp_path / "out")["infrastructure"]) == (1.0, 0)


def _choices(*choices: Any) -> Reply:
    return 200, {"choices": list(choices)}, {}


BROKEN: dict[str, Reply] = {
    "429 without end": failed(429),
    "500 without end": failed(500),
    "empty choices": _choices(),
    "null message": _choices({"message": None}),
    "a message that is a list": _choices({"message": ["x"]}),
    "half an answer": (200, '{"choices": [{"message": {"role": "assist', {}),
    "a page": (200, "<html>busy</html>", {}),
    "nothing": (200, "", {}),
    "no object": (200, "[1, 2]", {}),
}


@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN)
def test_what_is_no_answer_is_owed_and_never_wrong(tmp_path: Path, reply: Reply) -> None:
    data, out = write(tmp_path, LINES[:2]), tmp_path / "out"
    with FakeEndpoint(lambda body, number: reply) as fake:
        shown = evaluate(fake, data, out, "--tries", 1)
    assert shown.exit_code == 1 and "2 episodes failed by infrastructure" in shown.stdout
    assert (summary(out)["success_rate"], summary(out)["infrastructure"]) == (
        {"value": None, "low": 0.0, "high": 1.0, "n": 0}, 2,
    )  # fmt: skip
    with FakeEndpoint(right) as fake:
        assert evaluate(fake, data, out).exit_code == 0
    assert (summary(out)["success_rate"]["value"], summary(out)["infrastructure"]) == (1.0, 0)


REPLY = json.dumps({"choices": [{"message": {"role": "assistant", "content": "hi"}}]}).encode()
CUT = {"cut in the head": b"HTTP/1.1 200 O", "cut in the body": page(REPLY, length=5000), "closed": b""}


@pytest.mark.parametrize("answer", CUT.values(), ids=CUT)
def test_a_connection_that_is_cut_is_owed(tmp_path: Path, answer: bytes) -> None:
    with peer(says(answer)) as (url, seen):
        shown = evaluate(f"{url}/v1", write(tmp_path, LINES[:2]), tmp_path / "out", "--tries", 2)
    assert shown.exit_code == 1 and len(seen) == 4
    assert summary(tmp_path / "out")["infrastructure"] == 2


def test_nobody_there_is_owed(tmp_path: Path) -> None:
    shown = evaluate(closed_address(), write(tmp_path, LINES[:2]), tmp_path / "out", "--tries", 1)
    assert shown.exit_code == 1 and summary(tmp_path / "out")["infrastructure"] == 2


def test_a_slow_endpoint_is_bounded_by_the_time_of_an_episode(tmp_path: Path) -> None:
    def slow(body: dict[str, Any], number: int) -> Reply:
        time.sleep(3)
        return said("late")

    began = time.monotonic()
    with FakeEndpoint(slow) as fake:
        shown = evaluate(fake, write(tmp_path, LINES[:2]), tmp_path / "out", "--timeout", 0.2, "--tries", 1)
    assert shown.exit_code == 1 and time.monotonic() - began < 20
    assert summary(tmp_path / "out")["infrastructure"] == 2


@pytest.mark.parametrize("status", [401, 403, 404, 400])
def test_what_no_retry_mends_stops_at_once_and_tells_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-key")
    with FakeEndpoint(lambda body, number: failed(status, "refused sk-very-secret-key")) as fake:
        shown = evaluate(fake, write(tmp_path, LINES), tmp_path / "out", "--key-env", "MY_KEY")
        assert len(fake.requests) <= 2 and fake.keys[0] == "Bearer sk-very-secret-key"
    told = message(shown)
    written = "".join(p.read_text(errors="replace") for p in tmp_path.rglob("*") if p.is_file())
    assert f"HTTP {status}" in told and "secret" not in told + written + shown.output


def test_a_cut_turn_is_the_models_and_is_on_record(tmp_path: Path) -> None:
    with FakeEndpoint(lambda body, number: said("I will now", finish="length")) as fake:
        shown = evaluate(fake, write(tmp_path, LINES[:1]), tmp_path / "out")
    found = summary(tmp_path / "out")
    assert (shown.exit_code, found["success_rate"]["value"]) == (0, 0.0)
    assert found["stops"]["greedy"] == {"max_tokens": 1}


def test_native_answers_without_calls_or_text_are_no_answer(tmp_path: Path) -> None:
    with FakeEndpoint(lambda body, number: said(None, tool_calls=None)) as fake:
        shown = evaluate(fake, write(tmp_path, LINES[:1]), tmp_path / "out", "--mode", "native")
    assert shown.exit_code == 0 and summary(tmp_path / "out")["success_rate"]["value"] == 0.0


# Interruption.


def start(fake: FakeEndpoint, data: Path, out: Path) -> subprocess.Popen[bytes]:
    """Start an evaluation in a process of its own."""
    command = [sys.executable, "-P", "-m", "scripts.cli", "eval", "complexfuncbench", "--data", str(data)]
    command += ["--model", "m", "--base-url", fake.url, "--mode", "raw", "--out", str(out), "--concurrency", "1"]
    environ = {**os.environ, "PYTHONPATH": str(REPO), "TMPDIR": str(data.parent)}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env=environ, preexec_fn=hear_interrupts, stdout=quiet, stderr=quiet)


@pytest.mark.slow
@pytest.mark.timeout(300)  # two starts of a process, on a machine that may be busy
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_repeats_only_what_was_in_flight(tmp_path: Path, how: signal.Signals) -> None:
    """Killed while the third entry is asked; its torn line is owed, the two before it are not asked for again."""
    data, out = write(tmp_path, LINES), tmp_path / "out"
    stuck = True

    def answer(body: dict[str, Any], number: int) -> Reply:
        if number >= 7 and stuck:
            time.sleep(30)
        return right(body, number)

    with FakeEndpoint(answer) as fake:
        process = start(fake, data, out)
        deadline = time.monotonic() + 150
        while len(fake.requests) < 8 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(how)
        process.wait(timeout=60)
        assert how == signal.SIGKILL or not list(tmp_path.glob("tool-rl-cfb-*"))
        path = out / "m.trajectories.jsonl"
        kept = path.read_bytes().splitlines(keepends=True)
        assert len(kept) == 2 and all(line.endswith(b"\n") for line in kept)
        path.write_bytes(b"".join(kept) + kept[0][:50])
        stuck, before = False, len(fake.requests)
        shown = evaluate(fake, data, out, "--concurrency", 1)
        assert shown.exit_code == 0 and len(fake.requests) - before == 9
    assert path.read_bytes().startswith(b"".join(kept))
    assert (summary(out)["success_rate"]["n"], summary(out)["success_rate"]["value"]) == (5, 1.0)


def test_two_at_once_on_the_same_results_are_refused(tmp_path: Path) -> None:
    data, out = write(tmp_path, LINES[:2]), tmp_path / "out"

    def answer(body: dict[str, Any], number: int) -> Reply:
        second.append(evaluate(fake, data, out))
        return right(body, number)

    second: list[Result] = []
    with FakeEndpoint(answer) as fake:
        assert evaluate(fake, data, out, "--concurrency", 1).exit_code == 0
    assert all("another evaluation is writing" in message(r) for r in second) and second


@pytest.mark.parametrize(
    ("change", "said_of"),
    [(("--max-turn-tokens", 7), "max_turn_tokens"), (("--rules", "reference"), "rules"), (("--seed", 3), "seed")],
)
def test_a_changed_config_is_refused_with_its_difference(tmp_path: Path, change: tuple[Any, ...], said_of: str) -> None:
    data, out = write(tmp_path, LINES[:1]), tmp_path / "out"
    with FakeEndpoint(right) as fake:
        evaluate(fake, data, out)
        before = {p: p.read_bytes() for p in out.iterdir()}
        shown = evaluate(fake, data, out, *change)
        assert said_of in message(shown) and "nothing was changed" in message(shown)
        refused = shown.exception
        assert isinstance(refused, ToolRlError) and refused.exit_status == 2
        assert {p: p.read_bytes() for p in out.iterdir()} == before
        assert evaluate(fake, data, out, *change, "--force").exit_code == 0
    assert summary(out)["settings"]["forced"]


def test_changed_data_is_refused(tmp_path: Path) -> None:
    data, out = write(tmp_path, LINES[:1]), tmp_path / "out"
    with FakeEndpoint(right) as fake:
        evaluate(fake, data, out)
        data = write(tmp_path, LINES[:2])
        assert "data" in message(evaluate(fake, data, out))


# Bad input.

WRONG: list[tuple[tuple[object, ...], str]] = [
    (("complexfunkbench", "--gold"), "nearest   'complexfuncbench'"),
    (("complexfuncbench", "--gold", "--rules", "lenient"), "--rules"),
    (("complexfuncbench", "--gold", "--category", "simple"), "an option that the suite doesn't have"),
    (("complexfuncbench", "--gold", "--option", "limt=3"), "nearest   'limit'"),
    (("complexfuncbench", "--gold", "--option", "limit"), "NAME=VALUE"),
    (("complexfuncbench", "--gold", "--option", 'limits={"max_turns": 0}'), "limits.max_turns"),
    (("complexfuncbench",), "no model to evaluate"),
    (("complexfuncbench", "--model", "no/such/folder"), "no model folder"),
    (("complexfuncbench", "--model", "x" * 5000), "no model folder"),
    (("complexfuncbench", "--base-url", "http://h/v1"), "no model is named"),
    (("complexfuncbench", "--gold", "--mode", "rw"), "--mode"),
    (("complexfuncbench", "--gold", "--name", "../x"), "a name that can't begin a file name"),
    (("complexfuncbench", "--gold", "--concurrency", 0), "concurrency"),
    (("complexfuncbench", "--gold", "--train", "none.jsonl"), "none.jsonl"),
    (("complexfuncbench", "--gold", "--world", "none.db"), "none.db"),
    (("complexfuncbench", "--gold", "--data", "."), "can't be read"),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG, ids=[str(a[-1])[:40] for a, _ in WRONG])
def test_bad_input_is_one_message_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, rows())
    given = arguments if "--data" in arguments else (*arguments, "--data", tmp_path / "cfb.jsonl")
    shown = tool_rl("eval", *given, "--out", tmp_path / "out")
    assert told in message(shown)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("*.json"))


def test_an_entry_without_gold_is_never_right(tmp_path: Path) -> None:
    row = chain("Hotels-1", "Lisbon")
    row["conversations"] = [row["conversations"][0], row["conversations"][-1]]
    shown = tool_rl("eval", "complexfuncbench", "--gold", "--data", write(tmp_path, [row]), "--out", tmp_path / "out")
    assert "no gold call" in message(shown)


def test_hostile_names_and_texts_steer_no_terminal_and_no_path(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[31m<script>alert(1)</script>/../../x-1"
    with FakeEndpoint(lambda body, number: said("\x1b[2Jbye <script> \u202e")) as fake:
        shown = evaluate(fake, write(tmp_path, [chain(hostile, "Lisbon")]), tmp_path / "out")
    assert shown.exit_code == 0 and "\x1b" not in shown.output and "\u202e" not in shown.output
    assert {p.name for p in tmp_path.rglob("*") if p.is_file()} == {
        "cfb.jsonl", ".m.lock", "m.json", "m.settings.json", "m.trajectories.jsonl",
    }  # fmt: skip


def test_items_seen_in_training_are_warned_of(tmp_path: Path) -> None:
    data = write(tmp_path, LINES)
    train = tmp_path / "train.jsonl"
    task = make_task(1).to_json()
    train.write_text(json.dumps({**task, "query": "Find hotels for Hotels-2."}) + "\n")
    shown = tool_rl("eval", "complexfuncbench", "--gold", "--data", data, "--train", train, "--out", tmp_path / "out")
    assert "contamination" in shown.stdout and "Hotels-2" in shown.stdout
    assert any("contamination" in w for w in summary(tmp_path / "out", "gold")["warnings"])


# Comparing.


def test_two_results_are_compared_item_by_item(tmp_path: Path) -> None:
    tasks = [make_task(i) for i in range(40)]
    for name, skill in (("sft", 0.2), ("rl", 0.9)):
        evaluation_of(name, tmp_path / "eval", tasks, skill)
    pair_of = (tmp_path / "eval" / "sft.json", tmp_path / "eval" / "rl.json")
    shown = tool_rl("compare", *pair_of)
    assert shown.exit_code == 0 and "40 items in both" in shown.stdout and "success rate" in shown.stdout
    found = json.loads(tool_rl("compare", *pair_of, "--json").stdout)
    success = found[0]["figures"]["success_rate"]
    assert success["wins"] + success["losses"] + success["ties"] == 40
    assert success["p_value"] < 0.05 and success["difference"]["value"] > 0
    both = json.loads(tool_rl("compare", tmp_path, tmp_path / "eval", "--json").stdout)
    assert [b["figures"]["success_rate"]["difference"]["value"] for b in both] == [0.0, 0.0]


def test_evaluations_of_a_suite_are_compared_and_unlike_ones_marked(tmp_path: Path) -> None:
    data = write(tmp_path, LINES)
    with FakeEndpoint(right) as fake:
        evaluate(fake, data, tmp_path / "one")
        evaluate(fake, data, tmp_path / "two", "--rules", "reference", "--limit", 3)
    shown = tool_rl("compare", tmp_path / "one", tmp_path / "two")
    assert "3 items in both" in shown.stdout and "turn accuracy" in shown.stdout
    assert "2 items count on one side only" in shown.stdout and "rules differs" in shown.stdout


@pytest.mark.parametrize("what", ["none", "folder", "text", "list", "other items"])
def test_what_can_not_be_compared_is_one_message(tmp_path: Path, what: str) -> None:
    evaluation_of("rl", tmp_path / "eval", [make_task(0)], 0.9)
    other = tmp_path / "other.json"
    content = {"text": "{", "list": "[]", "other items": json.dumps({"items": [{"task_id": "x", "greedy": {}}]})}
    if what in content:
        other.write_text(content[what])
    elif what == "folder":
        other.mkdir()
    assert "other.json" in message(tool_rl("compare", tmp_path / "eval" / "rl.json", other))


# Converting.


def test_rows_become_entries_whose_gold_earns_everything(tmp_path: Path) -> None:
    tasks = [make_task(i) for i in range(4)]
    source, out = tmp_path / "rows.jsonl", tmp_path / "cfb.jsonl"
    source.write_text("".join(json.dumps(t.to_json()) + "\n" for t in tasks))
    world = write_world(tmp_path / "world.db")
    shown = tool_rl("convert", source, out, "--world", world)
    assert shown.exit_code == 0 and "4 entries" in shown.stdout and "0 gold calls without an answer" in shown.stdout
    entries = read_entries(out)
    assert [(e.id, e.domain, len(e.calls)) for e in entries] == [(f"Hotel-{i}", "Hotel", 2) for i in range(4)]
    assert all(c.response for e in entries for c in e.calls)
    again = tool_rl("eval", "complexfuncbench", "--gold", "--data", out, "--out", tmp_path / "out", "--json")
    assert json.loads(again.stdout)["rules"]["reference"]["success_rate"]["value"] == 1.0


def test_independent_steps_share_a_turn_unless_told_otherwise(tmp_path: Path) -> None:
    steps = [find("Graz"), find("Turku"), stay("Graz", 0), stay("Turku", 1)]
    plain_steps = [{"function": s.function, "arguments": s.arguments, "depends_on": s.depends_on} for s in steps]
    task = {**make_task(0).to_json(), "steps": plain_steps}
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps(task) + "\n")
    turns = []
    for flags in ((), ("--sequential",)):
        assert tool_rl("convert", source, tmp_path / "cfb.jsonl", *flags).exit_code == 0
        turns.append([c.turn for c in read_entries(tmp_path / "cfb.jsonl")[0].calls])
    assert turns == [[0, 0, 1, 1], [0, 1, 2, 3]]


def test_rows_that_can_not_be_used_are_named_and_cost_the_file_unless_skipped(tmp_path: Path) -> None:
    source, out = tmp_path / "rows.jsonl", tmp_path / "cfb.jsonl"
    lines = [json.dumps(make_task(0).to_json()), "{", json.dumps({**make_task(1).to_json(), "steps": []})]
    source.write_text("\n".join(lines))
    shown = tool_rl("convert", source, out)
    assert "2 rows can't be used" in message(shown) and not out.exists() and "line 2" in shown.stderr
    assert tool_rl("convert", source, out, "--skip-bad").exit_code == 0
    assert len(read_entries(out)) == 1


@pytest.mark.skipif(not os.environ.get("TOOL_RL_SHARED"), reason="needs TOOL_RL_SHARED")
def test_the_shared_records_become_entries_whose_gold_earns_everything(tmp_path: Path) -> None:
    source = Path(os.environ["TOOL_RL_SHARED"]) / "data" / "eval_100.jsonl"
    data = tmp_path / "cfb.jsonl"
    assert tool_rl("convert", source, data, "--skip-bad").exit_code == 0
    shown = tool_rl("eval", "complexfuncbench", "--gold", "--data", data, "--out", tmp_path / "out", "--json")
    found = json.loads(shown.stdout)
    assert found["rules"]["strict"]["success_rate"]["value"] == 1.0


# Words.


@pytest.mark.parametrize(
    ("model", "name"),
    [("runs/x/hf", "x-hf"), ("Qwen/Qwen3-8B", "Qwen3-8B"), ("/a b/ü!", "model"), ("../hf", "hf"), ("a" * 99, "a" * 80)],
)
def test_results_are_named_after_the_model(model: str, name: str) -> None:
    assert result_name(model, gold=False) == name and result_name(None, gold=True) == "gold"


def test_progress_says_rate_and_time_left() -> None:
    assert progress_line(30, 100, 10, 20.0) == "30/100 episodes  0.50/s  0:20 gone  2:20 left"
    assert progress_line(100, 100, 0, 0.0).endswith("0:00 left") and clock(3723) == "1:02:03"


def test_options_are_json_where_they_can_be() -> None:
    found = suite_options({"limit": None, "data": Path("x"), "categories": []}, ["a-b=3", "c=x=y", 'd={"e": 1}'])
    assert found == {"data": Path("x"), "a_b": 3, "c": "x=y", "d": {"e": 1}}
    assert plain("a\x1b[0m\nb\u202e") == "a�[0m�b�"

