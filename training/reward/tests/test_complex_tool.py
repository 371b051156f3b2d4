"""The legacy reward: the recorded verdicts, total on any text, linear in its length, a file that stands alone."""
# pyright: basic
from __future__ import annotations

import gzip
import json
import math
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.reward import complex_tool
from training.reward.complex_tool import KEYS, compute, compute_score
from training.reward.tests.records import SHARED

CALL, REPLY = "<tool_call>{}</tool_call>", "<tool_response>{}</tool_response>"
STEPS = (("find", {"query": "Paris", "adults": 2}, []), ("look", {"item_id": "a-1", "legs": [{"n": "x"}]}, [0]))
TASK = {
    "tools": ["find", "look", "other"],
    "steps": [{"function": f, "arguments": a, "depends_on": d} for f, a, d in STEPS],
}
GROUND_TRUTH = [[{"name": n, "success": n == f} for n in TASK["tools"]] for f, _, _ in STEPS]
EXTRA = {
    "step_dependency": [None, [0]],
    "execution_traces": [{f: {"success": True, "traces": [{"arguments": a}]}} for f, a, _ in STEPS],
}


def call(name: Any, arguments: Any) -> str:
    return CALL.format(json.dumps({"name": name, "arguments": arguments}))


GOLD_TEXT = "".join(call(f, a) + REPLY.format('{"data": 1}') for f, a, _ in STEPS)


def cases() -> list[dict[str, Any]]:
    path = SHARED / "data" / "oracles" / "legacy_reward_cases.jsonl.gz"
    if not path.exists():
        pytest.skip("legacy_reward_cases.jsonl.gz: reference data not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_every_recorded_verdict() -> None:
    for case in cases():
        found = compute(case["solution_str"], case["ground_truth"], case["extra_info"], case["reward_weights"])
        assert found.error == case.get("expected_error"), case["case_id"]
        expected = case.get("expected", dict.fromkeys(KEYS, 0.0))
        assert found.values == pytest.approx(expected, abs=1e-9, rel=0), case["case_id"]


def test_right_calls_but_for_the_nested_argument() -> None:
    found = compute_score(GOLD_TEXT, GROUND_TRUTH, extra_info=EXTRA, data_source="x", num_turns=3)
    assert tuple(found) == KEYS
    assert found["R_outcome_orchestration"] == found["R_atomic_validity_semantic"] == 1.0
    assert found["R_atomic_validity_values"] == pytest.approx(0.34)  # a text inside an object is compared by letters
    assert found["score"] == pytest.approx(0.5 * 1.0 + 0.25 * (1.0 + 1.0))


def test_a_list_of_objects_is_refused_as_soon_as_its_texts_have_two_letters() -> None:
    task = {"tools": ["t"], "steps": [{"function": "t", "arguments": {"legs": [{"n": "xy"}]}}]}
    assert compute_score(call("t", {"legs": [{"n": "xy"}]}), task)["R_atomic_validity_values"] == 0.0
    assert compute_score(call("t", {"legs": [{"n": "x"}]}), task)["R_atomic_validity_values"] == pytest.approx(0.34)


def test_our_task_json_means_the_same_as_the_reference_columns() -> None:
    by_columns = compute(GOLD_TEXT, GROUND_TRUTH, EXTRA)
    assert compute(GOLD_TEXT, TASK) == compute(GOLD_TEXT, json.dumps(TASK)) == by_columns


def test_arrays_of_a_parquet_reader_mean_the_same_as_lists() -> None:
    np = pytest.importorskip("numpy")
    truth = np.array([np.array(step, dtype=object) for step in GROUND_TRUTH], dtype=object)
    extra = {
        "step_dependency": np.array([None, np.array([0])], dtype=object),
        "execution_traces": np.array(EXTRA["execution_traces"], dtype=object),
    }
    assert compute(GOLD_TEXT, truth, extra) == compute(GOLD_TEXT, GROUND_TRUTH, EXTRA)


@pytest.mark.parametrize("body", ["5", '"my name"', '["name"]', "true", "NaN"])
def test_where_the_reference_raises_the_score_is_zero_and_the_reason_kept(body: str) -> None:
    found = compute(CALL.format(body) + GOLD_TEXT, GROUND_TRUTH, EXTRA)
    assert found.error == "TypeError" and set(found.values.values()) == {0.0}
    assert tuple(found.values) == KEYS


def test_wrong_weights_are_an_error_and_not_a_score() -> None:
    with pytest.raises(ValueError, match="half"):
        compute_score(GOLD_TEXT, GROUND_TRUTH, extra_info=EXTRA, reward_weights={"R_atomic_validity": "half"})  # type: ignore[dict-item]


TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
BODIES = ['{"name": "find", "arguments": {"query": null}}', '{"name": [], "arguments": "{}"}', '{"error": 1}', "5"]
fragments = st.sampled_from([*TAGS, *BODIES, GOLD_TEXT, "null", "NaN", "[" * 3000, "{", "\ufeff", "\0"])


@given(st.lists(fragments | st.text(max_size=8), max_size=12).map("".join))
def test_never_raises_and_stays_a_share(text: str) -> None:
    found = compute(text, GROUND_TRUTH, EXTRA)
    assert all(math.isfinite(v) and 0.0 <= v <= 1.0 for v in found.values.values())


@given(st.none() | st.integers() | st.text(max_size=9) | st.lists(st.none() | st.integers() | st.text(max_size=3)))
def test_odd_gold_never_raises(gold: Any) -> None:
    assert tuple(compute(GOLD_TEXT, gold, EXTRA).values) == KEYS


@pytest.mark.parametrize("piece", ["<tool_call>", GOLD_TEXT, call("find", {}) + REPLY.format("[" + "1," * 500 + "1]")])
def test_time_grows_with_the_text_and_not_faster(piece: str) -> None:
    def seconds(times: int) -> float:
        text, best = piece * times, math.inf
        for _ in range(3):
            start = time.process_time()
            compute(text, GROUND_TRUTH, EXTRA)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(1600) < 10 * seconds(400) + 0.02  # four times the text; a quadratic search would take sixteen


def test_the_file_stands_alone(tmp_path: Path) -> None:
    shutil.copy(Path(complex_tool.__file__), tmp_path / "copied.py")
    code = f"import copied; print(copied.compute_score({GOLD_TEXT!r}, {GROUND_TRUTH!r}, extra_info={EXTRA!r})['score'])"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert float(run.stdout) == compute_score(GOLD_TEXT, GROUND_TRUTH, extra_info=EXTRA)["score"]
