"""The runner: each stage once, in order; failures and signals leave a run that the same command continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.core.errors import StageError
from training.launch.files import read_json
from training.launch.process import end_marked, marked_processes
from training.launch.runner import Interrupted
from training.launch.tests.fakes import FakeJob

pytestmark = pytest.mark.slow  # starts processes
REPO = Path(__file__).resolve().parents[3]


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def job(root: Path, **scripts: str) -> FakeJob:
    """Return a job; a script that is empty just writes its output."""
    return FakeJob(root, {name: script or f"echo {name} > {name}.out" for name, script in scripts.items()})


def test_stages_run_in_order_once_and_never_again(tmp_path: Path) -> None:
    work = job(tmp_path, a="", b="", c="")
    assert work.run() == ["a", "b", "c"]
    assert work.run() == []
    assert work.ran == ["a", "b", "c"]
    assert "done before" in work.output.getvalue()


def test_a_changed_setting_repeats_the_stage_and_what_reads_its_output(tmp_path: Path) -> None:
    work = job(tmp_path, a="", b="", c="")
    work.run()
    work.tree = {"b": 2}
    work.scripts["b"] = "echo other > b.out"
    assert work.run() == ["b", "c"]


def test_an_equal_output_stops_the_repetition(tmp_path: Path) -> None:
    work = job(tmp_path, a="", b="", c="")
    work.run()
    work.tree = {"a": 2}
    assert work.run() == ["a"]


@pytest.mark.parametrize("harm", ["remove", "alter"])
def test_a_damaged_output_is_made_again(tmp_path: Path, harm: str) -> None:
    work = job(tmp_path, a="", b="")
    work.run()
    output = tmp_path / "a.out"
    output.unlink() if harm == "remove" else output.write_text("else")
    assert work.run() == ["a"]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=4))
def test_whatever_is_removed_the_outputs_are_whole_afterwards(
    tmp_path_factory: pytest.TempPathFactory, gone: list[str]
) -> None:
    work = job(tmp_path_factory.mktemp("run"), a="", b="", c="")
    work.run()
    for name in gone:
        (work.paths.root / f"{name}.out").unlink(missing_ok=True)
    assert set(work.run()) == set(gone)
    assert work.run() == []


def test_a_failure_shows_the_log_and_keeps_what_is_done(tmp_path: Path) -> None:
    work = job(tmp_path, a="", b="echo oh dear >&2; exit 7", c="")
    with pytest.raises(StageError, match="stage b ended with status 7") as caught:
        work.run()
    assert "oh dear" in str(caught.value) and str(work.paths.log("b")) in str(caught.value)
    work.scripts["b"] = "echo b > b.out"
    assert work.run() == ["b", "c"]


def test_a_stage_that_leaves_no_output_has_failed(tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"left no a\.out"):
        job(tmp_path, a="true").run()


def test_a_wrong_configuration_inside_a_stage_keeps_its_status(tmp_path: Path) -> None:
    with pytest.raises(StageError) as caught:
        job(tmp_path, a="exit 2").run()
    assert caught.value.exit_status == 2


def test_partial_work_is_continued_with_equal_inputs_and_set_aside_with_others(tmp_path: Path) -> None:
    work = job(tmp_path, a="echo one >> a.part; exit 1")
    for _ in range(2):
        with pytest.raises(StageError):
            work.run()
    assert (tmp_path / "a.part").read_text().split() == ["one", "one"]
    work.tree = {"a": "new"}
    work.scripts["a"] = "cat a.part > a.out 2>&1 || echo clean > a.out"
    work.run()
    assert not (tmp_path / "a.part").exists()
    assert (tmp_path / "old" / "a.part-1").read_text().split() == ["one", "one"]
    assert "clean" in (tmp_path / "a.out").read_text()


def test_wall_times_are_kept_over_all_tries(tmp_path: Path) -> None:
    from training.launch.summary import stage_walls

    work = job(tmp_path, a="sleep 0.3; exit 1")
    with pytest.raises(StageError):
        work.run()
    work.scripts["a"] = "sleep 0.3; echo a > a.out"
    work.run()
    assert stage_walls(work.paths)["a"] >= 0.6


def test_progress_and_secrets_in_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret-value")
    line = r"{\"progress\": [1, 2], \"note\": \"half\"}"
    work = job(tmp_path, a=f'echo "{line}"; echo "$SOME_API_KEY"; echo a > a.out')
    work.run()
    log = work.paths.log("a").read_text()
    assert "very-secret-value" not in log and "(hidden)" in log


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_whole_group_and_says_how_to_go_on(tmp_path: Path, signum: int) -> None:
    work = job(tmp_path, a="", b="sleep 300 & (setsid sleep 300 &) ; touch up; wait", c="")
    sender = threading.Thread(target=lambda: (wait_for((tmp_path / "up").exists), os.kill(os.getpid(), signum)))
    sender.start()
    with pytest.raises(Interrupted, match="continue with: again") as caught:
        work.run()
    sender.join()
    assert caught.value.exit_status == 128 + signum
    assert marked_processes(tmp_path) == []
    work.scripts["b"] = "echo b > b.out"
    assert work.run() == ["b", "c"]


def test_a_stage_deaf_to_signals_is_killed_within_the_grace(tmp_path: Path) -> None:
    work = job(tmp_path, a="trap '' TERM INT; touch up; while :; do sleep 0.2; done")
    sender = threading.Thread(target=lambda: (wait_for((tmp_path / "up").exists), os.kill(os.getpid(), signal.SIGTERM)))
    sender.start()
    began = time.monotonic()
    with pytest.raises(Interrupted):
        work.run(grace_s=1.0)
    sender.join()
    assert time.monotonic() - began < 15
    assert marked_processes(tmp_path) == []


RUNNER = """
    import sys
    from pathlib import Path
    from training.launch.rundir import hold
    from training.launch.tests.fakes import FakeJob
    from training.launch.paths import RunPaths
    root = Path(sys.argv[1])
    with hold(RunPaths(root)):
        FakeJob(root, {"a": sys.argv[2]}).run()
