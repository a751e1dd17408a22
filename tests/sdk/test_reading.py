"""Answers without end: of a hostile server, or of the store behind a payload's URL."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest

from conductor_py.sdk import (
    AnswerTooLarge,
    Client,
    PayloadKind,
    StoreUnavailable,
    Worker,
    worker_task,
)
from conductor_py.sdk.transport import MOST_BYTES
from tests.sdk.clock import FakeClock
from tests.sdk.stub import Reply, StubServer, TaskQueue
from tests.sdk.tasks import polled
from tests.waiting import PATIENCE_S

_LIMIT_KB = 1_024
_PIECE = b"x" * 65_536

Send = Callable[[bytes], None]


class _Hostile:
    """Answers each connection with what a program sends, until it ends or the client has left."""

    def __init__(self, program: Callable[[Send], None]) -> None:
        self.asked = 0
        self.sent = 0
        self.left = threading.Semaphore(0)
        self._program = program
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._threads:
            each.join(PATIENCE_S)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.asked += 1
                answering = threading.Thread(target=self._answer, args=(connection,))
                self._threads.append(answering)
                answering.start()

    def _answer(self, connection: socket.socket) -> None:
        def send(piece: bytes) -> None:
            connection.sendall(piece)
            self.sent += len(piece)

        connection.settimeout(PATIENCE_S)
        with closing(connection), suppress(OSError):
            connection.recv(65_536)
            self._program(send)
        self.left.release()


@pytest.fixture
def hostile() -> Iterator[Callable[[Callable[[Send], None]], _Hostile]]:
    made: list[_Hostile] = []

    def make(program: Callable[[Send], None]) -> _Hostile:
        made.append(_Hostile(program))
        return made[-1]

    yield make
    for each in made:
        each.close()


def _client(origin: str, clock: FakeClock, **changed: float) -> Client:
    given = {"timeout_s": PATIENCE_S, "answer_limit_kb": _LIMIT_KB} | changed
    return Client(f"{origin}/api", clock=clock, **given)  # type: ignore[arg-type]


def _until_closed(send: Send) -> None:
    send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
    for _ in itertools.count():
        send(_PIECE)


def _in_chunks(send: Send) -> None:
    send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in itertools.count():
        send(b"%x\r\n%s\r\n" % (len(_PIECE), _PIECE))


def _announced(send: Send) -> None:
    send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
    for _ in itertools.count():
        send(_PIECE)


def _as_an_error(send: Send) -> None:
    send(b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in itertools.count():
        send(b"%x\r\n%s\r\n" % (len(_PIECE), _PIECE))


@pytest.mark.parametrize("program", [_until_closed, _in_chunks, _announced, _as_an_error])
def test_answer_without_end_is_left_at_its_limit_and_asked_for_once(hostile, clock, program):
    server = hostile(program)
    with _client(server.origin, clock) as client:
        with pytest.raises(AnswerTooLarge, match=r"GET .*/version: .* more than 1048576 bytes"):
            client.version()
        assert server.left.acquire(timeout=PATIENCE_S), "the connection is closed"
    assert server.asked == 1, "what is too large is not repeated"
    assert server.sent < 64 << 20, "what the kernels of both ends hold comes on top"


def test_payload_without_end_fails_its_task_for_good_and_is_downloaded_once(hostile, stub, clock):
    store = hostile(_in_chunks)
    tasks = TaskQueue(stub)
    place = {"uri": f"{store.origin}/store/1.json?signature=s3cr3t", "path": "1.json"}
    stub.on("GET", "/api/tasks/externalstoragelocation", Reply(200, place))

    @worker_task("greet")
    def greet(name: str) -> str:
        return name

    with Client(stub.url, timeout_s=PATIENCE_S, answer_limit_kb=_LIMIT_KB) as client:
        worker = Worker(client, [greet])
        worker.start()
        tasks.put(polled(externalInputPayloadStoragePath="1.json"))
        report = tasks.next_report()
        worker.stop()
    assert report["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "more than 1048576 bytes" in str(report["reasonForIncompletion"])
    assert "s3cr3t" not in str(report)
    assert store.asked == 1


def test_answer_that_comes_byte_by_byte_is_left_when_its_time_is_over(hostile, clock):
    def drip(send: Send) -> None:
        send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        for _ in itertools.count():
            clock.advance(1_000)
            send(b"x")

    server = hostile(drip)
    with _client(server.origin, clock, answer_timeout_s=300) as client:
        with pytest.raises(StoreUnavailable, match="to the end within 300 s"):
            client.start_workflow("orders")
        assert server.left.acquire(timeout=PATIENCE_S)


def test_head_that_comes_byte_by_byte_is_left_when_its_time_is_over(hostile, clock):
    def drip(send: Send) -> None:
        send(b"HTTP/1.1 200 OK\r\nX-Long: ")
        for _ in itertools.count():
            clock.advance(100)
            send(b"x")

    def more(send: Send) -> None:
        for _ in itertools.count():  # a client passes over any number of these
            clock.advance(100)
            send(b"HTTP/1.1 100 Continue\r\n\r\n")

    for program in (drip, more):
        server = hostile(program)
        with _client(server.origin, clock) as client:
            with pytest.raises(StoreUnavailable, match=f"within {PATIENCE_S:g} s"):
                client.start_workflow("orders")
            assert server.left.acquire(timeout=PATIENCE_S)


def test_extension_whose_answer_drips_holds_the_keeper_of_leases_no_longer_than_it_may(
    hostile, clock
):
    def drip(send: Send) -> None:
        send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        for _ in itertools.count():
            clock.advance(100)
            send(b" ")

    server = hostile(drip)
    with _client(server.origin, clock) as client:
        with pytest.raises(StoreUnavailable, match="to the end within 3 s"):
            client.extend_task("t", 1, 10, resend=False, timeout_s=3)
        assert server.left.acquire(timeout=PATIENCE_S)


def test_answers_up_to_the_limit_arrive_whole_and_their_connection_is_kept(stub: StubServer, clock):
    text = "x" * (_LIMIT_KB * 1024)
    stub.on("GET", "/api/version", Reply(200, text))
    with _client(stub.origin, clock) as client:
        assert [client.version(), client.version()] == [text, text]
    assert len({request.peer_port for request in stub.requests}) == 1


def test_a_client_takes_256_megabytes_unless_it_is_told_otherwise():
    assert MOST_BYTES == 256 << 20


def test_download_is_bounded_like_any_answer(hostile, stub, clock):
    store = hostile(_announced)
    place = {"uri": f"{store.origin}/1.json", "path": "1.json"}
    stub.on("GET", "/api/workflow/externalstoragelocation", Reply(200, place))
    with _client(stub.origin, clock) as client, pytest.raises(AnswerTooLarge):
        client.download_payload(PayloadKind.WORKFLOW_OUTPUT, "1.json")
    assert store.asked == 1
