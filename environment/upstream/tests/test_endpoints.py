"""The facts of the live service: every tool has an endpoint, and a call becomes the query the service documents."""
from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from environment.booking.schemas import load_schemas
from environment.booking.tests.test_schemas import shared
from environment.core.errors import DataError
from environment.upstream.endpoints import read_service

SERVICE = read_service()


def test_every_tool_has_an_endpoint_and_no_other() -> None:
    assert set(SERVICE.endpoints) == set(load_schemas())
    paths = [endpoint.path for endpoint in SERVICE.endpoints.values()]
    assert len(set(paths)) == 40 and all(path.startswith("/api/v1/") for path in paths)


def test_paths_are_those_that_the_reference_describes() -> None:
    for line in shared("booking_api.json").read_text().splitlines():
        tool = json.loads(line)
        assert SERVICE.endpoints[tool["name"]].path == re.findall(r"EndPoint: (\S+)", tool["description"])[0]


def test_no_fixed_value_is_a_parameter_of_the_tool() -> None:
    for name, schema in load_schemas().items():
        assert not set(SERVICE.endpoints[name].fixed) & set(schema.properties)


def test_arguments_become_the_query() -> None:
    legs = [{"fromId": "OSL.AIRPORT", "toId": "BGO.AIRPORT", "date": "2026-05-01"}]
    parts = urlsplit(SERVICE.query("Search_Flights_Multi_Stops", {"legs": legs, "adults": 2, "sort": "BEST"}))
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    assert parts.path == "/api/v1/flights/searchFlightsMultiStops"
    assert json.loads(query.pop("legs")) == legs
    assert query == {"adults": "2", "sort": "BEST", "currency_code": "USD"}
    point = SERVICE.query("Get_Nearby_Cities", {"latitude": 59.0, "longitude": -10.75})
    assert "latitude=59&longitude=-10.75" in point
    assert SERVICE.query("Search_Hotel_Destination", {"query": "São Paulo & co/../x?"}).endswith(
        "?query=S%C3%A3o+Paulo+%26+co%2F..%2Fx%3F"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"endpoints": {"T": {"path": "no slash"}}}, "endpoints.T.path"),
        ({"endpoints": {"T": {"path": "/a", "with": ["money"]}}}, "no fixed value of that name"),
        ({"surplus": 1}, "surplus"),
        ({"key_variable": None}, "key_variable"),
    ],
)
def test_a_bad_service_file_is_named_with_its_fault(tmp_path: Path, change: dict[str, object], said: str) -> None:
    good: dict[str, object] = {"service": "s", "address": "https://x", "host": "x", "key_variable": "K"}
    good |= {"endpoints": {}}
    (tmp_path / "s.json").write_text(json.dumps(good | change))
    with pytest.raises(DataError, match=said) as caught:
        read_service(tmp_path / "s.json")
    assert "s.json" in str(caught.value)
    with pytest.raises(DataError, match="no service file can be read"):
        read_service(tmp_path / "none.json")
