"""`WorldTool`: a tool of the world as verl's stock `tool_agent` wants it, for who does without our agent loop.

    config/bfcl_tool_config.yaml ─► verl's tool registry ─► one WorldTool a tool
    tool_agent ─► execute(..., agent_data) ─► the ToolCalls of that trajectory

verl makes and releases an instance for every call. What belongs to a trajectory therefore hangs on `agent_data`, the
object that verl passes to every call of one: it is gone when verl drops the trajectory, whatever happened in it.

The schema offered is the world's own, with enums, formats and nested parameters, which verl's schema type drops.
"""
from __future__ import annotations

import weakref
from typing import Any

from pydantic import ConfigDict
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import (
    OpenAIFunctionParametersSchema,
    OpenAIFunctionSchema,
    OpenAIFunctionToolSchema,
    ToolResponse,
)

from environment.core.errors import ConfigError, nearest_name
from environment.session.observation import ObservationCut
from training.tools.calls import ToolCalls
from training.tools.worlds import known_tools, open_world, world_path

LOGGED = "tool_rl_calls"
"""Name under which the counts of a trajectory's calls reach the reward and the trainer (`extra_fields`)."""


class _Parameters(OpenAIFunctionParametersSchema):
    model_config = ConfigDict(extra="allow")
    properties: dict[str, Any]


class _Function(OpenAIFunctionSchema):
    model_config = ConfigDict(extra="allow")
    parameters: _Parameters = _Parameters(type="object", properties={}, required=[])


class _Tool(OpenAIFunctionToolSchema):
    function: _Function


_sessions: weakref.WeakKeyDictionary[Any, ToolCalls] = weakref.WeakKeyDictionary()
"""The calls of every living trajectory; all tools of a trajectory share one entry."""


class WorldTool(BaseTool):
    """One tool of the world."""

    def __init__(self, config: dict[str, Any], tool_schema: OpenAIFunctionToolSchema | None = None) -> None:
        """Take the tool named in `config["tool"]`.

        Args:
            config: `tool`; optionally `world` (path of a recorded world), `schemas` (schema file) and
                `observation_chars` (longest reply).
            tool_schema: replaces the world's own schema.
        """
        tools = known_tools(config.get("schemas"))
        name = str(config.get("tool", ""))
        if name not in tools:
            where, nearest = "tool config, key `tool`", nearest_name(name, tools)
            raise ConfigError("no such tool", where=where, got=name, expected="a tool of the world", nearest=nearest)
        # BaseTool's own constructor prints every schema.
        self.config = config
        self.tool_schema = tool_schema or _Tool.model_validate(tools[name].as_openai())
        self.name = name

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **kwargs: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Answer a call; the reply is text, the step reward 0 (the whole trajectory is scored), the rest counts."""
        del instance_id
        agent = kwargs["agent_data"]
        session = self._session(agent)
        turn = max(int(agent.assistant_turns) - 1, 0)
        result = session.call(self.name, parameters, turn)
        agent.extra_fields[LOGGED] = session.as_log()
        return ToolResponse(text=result.text), 0.0, {"status": result.status.value}

    def _session(self, agent: Any) -> ToolCalls:
        if agent not in _sessions:
            schemas = self.config.get("schemas")
            world = open_world(world_path(self.config.get("world")), schemas)
            cut = ObservationCut(limit_chars=self.config.get("observation_chars"))
            offered = getattr(agent, "_active_tools", None) or world.schemas
            _sessions[agent] = ToolCalls(world, {n: s for n, s in world.schemas.items() if n in offered}, cut)
        return _sessions[agent]
