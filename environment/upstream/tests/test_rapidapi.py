"""The live service: what it is sent, what its replies mean, what is kept, and that the key shows nowhere."""
from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from environment.cache.recording import RecordingWorld
from environment.core.calls import ResultStatus
from environment.core.errors import ConfigError, ToolRlError
from environment.core.upstream import Upstream, UpstreamFailure, UpstreamStop
from environment.upstream.http import HttpLimits
from environment.upstream.patience import Budget, Patience
from environment.upstream.rapidapi import Key, RapidApi, RapidApiSettings
from environment.upstream.tests.stub import Answer, Asked, page, reply, stub

SECRET = "k3y-that-no-text-may-hold"
OSLO = {"status": True, "message": "Success", "timestamp": 17, "data": [
    {"dest_id": "-273837", "search_type": "city", "name": "Oslo"},
]}  # fmt: skip
CALL = ("Search_Hotel_Destination", {"query": " Oslo "})


def service(url: str, budget: Budget | None = None, **settings: Any) -> RapidApi:
    chosen: dict[str, Any] = {
        "limits": HttpLimits(0.5, 0.3, 1.0), "patience": Patience(3, 0.001, 0.05), "per_second": 0, **settings,
    }  # fmt: skip
    return RapidApi(Key(SECRET), RapidApiSettings(url, **chosen), budget)


def test_a_call_is_sent_as_documented_and_its_answer_kept_without_the_time_of_day(tmp_path: Path) -> None:
    with stub(lambda _: reply(OSLO)) as live:
        api = service(live.url)
        with RecordingWorld(tmp_path / "j.db", api) as world:
            first = world.call(*CALL)
            assert world.call("Search_Hotel_Destination", {"query": "OSLO"}) == first
    assert first.status is ResultStatus.OK and first.value == {k: v for k, v in OSLO.items() if k != "timestamp"}
    (asked,) = live.asked
    assert (asked.path, asked.query) == ("/api/v1/hotels/searchDestination", {"query": "Oslo"})
    assert asked.headers["x-rapidapi-key"] == SECRET
    assert asked.headers["x-rapidapi-host"] == "booking-com15.p.rapidapi.com"
    assert isinstance(api, Upstream) and api.provenance == "booking-com15" and api.stopped is None


def test_a_wrong_call_costs_nothing() -> None:
    with stub(lambda _: reply(OSLO)) as live:
        api = service(live.url)
        assert api.call("Search_Hotels", {"dest_id": "1"}).status is ResultStatus.INVALID_ARGUMENTS
        assert api.call("Serch", {}).status is ResultStatus.UNKNOWN_TOOL
    assert live.asked == [] and api.budget.spent == 0


def cut_json(_: Asked) -> bytes:
    return reply(b'{"status": true, "data": [{"dest_id"')


def silence(_: Asked) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
    import time

    time.sleep(0.6)


PASSING: dict[str, tuple[Callable[[Asked], Answer], str]] = {
    "500": (lambda _: reply({"message": "x"}, 500), "HTTP 500"),
    "503 page": (lambda _: page(503), "HTTP 503"),
    "429": (lambda _: reply({"message": "Too many requests"}, 429), "HTTP 429"),
    "page with 200": (lambda _: page(), "a web page instead of JSON"),
    "page without its type": (lambda _: reply(b"  <html>", 200, "application/json"), "a web page"),
    "cut JSON": (cut_json, "sends no JSON"),
    "empty": (lambda _: reply(b""), "sends no JSON"),
    "NaN": (lambda _: reply(b'{"data": [NaN]}'), "sends no JSON"),
    "1e400": (lambda _: reply(b'{"data": [1e400]}'), "sends no JSON"),
    "deep": (lambda _: reply(b"[" * 100_000), "sends no JSON"),
    "bytes": (lambda _: reply(b"\xff\xfe\x00"), "sends no JSON"),
    "in trouble": (lambda _: reply({"status": False, "message": "Something went wrong"}), "in trouble"),
    "slow": (silence, "broke off"),
}


@pytest.mark.parametrize("name", PASSING)
def test_trouble_is_asked_again_and_never_kept(tmp_path: Path, name: str) -> None:
    bad, said = PASSING[name]
    with stub(bad) as live, RecordingWorld(tmp_path / "j.db", service(live.url)) as world:
        answer = world.call(*CALL)
        assert answer.status is ResultStatus.UPSTREAM_ERROR and said in answer.value["error"]
        assert len(live.asked) == 3 and world.kept_count() == 0
        live.answer = lambda _: reply(OSLO)
        assert world.call(*CALL).status is ResultStatus.OK, "the next call finds the service healed"


LASTING: dict[str, tuple[bytes, str]] = {
    "another tool's answer": (reply({"status": True, "data": {"flightOffers": []}}), "no answer of Search_Hotel_Dest"),
    "an item without its id": (reply({"data": [{"name": "Oslo"}]}), r"data\[0\] lacks dest_id, search_type"),
    "a number": (reply(5), "no answer of Search_Hotel_Destination: data is no array: 5"),
    "null": (reply(None), "no answer of"),
    "404": (reply({"message": "Endpoint does not exist"}, 404), "HTTP 404"),
    "redirect": (reply({}, 301, Location="https://example.org"), "HTTP 301"),
    "400 without a reason": (reply([], 400), "without a reason"),
}


