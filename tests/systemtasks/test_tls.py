"""HTTP tasks over TLS: the certificate is that of the host, whatever address was judged."""

import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor_py.model.status import TaskStatus
from conductor_py.outbound import connection
from conductor_py.outbound.addresses import AddressRules, networks
from tests.certificates import certificate_of, serving_tls
from tests.systemtasks.conftest import WebServer, ask, response_of, web_server_on

NAME = "secure.example"
TO_HERE = AddressRules(networks=networks(["127.0.0.0/8"]), resolve=lambda *_: ("127.0.0.1",))


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    file = certificate_of(NAME, tmp_path, "127.0.0.9")
    site = WebServer(host=NAME)
    server = web_server_on(site)
    trusting = ssl.create_default_context(cafile=str(file))
    monkeypatch.setattr(connection, "_tls", lambda: trusting)
    with serving_tls(server, file):
        yield site


def test_certificate_of_the_host_is_good(secure: WebServer) -> None:
    secure.answer("/a", "1")
    result = ask({"uri": f"https://{NAME}:{secure.port}/a", "method": "GET"}, TO_HERE)
    assert response_of(result)["body"] == 1.0


@pytest.mark.parametrize("host", ["other.example", "127.0.0.1"])
def test_certificate_of_another_host_is_refused(secure: WebServer, host: str) -> None:
    result = ask({"uri": f"https://{host}:{secure.port}/a", "method": "GET"}, TO_HERE)
    assert result.status is TaskStatus.FAILED
    assert str(result.reason).startswith(f"No TLS connection to {host}:{secure.port}: ")
    assert not secure.seen


def test_certificate_that_nobody_vouches_for_is_refused(
    secure: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_tls", ssl.create_default_context)
    result = ask({"uri": f"https://{NAME}:{secure.port}/a", "method": "GET"}, TO_HERE)
    assert "self-signed certificate" in str(result.reason)
    assert not secure.seen


def test_answer_in_the_clear_is_no_tls(web: WebServer) -> None:
    url = web.answer("/a").replace("http://", "https://")
    result = ask({"uri": url, "method": "GET"})
    assert result.status is TaskStatus.FAILED
    assert str(result.reason).startswith("No TLS connection to")


def test_server_that_drips_over_tls_is_left_after_the_total_timeout(
    secure: WebServer, dripping: threading.Event
) -> None:
    release = threading.Event()

    def drip(request: object) -> None:
        writer = request.wfile  # type: ignore[attr-defined]
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n")
        while not release.wait(0.02):
            writer.write(b"x")
            writer.flush()
            dripping.set()

    secure.answers["/drip"] = drip
    value = {"uri": f"https://{NAME}:{secure.port}/drip", "method": "GET", "readTimeOut": 60_000}
    result = ask(value, TO_HERE, total_ms=300)
    assert dripping.is_set()
    release.set()
    assert result.reason == "The whole call took longer than 300 ms"
