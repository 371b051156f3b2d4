"""`tool-rl view`: serves until Ctrl-C and ends in order; what is wrong is said in words before anything is served."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from environment.core.errors import ToolRlError
from evaluation.viewer.tests.support import make_viewed_run
from scripts.cli.app import app
from scripts.cli.tests.processes import hear_interrupts

REPO = Path(__file__).resolve().parents[3]


def refused(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["view", *map(str, arguments)])
    assert isinstance(done.exception, ToolRlError) and done.exception.exit_status != 0
    return str(done.exception)


def test_what_is_wrong_is_said_before_anything_is_served(tmp_path: Path) -> None:
    run = make_viewed_run(tmp_path / "run", steps=1, items=2)
    assert "nearest" in refused(tmp_path / "runn")
    assert "no trajectories in this folder" in refused(tmp_path)
    assert "no such file" in refused(run, "--tasks", tmp_path / "none.jsonl")
    assert "schema file" in refused(run, "--tool-schema-path", tmp_path / "none.json")
    assert "cannot listen" in refused(run, "--port", 70_000)


@pytest.mark.slow
def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    run = make_viewed_run(tmp_path / "run", steps=1, items=2)
    command = [sys.executable, "-P", "-m", "scripts.cli", "view", str(run)]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(REPO), "PYTHONUNBUFFERED": "1"}, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_interrupts,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", said)
        assert address is not None and said.startswith("22 trajectories in 3 files")
        with urllib.request.urlopen(address[0], timeout=30) as page:
            assert b"trajectories" in page.read()
        taken = address[0].rstrip("/").rpartition(":")[2]
        second = subprocess.run([*command, "--port", taken], env=os.environ | {"PYTHONPATH": str(REPO)},
                                capture_output=True, text=True, timeout=60)  # fmt: skip
        assert second.returncode == 2 and f"cannot listen on port {taken}" in second.stderr
        assert "Traceback" not in second.stderr
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
        assert process.returncode == 0 and "ended" in rest and errors == ""
    finally:
        process.kill()
