"""The world over MCP, with the official package: every tool of the world is a tool of the server.

The text of a result is what `/v1/call` gives as its value, and `isError` is set unless the status is ok; the status
itself stands in the result's `_meta`.
"""
from __future__ import annotations

from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from environment.cache.layout import encode
from environment.core.calls import ResultStatus
from environment.core.dispatch import World

NAME = "tool-rl-world"


def build_mcp(world: World) -> Server[Any]:
    """Return a server that lists and calls the world's tools."""
    tools = [_tool(schema.as_openai()["function"]) for schema in world.schemas.values()]

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        found = world.call(params.name, params.arguments or {})
        text = types.TextContent(type="text", text=encode(found.value).decode())
        failed = found.status is not ResultStatus.OK
        return types.CallToolResult(content=[text], is_error=failed, _meta={"status": str(found.status)})

    return Server(NAME, on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(world: World) -> None:
    """Talk MCP over standard input and output until the client closes them; nothing else may be printed there."""
    server = build_mcp(world)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _tool(function: dict[str, Any]) -> types.Tool:
    schema = {**function["parameters"], "type": "object"}
    return types.Tool(name=function["name"], description=function.get("description"), input_schema=schema)
