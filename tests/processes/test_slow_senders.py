"""Slow senders: whose connection is cut, and whose is spared."""

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from conductor_py.api.bodies import Bodies
from conductor_py.processes.connections import Connection, is_known, own_connections
from conductor_py.processes.slow_senders import SlowSenders
from tests.waiting import until

_HERE = "10.0.0.1"


class _Network:
    """Connections as the kernel would show them, at a time that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.cut: list[int] = []
        self.bodies = Bodies(places=100, most_bytes=1_000, piece_s=30, monotonic=lambda: self.now)
        self.senders = SlowSenders(
            self.bodies, lambda _: list(self._all.values()), monotonic=lambda: self.now
        )
        self._all: dict[int, Connection] = {}
        self._requests = ExitStack()

    def shows(
        self,
        number: int,
        *,
        received_at: float,
        received: int = 100,
        sent: int = 0,
        sent_at: float = 0.0,
        client: str = _HERE,
    ) -> None:
        self._all[number] = Connection(
            key=number,
            client=client,
            received=received,
            sent=sent,
            received_at=received_at,
            sent_at=sent_at,
            cut=lambda: self.cut.append(number),
        )

    def body(self, request: int) -> None:
        """A request whose body is waited for from now on."""
        self._requests.enter_context(self.bodies.piece(request, _HERE))

    def look(self, seconds: float) -> list[int]:
        """Look at once, and each second."""
        self.senders.look()
        for _ in range(int(seconds)):
            self.now += 1
            self.senders.look()
        return sorted(set(self.cut))

    def end(self) -> None:
        self._requests.close()


@pytest.fixture
def network() -> Iterator[_Network]:
    made = _Network()
    yield made
    made.end()


def test_half_sent_body_is_cut_when_its_time_is_over(network: _Network) -> None:
    network.body(1)
    network.shows(1, received_at=1_000)
    assert network.look(29) == []
    assert network.look(1) == [1]


def test_others_are_spared_that_wait_for_us_or_for_nothing(network: _Network) -> None:
    network.body(1)
    network.bodies.answer(2)
    network.shows(1, received_at=990)  # late
    network.shows(2, received_at=999.99)  # a long poll that arrived when this began
    network.shows(3, received_at=900, sent_at=900.1, sent=50)  # idle, its answer is out
    network.shows(4, received_at=990, client="10.0.0.2")  # of somebody who is not late
    assert network.look(40) == [1]


def test_body_that_drips_is_cut_and_a_large_one_is_not(network: _Network) -> None:
    network.body(1)
    received = {1: 100, 2: 100}
    for second in range(40):
        received[1] += 1
        received[2] += 5_000
        for number, count in received.items():
            network.shows(number, received=count, received_at=1_000 + second)
        network.look(0)
        network.now += 1
    assert sorted(set(network.cut)) == [1]


def test_connection_that_was_idle_for_long_before_its_request_does_not_drip(
    network: _Network,
) -> None:
    network.body(1)
    network.shows(1, received_at=1_000)  # late
    network.shows(2, received_at=800, sent_at=800.1, sent=50)
    network.look(40)
    network.bodies.answer(9)
    network.shows(2, received_at=1_040, received=200, sent_at=800.1, sent=50)
    assert network.look(5) == [1]


@pytest.mark.parametrize("sent_at", [1_000, 1_000.2])
def test_half_sent_body_is_cut_though_the_last_word_was_ours(
    network: _Network, sent_at: float
) -> None:
    """`100 Continue`, or the answer to a request that came in the same packet."""
    network.body(1)
    network.shows(1, received_at=1_000, sent_at=sent_at, sent=25)
    assert network.look(29) == []
    assert network.look(2) == [1]


def test_nothing_is_looked_at_while_no_body_is_waited_for(network: _Network) -> None:
    network.shows(1, received_at=0)
    assert network.look(100) == []


@pytest.mark.skipif(not is_known(), reason=f"{sys.platform} does not tell")
def test_accepted_connections_of_this_process_are_known_and_can_be_cut() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
    ):
        ours, _ = listener.accept()
        port = listener.getsockname()[1]
        with ours:

            def shown() -> Connection:
                with ExitStack() as opened:
                    (one,) = own_connections(port, opened)
                    return one

            client.sendall(b"half")
            until(lambda: shown().received == 4, what="what was sent")
            assert (shown().client, shown().sent) == ("127.0.0.1", 0)
            with ExitStack() as opened:
                (other,) = own_connections(client.getsockname()[1], opened)
                assert other.key == os.fstat(client.fileno()).st_ino, "opened by itself"
            ours.sendall(b"answer")
            client.recv(10)
            until(lambda: shown().sent == 6, what="what was answered")
            with ExitStack() as opened:
                for each in own_connections(port, opened):
                    each.cut()
            assert client.recv(10) == b""


_TRIES = """
import fcntl, sys
try:
    fcntl.lockf(open(sys.argv[1], "r+"), fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    print("locked")
"""


@pytest.mark.skipif(not is_known(), reason=f"{sys.platform} does not tell")
def test_slow_bodies_make_no_process_lose_its_locks_on_the_search_file(tmp_path: Path) -> None:
    """Who closes a copy of a file loses all locks on it; SQLite without locks damages its file."""
    file = tmp_path / "search.sqlite3"
    with file.open("w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        with ExitStack() as opened:
            assert list(own_connections(1, opened)) == []
        tried = subprocess.run(
            (sys.executable, "-c", _TRIES, str(file)), capture_output=True, text=True, check=True
        )
        assert tried.stdout == "locked\n"
