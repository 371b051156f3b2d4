"""The trajectory file: safe to cut at any byte, closed to other settings and to a second writer."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.core.errors import ConfigError, DataError
from environment.core.trajectory import StopReason, Trajectory
from evaluation.store import TrajectoryStore, differences, key_of, read_trajectories
from evaluation.tests.support import make_task, play, script

SETTINGS = {"temperature": 1.0, "limits": {"max_turns": 4}, "model": "abc"}
PLAYED = [(make_task(i), kind, sample) for i, kind in enumerate(("right", "talk")) for sample in (0, 1)]
TRAJECTORIES = [play(task, script(task, kind), sample) for task, kind, sample in PLAYED]
KEYS = {key_of(t) for t in TRAJECTORIES}


def store(folder: Path, settings: dict[str, object] = SETTINGS) -> TrajectoryStore:
    """Return a store named `sft`."""
    return TrajectoryStore(folder, "sft", settings)


def fill(folder: Path) -> bytes:
    """Write all trajectories and return the file's content."""
    with store(folder) as out:
        for trajectory in TRAJECTORIES:
            out.add(trajectory)
    return out.path.read_bytes()


def test_what_was_added_is_done_and_reads_back(tmp_path: Path) -> None:
    fill(tmp_path)
    with store(tmp_path) as again:
        assert again.done == KEYS
    assert list(read_trajectories(again.path)) == TRAJECTORIES


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_file_cut_anywhere_owes_exactly_what_is_torn(data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        content = fill(folder)
        cut = data.draw(st.integers(0, len(content)))
        (folder / "sft.trajectories.jsonl").write_bytes(content[:cut])
        with store(folder) as again:
            assert len(again.done) == content[:cut].count(b"\n")
            for trajectory in TRAJECTORIES:
                if key_of(trajectory) not in again.done:
                    again.add(trajectory)
        assert sorted(map(key_of, read_trajectories(again.path))) == sorted(KEYS)
        assert again.path.read_bytes() == content


def test_rubbish_and_repeats_are_left_out(tmp_path: Path) -> None:
    content = fill(tmp_path)
    path = tmp_path / "sft.trajectories.jsonl"
    path.write_bytes(b'\xff\xfe\n{"a": 1}\n[]\n' + content + content)
    with store(tmp_path) as again:
        assert again.done == KEYS
    assert path.read_bytes() == content


def test_infrastructure_failures_are_owed_again(tmp_path: Path) -> None:
    failed = replace(TRAJECTORIES[0], stop=StopReason.INFRASTRUCTURE, error="gone", answer="")
    with store(tmp_path) as out:
        out.add(failed)
        out.add(TRAJECTORIES[1])
        assert out.done == {key_of(TRAJECTORIES[1])}
    with store(tmp_path) as again:
        assert again.done == {key_of(TRAJECTORIES[1])}


def test_changed_settings_are_refused_with_each_difference_and_nothing_changes(tmp_path: Path) -> None:
    content = fill(tmp_path)
    other = {**SETTINGS, "temperature": 0.7, "limits": {"max_turns": 5}}
    with pytest.raises(ConfigError) as caught, store(tmp_path, other):
        pass
    lines = str(caught.value).splitlines()
    assert [w.split() for w in lines if "was" in w and "is" in w] == [
        ["limits.max_turns", "was", "4", "is", "5"],
        ["temperature", "was", "1.0", "is", "0.7"],
    ]
    assert (tmp_path / "sft.trajectories.jsonl").read_bytes() == content
    with store(tmp_path) as again:
        assert again.done == KEYS


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with store(tmp_path), pytest.raises(DataError, match="another evaluation"), store(tmp_path):
        pass
    with store(tmp_path):
        pass


def test_any_text_a_model_can_write_is_stored(tmp_path: Path) -> None:
    odd = "\ud800 \x00 \u2028 \x1b[0m </script> é 😀 \n\r"
    trajectory: Trajectory = replace(TRAJECTORIES[0], answer=odd)
    with store(tmp_path) as out:
        out.add(trajectory)
    assert [t.answer for t in read_trajectories(out.path)] == [odd]


@given(st.dictionaries(st.sampled_from("abc"), st.integers() | st.dictionaries(st.sampled_from("xy"), st.integers())))
def test_no_difference_with_itself(tree: dict[str, object]) -> None:
    assert differences(tree, tree) == []
