"""From a row as it was published to an `Item`: xlam's layout, ToolACE's, or one that `prepare` wrote.

    xlam       {"id", "query", "tools": JSON text or list, "answers": JSON text, bracket text or list}
    ToolACE    {"system": text with the tools in it, "conversations": [{"from": "user" | "assistant", "value"}]}

Of a conversation the first request and the reply to it are taken.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from data_synthesis.single_turn.calls import json_calls, read_calls
from data_synthesis.single_turn.model import Call, Drop, Item
from data_synthesis.single_turn.tools import plain_name, read_tools

_DECODER = json.JSONDecoder()


def read_item(row: Mapping[str, Any], where: str) -> Item:
    """Return what a row says; Drop where it can't be read."""
    try:
        query, tools_text, answer = _conversation(row) if "conversations" in row else _flat(row)
        tools, names = read_tools(tools_text)
        calls = read_calls(answer) if isinstance(answer, str) else json_calls(answer)
    except RecursionError as error:
        raise Drop("too_deep", "nested too deeply") from error
    given = row.get("id")
    identity = str(given) if isinstance(given, str | int) and given != "" else where
    named = tuple(Call(_name(call.name, names), call.arguments) for call in calls)
    return Item(where, identity, query, tools, named)


def with_calls(item: Item, text: str) -> Item:
    """Return the row with the calls of a corrected answer; Drop where the text holds none."""
    names = {tool.name: tool.name for tool in item.tools}
    calls = tuple(Call(_name(call.name, names), call.arguments) for call in read_calls(text))
    return replace(item, calls=calls)


def _flat(row: Mapping[str, Any]) -> tuple[str, object, object]:
    for name in ("query", "tools"):
        if row.get(name) is None:
            raise Drop("missing_column", f"the row has no {name!r}, only {', '.join(map(str, row)) or 'nothing'}")
    answer = row.get("answers", row.get("answer"))
    if answer is None:
        raise Drop("missing_column", "the row has no 'answers'")
    return _query(row["query"]), row["tools"], answer


def _conversation(row: Mapping[str, Any]) -> tuple[str, object, object]:
    turns = row["conversations"]
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise Drop("missing_column", "'conversations' is no list of turns")
    said = [(str(turn.get("from") or turn.get("role")), turn.get("value", turn.get("content"))) for turn in turns]
    asked = next((n for n, (who, _) in enumerate(said) if who in ("user", "human")), None)
    if asked is None or asked + 1 >= len(said) or said[asked + 1][0] not in ("assistant", "gpt"):
        raise Drop("missing_column", "no request with a reply right after it")
    reply = said[asked + 1][1]
    if not isinstance(reply, str):
        raise Drop("no_call", "the reply is no text")
    tools = row.get("tools") or _tools_in(str(row.get("system") or ""))
    return _query(said[asked][1]), tools, reply


def _query(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Drop("no_query", "the query is no text, or blank")
    return value.strip()


def _tools_in(system: str) -> object:
    """Return the first JSON list of objects in a system text."""
    at = system.find("[")
    while at >= 0:
        try:
            found, _ = _DECODER.raw_decode(system, at)
        except ValueError:
            found = None
        if isinstance(found, list) and found and isinstance(found[0], dict):
            return found
        at = system.find("[", at + 1)
    raise Drop("no_tools", "the system text holds no JSON list of tools")


def _name(name: str, names: Mapping[str, str]) -> str:
    if name in names:
        return names[name]
    plain = plain_name(name)
    return plain if plain in names.values() else name
