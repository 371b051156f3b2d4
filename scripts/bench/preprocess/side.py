"""One side of the bench in a process of its own: `python -m scripts.bench.preprocess.side SUBJECT INPUT OUTPUT`.

Writes a JSON line with the seconds of the conversion and the memory it took beyond what the imports need.

    ours    streaming: every record validated, ids checked, counted, whole file or none
    plain   the usual script: json.loads of every line, a dict a row, one table from all of them; nothing is validated
"""
from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data_synthesis.preprocess.rl import RL_SCHEMA, preprocess_rl
from environment.booking.schemas import load_schemas


def ours(source: Path, output: Path) -> None:
    """Convert as the main job does."""
    preprocess_rl(source, output, strict=True)


def plain(source: Path, output: Path) -> None:
    """Convert as a script would that trusts its rows."""
    with source.open(encoding="utf-8") as lines:
        rows = [_plain_row(json.loads(line), index) for index, line in enumerate(lines)]
    pq.write_table(pa.Table.from_pylist(rows, schema=RL_SCHEMA), output)


def _plain_row(record: dict, index: int) -> dict:
    steps = [{**s["ground_truth"], "depends_on": s["depends_on"], "edges": s["edges"]} for s in record["steps"]]
    task = json.dumps({"id": record["id"], "query": record["query"], "tools": record["tools"], "steps": steps})
    return {
        "data_source": "booking_api",
        "agent_name": "tool_rl_agent",
        "ability": "tool_calling",
        "prompt": [{"role": "system", "content": "Use the tools."}, {"role": "user", "content": record["query"]}],
        "reward_model": {"style": "rule", "ground_truth": task},
        "candidate_tools": json.dumps(record["tools"]),
        "extra_info": {
            "index": index, "task": task, "task_id": record["id"], "workflow_id": record["workflow_id"],
            "num_steps": len(steps),
        },
    }  # fmt: skip


SUBJECTS: dict[str, Callable[[Path, Path], None]] = {"ours": ours, "plain": plain}
"""Who can be measured."""


def main() -> None:
    """Measure one side."""
    subject, source, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    load_schemas()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    SUBJECTS[subject](source, output)
    seconds = time.perf_counter() - started
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"seconds": seconds, "grown_mib": grown / 1024, "rows": pq.read_metadata(output).num_rows}))


if __name__ == "__main__":
    main()
