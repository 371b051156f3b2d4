"""The server: loopback alone, known host names, reading only, ports and interruptions handled as people expect."""
from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from environment.core.errors import ConfigError, DataError
from evaluation.tests.support import make_task
from evaluation.viewer.server import HEADERS, LOOPBACK, Site, is_own_host, open_server
from evaluation.viewer.tests.support import make_viewed_run, rollout


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Return the port of a running viewer."""
    with open_server(Site(make_viewed_run(tmp_path_factory.mktemp("runs") / "run", steps=1))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield int(server.server_address[1])
        server.shutdown()
        thread.join(10)


def ask(
    port: int, method: str, target: str, host: str | None = None, body: bytes | None = None
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=20)
    connection.putrequest(method, target, skip_host=host is not None)
    if host:
        connection.putheader("Host", host)
    connection.endheaders(body)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, dict(response.getheaders()), content


def test_pages_are_sent_with_the_headers_that_close_them_off(port: int) -> None:
    for target in ("/", "/t/1-1", "/raw/1-1", "/style.css", "/nothing"):
        status, headers, content = ask(port, "GET", target)
        assert status == (404 if target == "/nothing" else 200)
        assert int(headers["Content-Length"]) == len(content) > 0
        assert headers.items() >= HEADERS.items()
    assert "script" not in HEADERS["Content-Security-Policy"] and "'none'" in HEADERS["Content-Security-Policy"]


def test_asking_for_the_head_sends_no_body(port: int) -> None:
    status, headers, content = ask(port, "HEAD", "/")
    assert status == 200 and content == b"" and int(headers["Content-Length"]) > 1000


HOSTS = ("evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}", "", "[::1]:{port}")


@pytest.mark.parametrize("host", HOSTS)
def test_other_host_names_are_refused(port: int, host: str) -> None:
    status, _, content = ask(port, "GET", "/t/1-1", host.format(port=port))
    assert status == 403 and b"Lisbon" not in content and b"hotel" not in content.lower()


def test_own_host_names_are_taken(port: int) -> None:
    assert is_own_host(f"LocalHost:{port}", port) and not is_own_host(None, port)
    assert ask(port, "GET", "/", f"localhost:{port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_can_be_sent(port: int, method: str) -> None:
    assert ask(port, method, "/")[0] == 501


TARGETS = ("/../../etc/passwd", "/t/..%2f..%2fetc%2fpasswd", "/raw//etc/passwd", "http://evil.example/", "*")


@pytest.mark.parametrize("target", TARGETS)
def test_no_address_reaches_another_file(port: int, target: str) -> None:
    status, _, content = ask(port, "GET", target)
    assert (status == 404 or target.endswith("example/")) and b"root:" not in content


def test_the_server_listens_on_loopback_alone(port: int) -> None:
    other = next((a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)), LOOPBACK)
    if str(other).startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError), socket.create_connection((str(other), port), timeout=2):
        pass


def test_a_taken_port_and_an_impossible_one_are_said_in_words(tmp_path: Path, port: int) -> None:
    (tmp_path / "empty.jsonl").touch()
    site = Site(tmp_path / "empty.jsonl")
    for wrong in (port, 70_000, -1):
        with pytest.raises(ConfigError, match=rf"cannot listen on port {wrong}[\s\S]*--port"):
            open_server(site, wrong)


def test_many_readers_at_once_while_a_file_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.viewer.index.REST_S", 0.0)
    path = tmp_path / "live.jsonl"
    path.touch()
    site, task, failures = Site(path), make_task(1), list[str]()

    def read() -> None:
        for _ in range(15):
            answer = site.answer("/?order=low")
            failures.extend([] if answer.status == 200 else [str(answer.status)])

    readers = [threading.Thread(target=read) for _ in range(6)]
    for reader in readers:
        reader.start()
    for sample in range(40):
        with path.open("ab") as file:
            file.write(json.dumps(rollout(task, "right", sample).to_json()).encode() + b"\n")
    for reader in readers:
        reader.join(60)
    site.answer("/")
    assert failures == [] and [p.row.line for p in site.index.places()] == list(range(1, 41))


def test_named_rows_that_cannot_be_read_stop_the_viewer_before_it_serves(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    (tmp_path / "rows.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"rows\.jsonl"):
        Site(tmp_path / "a.jsonl", tmp_path / "rows.jsonl")
    with pytest.raises(DataError, match="no such file"):
        Site(tmp_path / "a.jsonl", tmp_path / "none.parquet")
