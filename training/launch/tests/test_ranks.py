"""Several ranks of one training: each knows its place, all meet, one that fails takes the rest along."""
from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from environment.core.errors import StageError
from training.launch.ranks import run_ranks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

WRITE = """
import os, pathlib, sys
place = ":".join(os.environ[n] for n in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"))
pathlib.Path(sys.argv[1], os.environ["RANK"]).write_text(place)
"""
FAIL = """
import os, pathlib, sys, time
if os.environ["RANK"] == "1":
    sys.exit(7)
pathlib.Path(sys.argv[1], "pid").write_text(str(os.getpid()))
time.sleep(100)
"""
REDUCE = """
import os, pathlib, sys, torch, torch.distributed as dist
dist.init_process_group("gloo", init_method=os.environ["DIST_INIT_METHOD"])
number = torch.tensor([float(os.environ["RANK"]) + 1])
dist.all_reduce(number)
own = {os.readlink(fd.path) for fd in os.scandir("/proc/self/fd") if os.path.lexists(fd.path)}
rows = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
listening = [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]
pathlib.Path(sys.argv[1], os.environ["RANK"]).write_text(f"{number.item()} {' '.join(listening)}")
dist.barrier()
dist.destroy_process_group()
"""


def test_each_rank_knows_its_place(tmp_path: Path) -> None:
    run_ranks([sys.executable, "-c", WRITE, str(tmp_path)], 3, "sft")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"0": "0:0:3:3", "1": "1:1:3:3", "2": "2:2:3:3"}


def test_one_that_fails_ends_the_rest(tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(StageError, match="rank 1 of 2 failed") as caught:
        run_ranks([sys.executable, "-c", FAIL, str(tmp_path)], 2, "sft")
    assert "exit status 7" in str(caught.value)
    assert time.monotonic() - start < 60
    started = tmp_path / "pid"
    assert not started.exists() or not Path("/proc", started.read_text()).exists()


def test_ranks_meet_and_listen_on_loopback_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    run_ranks([sys.executable, "-c", REDUCE, str(tmp_path)], 2, "sft")
    for rank in ("0", "1"):
        total, *listening = (tmp_path / rank).read_text().split()
        assert float(total) == 3.0
        assert all(address.startswith("0100007F:") for address in listening), listening
