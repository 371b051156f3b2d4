# pyright: basic
"""One trajectory's calls through a loop of another's making read as they would in ours."""
from __future__ import annotations

import pytest

from environment.core.calls import ResultStatus, WorldAnswer
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.session.observation import ObservationCut
from training.tools.calls import ToolCalls
from training.tools.worlds import WORLD, known_tools, world_path

FIND = ToolSchema("find", "find", {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})


class Here:
    def __init__(self):
        self.schemas = {"find": FIND}

    def call(self, name, arguments):
        if arguments.get("q") == "Atlantis":
            raise OSError("disk")
        known = arguments.get("q") == "Oslo"
        return WorldAnswer(ResultStatus.OK, {"id": 7, "text": "x" * 300}) if known else WorldAnswer(ResultStatus.MISS)


def calls(**cut):
    return ToolCalls(Here(), {"find": FIND}, ObservationCut(**cut))


def test_ids_statuses_and_ledger_are_kept_over_calls():
    session = calls()
    first, second = session.call("find", {"q": "Oslo"}, 0), session.call("find", {"q": "Rome"}, 0)
    third, fourth = session.call("fly", {}, 1), session.call("find", {}, 2)
    assert [r.call_id for r in (first, second, third, fourth)] == ["t0c0", "t0c1", "t1c0", "t2c0"]
    assert [r.status.value for r in session.results] == ["ok", "miss", "unknown_tool", "invalid_arguments"]
    seen = session.ledger[0]
    assert (seen.call_id, seen.field, seen.value) == ("t0c0", "id", 7)
    log = session.as_log()
    assert log["calls/made"] == 4 and log["calls/miss"] == 1
    assert sum(log[f"calls/{s.value}"] for s in ResultStatus) == 4


def test_replies_are_cut_by_structure():
    text = calls(limit_chars=60).call("find", {"q": "Oslo"}).text
    assert len(text) <= 60 and '"id":7' in text.replace(" ", "")


def test_a_broken_world_is_nobodys_reply():
    with pytest.raises(OSError, match="disk"):
        calls().call("find", {"q": "Atlantis"})


def test_which_world_is_the_configurations_then_the_environments(monkeypatch):
    monkeypatch.setenv(WORLD, "there.db")
    assert world_path("here.db") == "here.db" and world_path(None) == "there.db"
    monkeypatch.delenv(WORLD)
    with pytest.raises(ConfigError, match="which world"):
        world_path(None)


def test_all_tools_of_the_world_are_known():
    assert len(known_tools()) == 40
