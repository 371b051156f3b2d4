"""Serving: a stand-in for vLLM's server shows that ours starts, is told apart, fails clearly and always goes."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from environment.core.errors import StageError
from evaluation.serve import ModelServer, ServeSettings, free_port, serve_command, serve_environment
from evaluation.tests.test_guard import ROOT, first_line, gone

SERVER = """
import json, os, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
args = {a: sys.argv[i + 1] for i, a in enumerate(sys.argv[:-1]) if a.startswith("--")}
print("loading", args["--model"], flush=True)
if "--die" in sys.argv: print("CUDA is on fire", flush=True); sys.exit(7)
if "--taken" in sys.argv and not os.path.exists(args["--mark"]):
    open(args["--mark"], "w").close(); print("OSError: [Errno 98] Address already in use", flush=True); sys.exit(1)
if "--hang" in sys.argv: time.sleep(60)
child = subprocess.Popen(["sleep", "60"])
name = "another" if "--another" in sys.argv else args["--served-model-name"]
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"data": [{"id": name}], "pids": [os.getpid(), child.pid]}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
HTTPServer((args["--host"], int(args["--port"])), Handler).serve_forever()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model folder, with a stand-in for vLLM first on the path."""
    package = tmp_path / "fake" / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    for part in (package, package.parent, package.parent.parent):
        (part / "__init__.py").touch()
    (package / "api_server.py").write_text(SERVER, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    return tmp_path / "model"


def settings(*extra: str, deadline: float = 20.0) -> ServeSettings:
    """Return CPU settings with further arguments."""
    return ServeSettings(device="cpu", start_deadline_s=deadline, extra=extra)


def pids(server: ModelServer) -> list[int]:
    """Return the processes of a stand-in server."""
    with urllib.request.urlopen(f"{server.base_url}/models", timeout=5) as answer:
        return json.load(answer)["pids"]


def test_it_serves_on_loopback_and_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    with ModelServer(folder, settings(), tmp_path / "logs" / "serve.log") as server:
        assert server.base_url.startswith("http://127.0.0.1:")
        found = pids(server)
        assert server.alive
        assert 0 < server.start_s < 20
    assert all(map(gone, found))
    assert "loading" in server.log_tail()
    assert not server.alive
    server.stop()


def test_a_failure_inside_the_block_ends_the_server_too(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), ModelServer(folder, settings()) as server:
        found = pids(server)
        raise ZeroDivisionError
    assert all(map(gone, found))


def test_a_server_that_dies_shows_the_end_of_its_log(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StageError, match="ended before it was ready") as caught:
        ModelServer(folder, settings("--die"), tmp_path / "serve.log").start()
    assert "CUDA is on fire" in str(caught.value)
    assert str(tmp_path / "serve.log") in str(caught.value)


@pytest.mark.parametrize("kind", ["--hang", "--another"])
def test_one_that_never_serves_our_model_is_ended_at_the_deadline(folder: Path, kind: str) -> None:
    began = time.monotonic()
    with pytest.raises(StageError, match="not ready after"):
        ModelServer(folder, settings(kind, deadline=1.5)).start()
    assert time.monotonic() - began < 15


def test_a_port_taken_in_between_is_tried_again(folder: Path, tmp_path: Path) -> None:
    with ModelServer(folder, settings("--mark", str(tmp_path / "mark"), "--taken"), tmp_path / "log") as server:
        assert server.alive


def test_a_folder_without_a_model_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="no model to serve"):
        ModelServer(tmp_path).start()


def test_killing_the_evaluation_ends_the_server(folder: Path, tmp_path: Path) -> None:
    code = f"""
import json, time
from pathlib import Path
from evaluation.serve import ModelServer, ServeSettings
from evaluation.tests.test_serve import pids
with ModelServer(Path({str(folder)!r}), ServeSettings(device="cpu"), Path({str(tmp_path / 'log')!r})) as server:
    print(*pids(server), flush=True)
    time.sleep(60)
"""
    path = os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", code]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
    found = [int(p) for p in first_line(parent).split()]
    assert len(found) == 2
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert all(map(gone, found))


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_command_and_environment_are_of_loopback_and_offline(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VARIABLE", "kept")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    chosen = ServeSettings(device, tensor_parallel=2, extra=("--seed", "1"), environment=(("VLLM_PLUGINS", "mine"),))
    command, environment = serve_command(Path("/m"), 1234, "policy", chosen), serve_environment(chosen)
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert command[-2:] == ["--seed", "1"]
    assert ("--enforce-eager" in command) == (device == "cpu") == ("VLLM_CPU_KVCACHE_SPACE" in environment)
    threads = str(len(os.sched_getaffinity(0))) if device == "cpu" else "1"
    assert environment["OMP_NUM_THREADS"] == threads, "an inherited setting would leave cores idle"
    kept = (environment["HF_HUB_OFFLINE"], environment["SOME_VARIABLE"], environment["VLLM_PLUGINS"])
    assert kept == ("1", "kept", "mine")


def test_free_ports_can_be_bound() -> None:
    assert 1024 <= free_port() <= 65535
