"""Cuts connections whose request arrives too slowly, so that nobody holds a place for long.

The web server has a time for a request's head and none for its body, and does not say which
connection a body comes from. The kernel does: it knows of each connection when it last sent and
received. While a body is late (``Bodies``), the connections of its address are looked at. One is
cut when bytes arrived over the whole time that a piece has, too few of them, and nothing was sent
meanwhile; or when the last came longer ago than that, and no request arrived then that is still
being answered. Those that were answered since are idle, and spared unless they are the only ones
that can be meant. In doubt one is spared, and looked at again.

Only Linux tells enough. Elsewhere bodies are bounded in number alone.
"""

from __future__ import annotations

import logging
import os
import socket
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conductor_py.api.bodies import PIECE, Bodies

_log = logging.getLogger(__name__)

_LOOK_S: Final = 0.5
#: A request may have waited for a thread, and the kernel's clock is coarse.
_BEFORE_S: Final = 1.0
_AFTER_S: Final = 0.1
_ESTABLISHED: Final = 1
_CLOSE_WAIT: Final = 8
_INFO_BYTES: Final = 136
_OPEN_FILES: Final = "/proc/self/fd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What the kernel knows of one: instants in seconds of the monotonic clock, bytes in total."""

    key: int
    client: str
    received: int
    sent: int
    received_at: float
    sent_at: float
    cut: Callable[[], None]


@dataclass(slots=True)
class _Seen:
    """Since when a connection has received more, with nothing sent meanwhile."""

    sent: int
    before: int
    since: float | None = None


class SlowSenders:
    """Looks at connections again and again, and cuts those that hold places by being slow."""

    def __init__(
        self,
        bodies: Bodies,
        connections: Callable[[ExitStack], Iterable[Connection]],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look at these connections while one of these bodies is late."""
        self._bodies = bodies
        self._connections = connections
        self._monotonic = monotonic
        self._seen: dict[int, _Seen] = {}

    def look(self) -> int:
        """Look once; how many were cut."""
        if self._bodies.is_quiet:
            self._seen = {}
            return 0
        late, piece_s = self._bodies.late(), self._bodies.piece_s
        answering, since = self._bodies.answering(), self._monotonic() - piece_s
        seen, self._seen = self._seen, {}
        slow: list[Connection] = []
        still: list[Connection] = []
        with ExitStack() as opened:
            for each in self._connections(opened):
                known = self._seen[each.key] = _followed(seen.get(each.key), each)
                if each.client in late:
                    if _drips(known, each, piece_s):
                        slow.append(each)
                    elif _is_still(each, since, answering):
                        (slow if _owes(each) else still).append(each)
            # Who asks for an answer and sends half of the next request is like one who is idle.
            found = {each.client for each in slow}
            slow += [each for each in still if each.client not in found]
            for each in slow:
                each.cut()
        return len(slow)

    def run(self, stop: threading.Event) -> None:
        """Look until ``stop`` is set."""
        while not stop.wait(_LOOK_S):
            if count := self.look():
                facts = {"action": "slow_senders_cut", "connections": count}
                _log.warning(
                    "Connections are cut that sent their requests too slowly.", extra=facts
                )


def _followed(seen: _Seen | None, now: Connection) -> _Seen:
    if seen is None or seen.sent != now.sent:
        return _Seen(sent=now.sent, before=now.received)
    if seen.since is None and seen.before != now.received:
        seen.since = now.received_at
    return seen


def _drips(seen: _Seen, now: Connection, piece_s: float) -> bool:
    if seen.since is None:
        return False
    over_s = now.received_at - seen.since
    return over_s >= piece_s and now.received - seen.before < PIECE * over_s / piece_s


def _is_still(each: Connection, since: float, answering: Sequence[float]) -> bool:
    if max(each.received_at, each.sent_at) > since:
        return False
    return not any(-_AFTER_S <= at - each.received_at <= _BEFORE_S for at in answering)


def _owes(each: Connection) -> bool:
    return not each.sent or each.received_at > each.sent_at


# -- as Linux shows them ---------------------------------------------------------------------------


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
        cut=lambda: _cut(found),
    )


def _cut(found: socket.socket) -> None:
    with suppress(OSError):  # it may have ended by itself
        found.shutdown(socket.SHUT_RDWR)
