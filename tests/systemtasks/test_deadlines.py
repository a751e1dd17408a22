"""Peers that hold an HTTP task up at each step of a call: its total timeout ends all of them."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from conductor_py.model.status import TaskStatus
from conductor_py.outbound.addresses import AddressRules
from tests.systemtasks.conftest import LOOPBACK, WebServer, ask, response_of
from tests.waiting import PATIENCE_S

Talk = Callable[[socket.socket, threading.Event], None]
LATE = "The whole call took longer than 200 ms"


@contextmanager
def peer(talk: Talk) -> Iterator[int]:
    """Accept connections and talk to each in its thread until the test ends; yields the port."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(taken: socket.socket) -> None:
        try:
            talk(taken, over)
        except OSError:
            """The other side broke off."""
        over.wait(PATIENCE_S)
        taken.close()

    def accept() -> None:
        while not over.is_set():
            try:
                taken, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(taken,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def silent(_taken: socket.socket, _over: threading.Event) -> None:
    """Never say anything."""


def drips_a_head(taken: socket.socket, over: threading.Event) -> None:
    taken.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not over.wait(0.01):
        taken.sendall(b"x")


def drips_headers(taken: socket.socket, over: threading.Event) -> None:
    taken.sendall(b"HTTP/1.1 200 OK\r\n")
    while not over.wait(0.01):
        taken.sendall(b"X")


def drips_a_handshake(taken: socket.socket, over: threading.Event) -> None:
    # A TLS record of 16 kB that is never whole.
    taken.sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
    while not over.wait(0.01):
        taken.sendall(b"\0")


def continues_for_ever(taken: socket.socket, over: threading.Event) -> None:
    while not over.wait(0.01):
        taken.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize(
    ("scheme", "talk"),
    [
        ("http", silent),
        ("http", drips_a_head),
        ("http", drips_headers),
        ("http", continues_for_ever),
        ("https", silent),
        ("https", drips_a_handshake),
    ],
)
def test_peer_that_holds_a_call_up_is_left_at_the_total_timeout(scheme: str, talk: Talk) -> None:
    with peer(talk) as port:
        result = ask({"uri": f"{scheme}://127.0.0.1:{port}/", "method": "GET"}, total_ms=200)
    assert result.status is TaskStatus.FAILED
    assert result.reason == LATE


def test_peer_that_reads_nothing_is_left_at_the_total_timeout() -> None:
    value = {"method": "POST", "body": "x" * 20_000_000}
    with peer(silent) as port:
        result = ask({**value, "uri": f"http://127.0.0.1:{port}/"}, total_ms=200)
    assert result.reason == LATE


@pytest.fixture
def hanging() -> Iterator[AddressRules]:
    release = threading.Event()

    def resolve(_host: str, _port: int) -> tuple[str, ...]:
        release.wait(PATIENCE_S)
        return ("127.0.0.1",)

    yield AddressRules(networks=LOOPBACK.networks, resolve=resolve)
    release.set()


def test_resolver_that_hangs_is_left_at_the_total_timeout(hanging: AddressRules) -> None:
    result = ask({"uri": "http://slow.example/", "method": "GET"}, hanging, total_ms=200)
    assert result.status is TaskStatus.FAILED
    assert result.reason == LATE


def test_resolver_that_hangs_is_left_at_the_connection_timeout(hanging: AddressRules) -> None:
    value = {"uri": "http://slow.example/", "method": "GET", "connectionTimeOut": 50}
    result = ask(value, hanging)
    assert result.reason == "The host slow.example was not found within 50 ms"


def test_redirects_to_silent_peers_share_one_total_timeout(
    web: WebServer, dripping: threading.Event
) -> None:
    with peer(lambda _taken, _over: dripping.set()) as port:
        url = web.answer("/a", "", 302, Location=f"http://127.0.0.1:{port}/")
        result = ask({"uri": url, "method": "GET"}, total_ms=500)
    assert result.reason == "The whole call took longer than 500 ms"
    assert len(web.seen) == 1


SECRETS = {
    "Authorization": "Bearer secret",
    "Cookie": "secret",
    "X-Api-Key": "secret",
    "Proxy-Authorization": "secret",
    "Referer": "http://secret.example/",
    "Accept-Language": "de",
    "User-Agent": "an agent",
}
ELSEWHERE = AddressRules(networks=LOOPBACK.networks, resolve=lambda *_: ("127.0.0.1",))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_origin_hears_no_header_but_the_harmless_ones(web: WebServer, status: int) -> None:
    web.answer("/there", '"here"')
    url = web.answer("/a", "", status, Location=f"http://other.example:{web.port}/there")
    result = ask({"uri": url, "method": "GET", "headers": SECRETS}, ELSEWHERE)
    assert response_of(result)["body"] == "here"
    first, second = web.seen
    assert first.headers["X-Api-Key"] == "secret"
    assert "secret" not in str(second.headers)
    assert second.headers["Accept-Language"] == "de"
    assert second.headers["User-Agent"] == "an agent"
    assert "Content-Type" not in second.headers


def test_credentials_do_not_come_back_by_way_of_another_origin(web: WebServer) -> None:
    web.answer("/end", "1")
    web.answer("/back", "", 302, Location=f"{web.url}/end")
    url = web.answer("/a", "", 302, Location=f"http://other.example:{web.port}/back")
    ask({"uri": url, "method": "GET", "headers": SECRETS}, ELSEWHERE)
    assert [each.path for each in web.seen] == ["/a", "/back", "/end"]
    assert "secret" not in str([each.headers for each in web.seen[1:]])


@pytest.mark.parametrize(("status", "method"), [(307, "POST"), (308, "PUT"), (302, "PUT")])
def test_body_is_not_sent_to_another_origin(web: WebServer, status: int, method: str) -> None:
    web.answer("/there", "1")
    url = web.answer("/a", "", status, Location=f"http://other.example:{web.port}/there")
    result = ask({"uri": url, "method": method, "body": "secret"}, ELSEWHERE)
    assert result.status is TaskStatus.FAILED
    assert response_of(result)["statusCode"] == status
    assert len(web.seen) == 1


@pytest.mark.parametrize("status", [302, 303])
def test_a_post_that_becomes_a_get_goes_to_another_origin_without_its_body(
    web: WebServer, status: int
) -> None:
    web.answer("/there", "1")
    url = web.answer("/a", "", status, Location=f"http://other.example:{web.port}/there")
    ask({"uri": url, "method": "POST", "body": "secret"}, ELSEWHERE)
    assert (web.seen[1].method, web.seen[1].body) == ("GET", b"")
