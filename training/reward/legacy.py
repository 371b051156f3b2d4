"""`legacy` on a trajectory: the decoded text a trainer would have given to `complex_tool.compute_score`."""
from __future__ import annotations

from collections.abc import Mapping

from BFCL.check.match import chain_of
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from training.reward import complex_tool
from training.reward.score import Score, scored


def decoded_text(trajectory: Trajectory) -> str:
    """Return what a trainer decodes from the response: assistant turns as written, replies in their tags."""
    parts: list[str] = []
    for message in trajectory.messages:
        content = message.get("content")
        text = content if isinstance(content, str) else ""
        match message.get("role"):
            case "assistant":
                parts.append(text)
            case "tool":
                parts.append(f"<tool_response>\n{text}\n</tool_response>")
            case _:
                pass
    return "\n".join(parts)


def score(
    trajectory: Trajectory, task: Task, schemas: Mapping[str, ToolSchema], weights: Mapping[str, float] | None = None
) -> Score:
    """Score one trajectory; `weights` None takes the reference's own. Where the reference raises, every part is 0."""
    found = complex_tool.compute(decoded_text(trajectory), task.to_json(), None, weights)
    parts = {key: value for key, value in found.values.items() if key != "score"}
    notes = (f"the reference raises {found.error}",) if found.error else ()
    components = {**parts, "would_raise": float(found.error is not None)}
    return scored(found.values["score"], components, chain_of(task, schemas).match(trajectory), trajectory, notes)
