"""`ToolCalls`: the calls of one trajectory against the world, for a loop that hands over one call at a time.

`environment.session.Session` drives whole turns; verl's stock `tool_agent` parses turns itself and asks for single
calls. The checks before a call, the world, the cut and the ledger are the same, so a reply reads alike in both.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from environment.core.calls import ResultStatus, ToolCall, ToolResult
from environment.core.schema import ToolSchema
from environment.core.trajectory import Observed
from environment.session.calling import answer_call
from environment.session.ledger import observed
from environment.session.observation import ObservationCut, kept_keys
from environment.session.world import World


class ToolCalls:
    """One trajectory's calls, results and ledger. Not shared between trajectories."""

    def __init__(self, world: World, tools: Mapping[str, ToolSchema], cut: ObservationCut) -> None:
        """Begin without calls.

        Args:
            tools: those on offer, by name.
            cut: cuts replies; the loop should not cut them again.
        """
        self._world = world
        self._tools = tools
        self._cut = cut
        self.calls: list[ToolCall] = []
        self.results: list[ToolResult] = []
        self.ledger: list[Observed] = []

    def call(self, name: str, arguments: Mapping[str, Any], turn: int = 0) -> ToolResult:
        """Answer one call and remember it.

        Args:
            turn: assistant turn that made it; calls of a turn are numbered in the order they come.

        Raises whatever a broken world raises: that is never the model's fault.
        """
        position = sum(call.turn == turn for call in self.calls)
        call = ToolCall(f"t{turn}c{position}", turn, name, dict(arguments), raw="")
        answer = answer_call(call, self._tools, self._world)
        ok = answer.status is ResultStatus.OK
        seen = self._cut(answer.value, kept_keys(self._tools[name]) if ok else ())
        result = ToolResult(call.id, answer.status, answer.value, seen.text)
        self.calls.append(call)
        self.results.append(result)
        if ok:
            self.ledger.extend(observed([(call.id, seen)]))
        return result

    def as_log(self) -> dict[str, float]:
        """Return counts of calls by what became of them, ready to be logged."""
        statuses = [result.status for result in self.results]
        counts = {f"calls/{status.value}": float(statuses.count(status)) for status in ResultStatus}
        return {"calls/made": float(len(statuses)), **counts}
