"""Slow readers: whose connection is cut, and whose is spared."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable
from contextlib import ExitStack

import pytest

from conductor_py.api.admission import Admission
from conductor_py.api.bodies import PIECE
from conductor_py.api.unread import LARGE, MOST
from conductor_py.processes.connections import Connection, is_known, own_connections
from conductor_py.processes.slow_readers import SlowReaders
from tests.waiting import until


class _Network:
    """Connections as the kernel would show them, at a time that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.cut: list[int] = []
        self.looked = 0
        self.admission = Admission(threads=4, working=2, resting=2, wait_s=1)
        self.readers = SlowReaders(
            self.admission, self._connections, piece_s=30, monotonic=lambda: self.now
        )
        self._all: dict[int, Connection] = {}
        self.readers.look()

    def _connections(self, _: ExitStack) -> list[Connection]:
        self.looked += 1
        return list(self._all.values())

    def shows(self, number: int, *, unread: int, sent: int = 0) -> None:
        self._all[number] = Connection(
            key=number,
            client="10.0.0.1",
            received=100,
            sent=sent,
            received_at=0,
            sent_at=0,
            unread=unread,
            cut=lambda: self.cut.append(number),
        )

    def look(self, seconds: float) -> list[int]:
        """Look twice a second."""
        for _ in range(int(2 * seconds)):
            self.now += 0.5
            self.readers.look()
        return sorted(set(self.cut))


def test_answer_that_nobody_reads_is_cut_when_its_time_is_over() -> None:
    network = _Network()
    network.admission.unread.given(LARGE)
    network.shows(1, unread=3_000_000)
    network.shows(2, unread=0)
    assert network.look(30) == []
    assert network.look(1) == [1]


def test_small_answers_that_nobody_reads_are_found_too() -> None:
    network = _Network()
    network.shows(1, unread=1)
    assert network.look(40) == [1]


def test_who_reads_drop_by_drop_is_cut_and_who_reads_a_piece_in_its_time_is_not() -> None:
    network = _Network()
    network.admission.unread.given(LARGE)
    for second in range(100):
        network.shows(1, unread=10_000_000, sent=second)
        network.shows(2, unread=10_000_000, sent=second * PIECE // 25)
        network.look(1)
    assert sorted(set(network.cut)) == [1]


def test_who_read_quickly_once_has_no_credit_for_it() -> None:
    network = _Network()
    network.admission.unread.given(LARGE)
    network.shows(1, unread=10_000_000)
    network.look(1)
    network.shows(1, unread=10_000_000, sent=100 * PIECE)
    assert network.look(35) == []
    assert network.look(30) == [1]


def test_while_much_is_unread_nobody_has_long() -> None:
    network = _Network()
    network.admission.unread.given(MOST // 2 + 1)
    network.shows(1, unread=1)
    assert network.look(3) == [1]


def test_while_there_is_no_room_the_next_look_ends_it() -> None:
    network = _Network()
    network.admission.unread.given(MOST + 1)
    network.shows(1, unread=1)
    assert network.look(1) == [1]
    network.shows(1, unread=0)
    network.look(0.5)
    assert not network.admission.unread.is_full


def _read_lawfully(network: _Network, connections: Iterable[int], halves: Iterable[int]) -> None:
    """Take 400 KB each second, at each of these looks."""
    for half in halves:
        for number in connections:
            network.shows(number, unread=4_000_000, sent=200_000 * half)
        network.look(0.5)


def test_five_slow_but_lawful_readers_do_not_keep_the_room() -> None:
    network = _Network()
    for _ in range(5):
        network.admission.unread.given(65_000_000)
    _read_lawfully(network, range(5), range(20))
    assert network.admission.unread.is_full
    assert network.cut == []
    _read_lawfully(network, range(5), range(20, 22))
    assert sorted(set(network.cut)) == [0, 1, 2, 3, 4], "ten seconds, however they read"
    for number in range(5):
        network.shows(number, unread=0)
    network.look(0.5)
    assert network.admission.unread.is_quiet


def test_who_reads_slowly_and_lawfully_is_spared_while_there_is_room() -> None:
    network = _Network()
    network.admission.unread.given(65_000_000)
    _read_lawfully(network, [1], range(300))
    assert network.cut == []


def test_while_all_places_of_large_bodies_are_taken_nobody_has_long() -> None:
    network = _Network()
    while network.admission.be_large():
        pass
    network.shows(1, unread=1)
    assert network.look(3) == [1]


def test_nobody_is_looked_at_all_the_time_while_nothing_is_unread() -> None:
    network = _Network()
    before = network.looked
    network.look(10)
    assert network.looked == before + 2


@pytest.mark.skipif(not is_known(), reason=f"{sys.platform} does not tell")
def test_what_a_client_has_not_read_is_known_and_its_connection_can_be_cut() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
    ):
        ours, _ = listener.accept()
        ours.setblocking(False)
        port = listener.getsockname()[1]
        with ours:

            def unread() -> int:
                with ExitStack() as opened:
                    (one,) = own_connections(port, opened)
                    return one.unread

            assert unread() == 0
            _fill(ours)
            assert unread() > 0
            while unread():
                client.recv(1 << 20)
            _fill(ours)
            admission = Admission(threads=4, working=2, resting=2, wait_s=1)
            now = [0.0]
            readers = SlowReaders(
                admission,
                lambda opened: own_connections(port, opened),
                piece_s=30,
                monotonic=lambda: now[0],
            )
            assert readers.look() == 0
            now[0] = 31.0
            assert readers.look() == 1
            until(lambda: _is_over(ours), what="the end of the connection")


def _fill(connection: socket.socket) -> None:
    """Send until the kernel takes no more."""
    while True:
        try:
            connection.send(b"x" * PIECE)
        except BlockingIOError:
            return


def _is_over(connection: socket.socket) -> bool:
    try:
        connection.send(b"x")
    except (BrokenPipeError, ConnectionResetError):
        return True
    except BlockingIOError:
        return False
    return False
