"""The world over MCP, spoken to by the package's own client: in process, and as a command over standard streams."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp import StdioServerParameters, types
from mcp.client import Client

from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from environment.server.mcp_server import build_mcp
from environment.server.tests.support import CITY, TOOL, WORLD

SERVER = """
import asyncio, sys
from pathlib import Path
from environment.cache.store import CachedWorld
from environment.server.mcp_server import serve_stdio
asyncio.run(serve_stdio(CachedWorld.open(Path(sys.argv[1]))))
"""


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def status_of(result: types.CallToolResult) -> object:
    assert result.meta is not None
    return result.meta["status"]


async def test_every_tool_is_listed_with_its_parameters() -> None:
    async with Client(build_mcp(WORLD)) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(listed) == set(WORLD.schemas)
    assert listed[TOOL].input_schema["required"] == ["query"]
    assert "x-" not in json.dumps([tool.input_schema for tool in listed.values()])


async def test_answers_are_those_of_the_world() -> None:
    async with Client(build_mcp(WORLD)) as client:
        for name, arguments in ((TOOL, {"query": CITY}), (TOOL, {"query": "nowhere"}), (TOOL, {}), ("Serch", {})):
            found, want = await client.call_tool(name, arguments), WORLD.call(name, arguments)
            assert json.loads(text_of(found)) == want.value
            assert found.is_error is (want.status != "ok") and status_of(found) == want.status


@pytest.mark.slow
async def test_the_command_speaks_it_over_standard_streams(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    size = WorldSize(cities=3, hotels=1, attractions=1, cars=1, destinations=1, dates=1)
    build_seed_cache(path, 3, size)
    async with Client(StdioServerParameters(command=sys.executable, args=["-c", SERVER, str(path)])) as client:
        found = await client.call_tool("Search_Flights", {"fromId": "XXX.AIRPORT"})
    assert found.is_error and status_of(found) in ("invalid_arguments", "miss")
