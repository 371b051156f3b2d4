"""Small rows to convert: one call, a short query, a short response, an id of its own."""
from __future__ import annotations

from pathlib import Path

import orjson


def write_rows(path: Path, count: int) -> Path:
    """Write so many records as JSON Lines."""
    call = {"function": "Search_Hotel_Destination", "arguments": {"query": "Oslo"}}
    response = {"data": [{"dest_id": "4711", "name": "Oslo", "search_type": "city"}]}
    outcome = {"step": 0, **call, "execution_result": response, "success": True}
    step = {"step": 0, "ground_truth": call, "candidate_tools": ["Search_Hotel_Destination"], "depends_on": [],
            "edges": [], "execution_result": outcome}  # fmt: skip
    record = {
        "id": "", "query": "Which destination does Oslo have for hotels?", "workflow_id": "hotel_place",
        "workflow_pattern": ["Search_Hotel_Destination"], "domain": "hotel", "answer": "It is Oslo.",
        "tools": ["Search_Hotel_Destination", "Search_Hotels"], "steps": [step], "overall_success": True,
        "metadata": {"record_version": 1},
    }  # fmt: skip
    with path.open("wb") as out:
        for number in range(count):
            record["id"] = f"train-hotel_place-{number}"
            out.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
    return path
