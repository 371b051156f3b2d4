"""A world is opened by its file, recorded or served; a reference that can't be trusted is refused."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from environment.booking.schemas import load_schemas
from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from environment.cache.store import CachedWorld
from environment.core.errors import ConfigError, WorldError
from environment.server.answers import Answers
from environment.server.client import HttpWorld
from environment.server.opening import open_world, write_reference
from environment.server.pool import SessionPool
from environment.server.tests.broken_peer import page, peer, says
from environment.server.tests.support import parse

pytestmark = pytest.mark.timeout(20)
SCHEMAS = load_schemas()


def described(**facts: Any) -> bytes:
    """What a server says of its world."""
    return page(json.dumps({"tools": sorted(SCHEMAS), "content_hash": "ab" * 32, "entries": 7, **facts}).encode())


def reference(path: Path, **more: Any) -> Path:
    row = {"tool_rl_world": 1, "url": "http://127.0.0.1:9", "content_hash": "x", **more}
    path.write_text(json.dumps(row))
    return path


def test_a_recorded_world_is_opened_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    build_seed_cache(path, 3, WorldSize(cities=2, hotels=1, attractions=1, cars=1, destinations=1, dates=1))
    world = open_world(path)
    assert isinstance(world, CachedWorld) and list(world.schemas) == list(SCHEMAS)
    said = json.loads(Answers(SessionPool(world, parse)).world())
    facts = {"tools": sorted(SCHEMAS), "content_hash": world.content_hash, "entries": world.entry_count}
    assert said == facts
    with pytest.raises(WorldError, match="no recorded world"):
        open_world(tmp_path / "none.db")


def test_a_reference_is_written_with_what_the_server_says_and_without_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOL_RL_SERVE_TOKEN", "s3cret-token")
    path = tmp_path / "world.json"
    with peer(says(described())) as (url, seen):
        assert write_reference(path, url, SCHEMAS)["entries"] == 7
        with open_world(path, SCHEMAS) as world:
            assert isinstance(world, HttpWorld)
            assert (world.content_hash, world.entry_count) == ("ab" * 32, 7)
    assert all(b"Authorization: Bearer s3cret-token" in request for request in seen) and len(seen) == 2
    assert "s3cret" not in path.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["world.json"]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"tools": []}, "lacks tools"),
        ({"tools": 5}, "not the answer of a world server"),
        ({"content_hash": None}, "no recorded one"),
    ],
)
def test_a_server_without_the_world_that_is_needed_is_refused(
    facts: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with peer(says(described(**facts))) as (url, _), pytest.raises(WorldError, match=words):
        write_reference(tmp_path / "world.json", url, SCHEMAS)
    assert not list(tmp_path.iterdir())


def test_another_world_than_the_one_it_was_made_for_is_refused(tmp_path: Path) -> None:
    with peer(says(described())) as (url, _), pytest.raises(WorldError, match="another world") as caught:
        open_world(reference(tmp_path / "w.json", url=url), SCHEMAS)
    assert "abab" in str(caught.value) and "content hash x" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"tool_rl_world": 1, "url"', "broken reference"),
        ('{"tool_rl_world": 2, "url": "http://x:1", "content_hash": "a"}', "no reference"),
        ('{"a": [{"arguments": {}, "response": {}}]}', "no reference"),
        ('{"tool_rl_world": 1, "url": 5, "content_hash": "a"}', "without url and content_hash"),
        ("", "not a recorded world"),
        ("[1]", "not a recorded world"),
    ],
)
def test_what_is_no_reference_is_said_with_the_file(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "world.json"
    path.write_text(text)
    with pytest.raises(WorldError, match=words) as caught:
        open_world(path, SCHEMAS)
    assert "world.json" in str(caught.value)


def test_an_address_in_a_reference_is_judged_as_any_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="http://HOST:PORT"):
        open_world(reference(tmp_path / "w.json", url="file:///etc/passwd"), SCHEMAS)
