"""Connections as the kernel knows them, and the watch over those that hold places by being slow.

The web server does not say which connection a request comes from, nor whether its answer was read.
The kernel does: it knows of each connection when it last sent and received, and what of ours has
not arrived. Only Linux tells enough. Elsewhere bodies are bounded in number alone.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import stat
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, Protocol

from conductor_py.records import dataclass

_log = logging.getLogger(__name__)

_LOOK_S: Final = 0.5
_ESTABLISHED: Final = 1
_CLOSE_WAIT: Final = 8
_INFO_BYTES: Final = 136
_OPEN_FILES: Final = "/proc/self/fd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What the kernel knows of one: instants in seconds of the monotonic clock, bytes in total.

    ``unread`` are those of ours that have not arrived at its other end.
    """

    key: int
    client: str
    received: int
    sent: int
    received_at: float
    sent_at: float
    cut: Callable[[], None]
    unread: int = 0


class Rule(Protocol):
    """Cuts some of the connections; ``action`` names that in the log, ``says`` why."""

    action: str
    says: str

    def look(self) -> int:
        """Look once; how many were cut."""
        ...


def watch(rules: Sequence[Rule], stop: threading.Event) -> None:
    """Have each rule look again and again, until ``stop`` is set."""
    while not stop.wait(_LOOK_S):
        for rule in rules:
            if count := rule.look():
                _log.warning(rule.says, extra={"action": rule.action, "connections": count})


def is_known() -> bool:
    """Whether this machine tells about its connections."""
    return sys.platform == "linux" and Path(_OPEN_FILES).is_dir()


def own_connections(port: int, opened: ExitStack) -> Iterator[Connection]:
    """The connections that this process accepted at a port, to be cut until ``opened`` is closed.

    Those that it opened itself, to Redis for example, have other ports. No copy of a file is ever
    closed: that drops all locks of this process on the file, and the search file lives by them.
    """
    known: set[int] = set()  # a number may have come to mean another copy of the same
    for number in [int(entry.name) for entry in Path(_OPEN_FILES).iterdir()]:
        with suppress(OSError):
            if not _is_socket(number):
                continue
            # A copy stays what it is, also when the web server closes its own meanwhile.
            copy = os.dup(number)
            if not _is_socket(copy):  # the number came to mean a file just now: left open
                continue
            found = opened.enter_context(socket.socket(fileno=copy))
            shown = _shown(found, port)
            if shown is not None and shown.key not in known:
                known.add(shown.key)
                yield shown


def _is_socket(number: int) -> bool:
    return stat.S_ISSOCK(os.fstat(number).st_mode)


def _shown(found: socket.socket, port: int) -> Connection | None:
    if found.family not in {socket.AF_INET, socket.AF_INET6} or found.type != socket.SOCK_STREAM:
        return None
    if found.getsockname()[1] != port:
        return None
    info = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    if len(info) < _INFO_BYTES or info[0] not in {_ESTABLISHED, _CLOSE_WAIT}:
        return None
    sent_ms, _, received_ms = struct.unpack_from("3I", info, 44)
    acknowledged, received = struct.unpack_from("2Q", info, 120)
    now = time.monotonic()
    return Connection(
        key=os.fstat(found.fileno()).st_ino,
        client=found.getpeername()[0],
        received=received,
        sent=acknowledged,
        received_at=now - received_ms / 1000,
        sent_at=now - sent_ms / 1000,
        unread=_unread(found),
        cut=lambda: _cut(found),
    )


def _cut(found: socket.socket) -> None:
    with suppress(OSError):  # it may have ended by itself
        # When the web server closes it the kernel is to forget what it still has to send.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        found.shutdown(socket.SHUT_RDWR)


def _unread(found: socket.socket) -> int:
    count = fcntl.ioctl(found.fileno(), termios.TIOCOUTQ, b"\0" * 4)
    return int.from_bytes(count, sys.byteorder)