"""


def start_runner(root: Path, script: str) -> subprocess.Popen[bytes]:
    """Start a runner with one stage in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(RUNNER), str(root), script], cwd=REPO)


def test_a_killed_runner_takes_its_stage_along(tmp_path: Path) -> None:
    stage = (
        f"exec {sys.executable} -c 'import time; from pathlib import Path;"
        " from training.launch.watchdog import start_watchdog; assert start_watchdog();"
        ' Path("up").touch(); time.sleep(300)\''
    )
    runner = start_runner(tmp_path, stage)
    wait_for((tmp_path / "up").exists)
    assert marked_processes(tmp_path)
    runner.kill()
    runner.wait()
    wait_for(lambda: not marked_processes(tmp_path), 20)


def test_what_a_killed_runner_left_behind_is_ended_by_the_next(tmp_path: Path) -> None:
    runner = start_runner(tmp_path, "touch up; exec sleep 300")
    wait_for((tmp_path / "up").exists)
    runner.kill()
    runner.wait()
    assert marked_processes(tmp_path)
    work = job(tmp_path, a="echo a > a.out")
    assert work.run() == ["a"]
    assert "left behind" in work.output.getvalue()
    assert marked_processes(tmp_path) == []


def test_other_runs_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "run-2"
    other.mkdir()
    runner = start_runner(other, "touch up; exec sleep 300")
    wait_for((other / "up").exists)
    try:
        assert end_marked(tmp_path / "run") == 0
        assert runner.poll() is None and marked_processes(other)
    finally:
        end_marked(other)
        runner.wait(timeout=20)


def test_two_runs_in_one_directory_do_not_meet(tmp_path: Path) -> None:
    runner = start_runner(tmp_path, "touch up; exec sleep 300")
    wait_for((tmp_path / "up").exists)
    second = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RUNNER), str(tmp_path), "true"], cwd=REPO, capture_output=True, text=True
    )
    runner.terminate()
    assert runner.wait(timeout=30) != 0
    assert "another run works in" in second.stderr and str(runner.pid) in second.stderr


def test_stamps_are_whole_json(tmp_path: Path) -> None:
    work = job(tmp_path, a="")
    work.run()
    stamp = read_json(work.paths.stamp("a"))
    assert stamp is not None and set(stamp) >= {"stage", "key", "outputs", "wall_s"}
