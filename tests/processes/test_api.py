"""An API node goes on when its HTTP server gives up, and ends when it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

import pytest

from conductor_py.processes.http_server import Wakes, serve_until_stopped
from tests.services.ports import free_port
from tests.waiting import PATIENCE_S, until

#: A node over the real HTTP server, whose workers answer with their process id. When told, it
#: sends itself a stop signal in the middle of a wait or a clear of its main loop's event.
_NODE = """
import os, signal, sys, threading
from functools import partial
from granian.constants import Interfaces
from granian.server import Server
from conductor_py.processes import http_server
def answer(environ, start_response):
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]
class Stopped(http_server.Wakes):
    moment, node = sys.argv[2], os.getpid()
    def wait(self, timeout=None):
        self.struck("wait")
        return super().wait(timeout)
    def clear(self):
        self.struck("clear")
        super().clear()
    def struck(self, moment):
        if moment == self.moment and os.getpid() == self.node:
            with self._cond:  # as while anybody enters wait
                os.kill(self.node, signal.SIGTERM)
                for _ in range(1_000):  # the handler runs here
                    pass
http_server.Wakes = Stopped
make = partial(
    Server, "none", port=int(sys.argv[1]), interface=Interfaces.WSGI, blocking_threads=1,
    respawn_failed_workers=True, workers_kill_timeout=5,
)
http_server.serve_until_stopped(make, lambda: answer, has_served=lambda: True)
"""


@dataclass
class Machine:
    """Servers that end as told, one after the other, on a clock that only their lives move."""

    ends: Iterator[Callable[[Server], None]]
    life_s: float = 1.0
    now_s: float = 0.0
    pauses: list[float] = field(default_factory=list)
    made: list[Server] = field(default_factory=list)
    asked_in_pause: int = 0
    asked_between: bool = False

    def make(self) -> Any:
        if self.asked_between and self.made:
            self.made[-1].signal_handler_interrupt()
        self.made.append(Server(self))
        return self.made[-1]

    def serve(self, *, has_served: bool = True) -> None:
        serve_until_stopped(
            self.make, lambda: print, has_served=lambda: has_served, monotonic=lambda: self.now_s
        )


@dataclass
class Server:
    """The part of the HTTP server that is used."""

    machine: Machine
    interrupt_signal: bool = False
    reload_signal: bool = False
    wrks: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)

    @property
    def main_loop_interrupt(self) -> Server:
        return self

    @main_loop_interrupt.setter
    def main_loop_interrupt(self, _: object) -> None:
        """It is its own."""

    def clear(self) -> None:
        """Nothing is set."""

    def set(self) -> None:
        """Nobody waits."""

    def wait(self, timeout_s: float) -> None:
        self.machine.pauses.append(timeout_s)
        if len(self.machine.pauses) == self.machine.asked_in_pause:
            is_stopped(self)

    def signal_handler_interrupt(self) -> None:
        raise AssertionError("it sets an event, which a handler may not")

    def shutdown(self) -> None:
        self.stopped, self.wrks = self.wrks, []
        raise SystemExit(1)

    def serve(self, *, target_loader: object, wrap_loader: bool) -> None:
        self.machine.now_s += self.machine.life_s
        next(self.machine.ends)(self)


def gives_up(_: Server) -> None:
    raise SystemExit(1)


def is_stopped(server: Server) -> None:
    server.signal_handler_interrupt()
    hears(server)


def hears(server: Server) -> None:
    until(lambda: server.interrupt_signal)


def cannot_fork(server: Server) -> None:
    server.wrks.append("the other worker")
    raise BlockingIOError(11, "Resource temporarily unavailable")


def test_a_server_that_gave_up_serves_again_after_a_pause_that_grows() -> None:
    machine = Machine(iter([*[gives_up] * 7, is_stopped]))
    machine.serve()
    assert len(machine.made) == 8
    assert machine.pauses == [0.5, 1, 2, 4, 8, 10, 10]


def test_the_pause_is_short_again_after_a_while_without_an_end() -> None:
    machine = Machine(iter([gives_up, gives_up, is_stopped]), life_s=120)
    machine.serve()
    assert machine.pauses == [0.5, 0.5]


def test_a_stop_that_found_dead_workers_ends_with_the_code_of_the_server() -> None:
    def stopped_with_an_error(server: Server) -> None:
        is_stopped(server)
        raise SystemExit(1)

    machine = Machine(iter([stopped_with_an_error]))
    with pytest.raises(SystemExit):
        machine.serve()
    assert machine.pauses == []


def test_a_stop_during_the_pause_ends_it() -> None:
    machine = Machine(iter([gives_up, gives_up]), asked_in_pause=2)
    machine.serve()
    assert len(machine.made) == 2


def test_a_stop_between_two_servers_is_heard_by_the_second() -> None:
    machine = Machine(iter([gives_up, hears]), asked_between=True)
    machine.serve()
    assert len(machine.made) == 2


def test_a_server_whose_workers_never_served_ends_the_node() -> None:
    machine = Machine(iter([gives_up]))
    with pytest.raises(SystemExit):
        machine.serve(has_served=False)
    assert machine.pauses == []


def test_a_worker_that_could_not_be_forked_ends_the_others_and_all_begin_again() -> None:
    machine = Machine(iter([cannot_fork, is_stopped]))
    machine.serve()
    assert machine.made[0].stopped == ["the other worker"]
    assert machine.pauses == [0.5]


def test_who_is_woken_waits_again_until_there_is_something_else() -> None:
    """Else a loop would turn without end when its flag is down and its event is set."""
    wakes = Wakes()
    wakes.set()
    assert wakes.wait()
    assert not wakes.wait(0)


def test_a_node_whose_worker_is_killed_again_and_again_goes_on_and_stops_when_told() -> None:
    port = free_port()
    node = subprocess.Popen([sys.executable, "-c", _NODE, str(port), "none"])
    try:
        worker = until(lambda: _worker(port))
        for _ in range(3):
            worker = _successor(worker, port)
        node.terminate()
        assert node.wait(PATIENCE_S) == 0
    finally:
        node.kill()
        node.wait()


@pytest.mark.thorough(target="stories")
def test_a_stop_that_comes_as_the_main_loop_begins_to_wait_is_heard() -> None:
    node = subprocess.Popen([sys.executable, "-c", _NODE, str(free_port()), "wait"])
    try:
        assert node.wait(PATIENCE_S) == 0
    finally:
        node.kill()
        node.wait()


@pytest.mark.thorough(target="stories")
def test_a_stop_that_comes_as_a_dead_worker_is_replaced_is_heard() -> None:
    port = free_port()
    node = subprocess.Popen([sys.executable, "-c", _NODE, str(port), "clear"])
    try:
        os.kill(until(lambda: _worker(port)), signal.SIGKILL)
        assert node.wait(PATIENCE_S) == 0
    finally:
        node.kill()
        node.wait()


def _successor(worker: int, port: int) -> int:
    """Kill the worker; the one that answers then."""
    os.kill(worker, signal.SIGKILL)
    return until(lambda: _worker(port, other_than=worker))


def _worker(port: int, other_than: int = 0) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            worker = int(answer.read())
    except (OSError, ValueError, HTTPException):
        return 0
    return 0 if worker == other_than else worker