@pytest.mark.parametrize("name", LASTING)
def test_what_is_no_answer_is_not_asked_again_and_never_kept(tmp_path: Path, name: str) -> None:
    bad, said = LASTING[name]
    with stub(lambda _: bad) as live:
        with pytest.raises(UpstreamFailure, match=said):
            service(live.url).call(*CALL)
        with RecordingWorld(tmp_path / "j.db", service(live.url)) as world:
            assert world.call(*CALL).status is ResultStatus.UPSTREAM_ERROR
            assert world.kept_count() == 0 and world.counts["failed"] == 1
    assert len(live.asked) == 2


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"status": False, "message": "No hotels on these dates"}, 200, "No hotels on these dates"),
        ({"status": False, "message": [{"query": "too short"}]}, 200, '[{"query": "too short"}]'),
        ({"error": {"code": 3}}, 200, '{"code": 3}'),
        ({"message": "bad dest_id"}, 422, "bad dest_id"),
        ({"status": False}, 400, "no reason given"),
    ],
)
def test_the_services_own_no_is_an_answer_and_kept(tmp_path: Path, body: Any, status: int, said: str) -> None:
    with stub(lambda _: reply(body, status)) as live, RecordingWorld(tmp_path / "j.db", service(live.url)) as world:
        answer = world.call(*CALL)
        assert (answer.status, answer.value) == (ResultStatus.UPSTREAM_ERROR, {"error": said})
        assert world.call(*CALL) == answer and len(live.asked) == 1


def test_bare_and_wrapped_answers_are_both_answers() -> None:
    with stub(lambda _: reply(OSLO["data"])) as live:
        assert service(live.url).call(*CALL).value == OSLO["data"]


def test_retry_after_is_obeyed_by_all() -> None:
    def busy_once(asked: Asked) -> bytes:
        return reply({}, 429, Retry_After="1") if asked.number == 1 else reply(OSLO)

    import time

    with stub(busy_once) as live:
        api = service(live.url, patience=Patience(3, 0.001, 5.0))
        began = time.monotonic()
        assert api.call(*CALL).status is ResultStatus.OK
        assert time.monotonic() - began >= 1
    assert len(live.asked) == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (reply({"message": "Invalid API key"}, 401), "refuses the key (HTTP 401)"),
        (reply({"message": "You are not subscribed to this API."}, 403), "refuses the key (HTTP 403)"),
        (reply({"message": "You have exceeded the MONTHLY quota"}, 429), "quota of booking-com15 is used up"),
    ],
)
def test_a_refused_key_stops_everything_after_one_request(answer: bytes, said: str) -> None:
    with stub(lambda _: answer) as live:
        api = service(live.url)
        for _ in range(3):
            with pytest.raises(UpstreamStop) as caught:
                api.call(*CALL)
            assert said in str(caught.value)
        assert said in (api.stopped or "")
    assert len(live.asked) == 1


def test_the_budget_counts_every_try_and_stops() -> None:
    with stub(lambda _: page()) as live:
        api = service(live.url, Budget(5))
        with pytest.raises(UpstreamFailure, match="web page"):
            api.call(*CALL)
        with pytest.raises(UpstreamStop, match="budget of 5 requests"):
            api.call(*CALL)
    assert len(live.asked) == 5 and "--max-requests" in (api.stopped or "")


def test_an_endpoint_in_doubt_is_asked_only_on_demand() -> None:
    hotel = {"data": {"hotel_id": 7, "hotel_name": "Inn"}}
    with stub(lambda _: reply(hotel)) as live:
        api = service(live.url)
        with pytest.raises(UpstreamFailure, match="Get_Hotel_Details is not asked of booking-com15") as caught:
            api.call("Get_Hotel_Details", {"hotel_id": "7"})
        assert "arrival_date" in str(caught.value) and "--ask-doubtful" in str(caught.value) and live.asked == []
        willing = service(live.url, doubtful=True)
        assert willing.call("Get_Hotel_Details", {"hotel_id": "7"}).value == hotel
    assert [tool for tool in api.schemas if api.doubt(tool)] == ["Get_Hotel_Details"]


def test_the_key_is_in_no_text_no_file_and_no_pickle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    for answer in (reply(OSLO), page(), reply({"message": "bad key"}, 401), reply(b"{"), b"", reply({"data": 1})):
        with stub(lambda _, sent=answer: sent) as live, RecordingWorld(tmp_path / "j.db", service(live.url)) as world:
            texts.append(json.dumps(world.call("Search_Hotel_Destination", {"query": str(len(texts))}).value))
            texts.append(repr(vars(world)))
            try:
                service(live.url).call(*CALL)
            except ToolRlError as error:
                texts += [str(error), repr(error), repr(error.__cause__), repr(error.__context__)]
    api = service("http://127.0.0.1:1")
    texts += [repr(api), repr(vars(api)), repr(api.settings), caplog.text]
    with pytest.raises(TypeError, match="does not travel"):
        pickle.dumps(Key(SECRET))
    assert not [text for text in texts if SECRET in text]
    assert not [path for path in tmp_path.iterdir() if SECRET.encode() in path.read_bytes()]


def test_a_missing_or_odd_key_is_named_by_its_variable_alone() -> None:
    with pytest.raises(ConfigError, match="RAPID_API_KEY") as caught:
        Key.from_environment("RAPID_API_KEY", {})
    assert "--upstream seed" in str(caught.value)
    for odd in ("abc\r\nX-Other: 1", "abc def", "schlüssel"):
        with pytest.raises(ConfigError) as caught:
            Key.from_environment("RAPID_API_KEY", {"RAPID_API_KEY": odd})
        assert odd not in str(caught.value)
    assert repr(Key.from_environment("K", {"K": f" {SECRET}\n"})) == "Key(***)"
