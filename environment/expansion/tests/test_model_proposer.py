"""A language model proposes: its text is data, its failures are filled in, its replies are kept."""
from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from environment.booking.places import all_places
from environment.booking.schemas import load_schemas
from environment.cache.store import CachedWorld
from environment.core.errors import ConfigError
from environment.core.upstream import UpstreamStop
from environment.expansion.model_proposer import ModelProposer, model_settings
from environment.expansion.proposals import DrawnProposer
from environment.expansion.run import expand
from environment.expansion.tests.test_run import SITE, settings
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, failed, said

SCHEMAS = load_schemas()
DRAWN = DrawnProposer(all_places(), date(2026, 5, 1))
SECRET = "k3y-that-no-text-may-hold"
LOCATION = SCHEMAS["Search_Hotel_Destination"]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def proposer(url: str, kept: Path) -> ModelProposer:
    return ModelProposer(model_settings("m", url, kept), DRAWN)


def ask(sets: Sequence[Any] | str, tmp_path: Path, tool: str = "Search_Hotel_Destination", **how: Any) -> list[Any]:
    text = sets if isinstance(sets, str) else f"```json\n{json.dumps({'sets': sets})}\n```"
    with FakeEndpoint(lambda _body, _number: said(text)) as service:
        return proposer(service.url, tmp_path / "p").fill(
            SCHEMAS[tool], how.get("linked", []), how.get("named", []), how.get("count", 3), "x"
        )


def test_the_models_values_come_first_and_the_rest_is_drawn(tmp_path: Path) -> None:
    found = ask([{"query": "Reykjavik"}, {"query": "Ulm"}], tmp_path)
    assert found[:2] == [{"query": "Reykjavik"}, {"query": "Ulm"}]
    assert found[2] == DRAWN.fill(LOCATION, [], [], 3, "x")[2]


@pytest.mark.parametrize(
    "bad",
    ["", "no", "{", '{"sets": 5}', "[1]", '{"sets": [{}, {"query": ""}, {"query": {"a": 1}}]}', '{"sets": [5]}'],
)
def test_text_that_is_no_proposal_is_none(tmp_path: Path, bad: str) -> None:
    assert ask(bad, tmp_path) == DRAWN.fill(LOCATION, [], [], 3, "x")


def test_ids_unknown_names_and_invalid_values_are_dropped(tmp_path: Path) -> None:
    stay = {"arrival_date": "2026-06-01", "departure_date": "2026-06-03"}
    sets = [
        stay | {"hotel_id": "666", "__class__": "x"},
        {"arrival_date": "2026-06-01", "departure_date": "2026-05-03"},  # in the wrong order
        stay | {"adults": 0},
        stay | {"adults": 2},
    ]
    found = ask(sets, tmp_path, "Get_Room_List_With_Availability", linked=["hotel_id"], count=2)
    assert found == [stay, stay | {"adults": 2}]


def test_what_must_be_given_is_given(tmp_path: Path) -> None:
    sets = [{}, {"sortBy": "trending"}]
    assert ask(sets, tmp_path, "Search_Attractions", linked=["id"], named=["sortBy"], count=1) == sets[1:]


def test_the_dates_of_legs_are_drawn_where_the_model_gives_the_rest(tmp_path: Path) -> None:
    linked = [f"legs[{i}].{end}" for i in (0, 1) for end in ("fromId", "toId")]
    sets = [{"adults": 2, "legs": [{"fromId": "XXX"}]}]
    (found,) = ask(sets, tmp_path, "Search_Flights_Multi_Stops", linked=linked, count=1)
    assert found["adults"] == 2 and [set(leg) for leg in found["legs"]] == [{"date"}] * 2


def test_nothing_is_asked_where_a_person_states_nothing(tmp_path: Path) -> None:
    with FakeEndpoint(lambda _body, _number: said("x")) as service:
        found = proposer(service.url, tmp_path / "p").fill(SCHEMAS["Get_Seat_Map"], ["offerToken"], [], 4, "x")
        assert found == [{}] * 4 and service.requests == []


def test_a_model_in_trouble_is_replaced_by_drawing(tmp_path: Path) -> None:
    with FakeEndpoint(lambda _body, _number: said("{}", "length")) as service:
        found = proposer(service.url, tmp_path / "p").fill(LOCATION, [], [], 3, "x")
    assert found == DRAWN.fill(LOCATION, [], [], 3, "x")


def test_a_refused_key_stops(tmp_path: Path) -> None:
    with FakeEndpoint(lambda _body, _number: failed(401)) as service, pytest.raises(UpstreamStop) as caught:
        proposer(service.url, tmp_path / "p").fill(LOCATION, [], [], 3, "x")
    assert "can't be asked" in str(caught.value) and SECRET not in str(caught.value)


def test_replies_are_kept_so_that_a_second_start_asks_nothing(tmp_path: Path) -> None:
    def counting(_body: dict[str, Any], number: int) -> Reply:
        return said(json.dumps({"sets": [{"query": f"town {number}"}]}))

    with FakeEndpoint(counting) as service:
        first = proposer(service.url, tmp_path / "p").fill(LOCATION, [], [], 1, "x")
        again = proposer(service.url, tmp_path / "p").fill(LOCATION, [], [], 1, "x")
        other = proposer(service.url, tmp_path / "p").fill(LOCATION, [], [], 1, "y")
        assert set(service.keys) == {f"Bearer {SECRET}"}
    assert first == again == [{"query": "town 0"}] and other == [{"query": "town 1"}]
    assert not [path for path in tmp_path.iterdir() if SECRET.encode() in path.read_bytes()]


def test_a_world_grows_by_what_a_model_proposes(tmp_path: Path) -> None:
    city = SITE.facts.places[0].city
    text = json.dumps({"sets": [{"query": city}, {"query": "Atlantis"}]})
    with FakeEndpoint(lambda _body, _number: said(text)) as service:
        expand(settings(tmp_path / "w.db", workflows=("Search_Car_Location",), model="m", model_address=service.url))
        assert len(service.requests) == 1
    with CachedWorld.open(tmp_path / "w.db") as world:
        assert {"query": city} in [arguments for arguments, _ in world.entries("Search_Car_Location")]
    assert not [path for path in tmp_path.iterdir() if SECRET.encode() in path.read_bytes()]


def test_a_model_needs_an_address(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--model none"):
        model_settings("gpt", None, tmp_path, {})
    with pytest.raises(ConfigError, match="address"):
        model_settings("gpt", "nowhere", tmp_path, {})
    assert model_settings("gpt", None, tmp_path, {"OPENAI_BASE_URL": "https://x.y/v1"}).base_url == "https://x.y/v1"
