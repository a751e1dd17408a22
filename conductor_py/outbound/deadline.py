"""One deadline for a whole call: name, connection, TLS, writing, head, body and redirects.

Sockets have a patience for each read, which a peer that drips never exhausts. So a timer breaks the
connection off from beside, in whatever state it is; whoever waits for it goes on at once.
"""

from __future__ import annotations

import contextlib
import math
import socket
import threading
import time
from collections.abc import Callable
from typing import Self


class Late(Exception):
    """The whole call takes longer than allowed, or does not count any more."""


class Deadline:
    """The end of one call; used with ``with``, which ends the watch and lets the socket go."""

    def __init__(
        self,
        total_ms: int,
        cancelled: threading.Event | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to count; ``cancelled`` is set when the call does not count any more."""
        self._monotonic = monotonic
        self._end_at = monotonic() + total_ms / 1000
        self._cancelled = cancelled or threading.Event()
        self._late = threading.Event()
        self._lock = threading.Lock()
        self._held: socket.socket | None = None
        self._timer = threading.Timer(total_ms / 1000, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self.hold(None)

    def check(self) -> None:
        """Raise Late when the time is over or the call does not count any more."""
        if self._late.is_set() or self._cancelled.is_set() or self._monotonic() >= self._end_at:
            raise Late

    def within(self, patience_s: float) -> float:
        """The shorter of a patience and what is left, in seconds and never 0; raises Late."""
        self.check()
        return max(min(patience_s, self._end_at - self._monotonic()), 0.001)

    def left(self) -> float:
        """What is left, in seconds and never 0; raises Late."""
        return self.within(math.inf)

    def part(self, most_ms: int) -> Deadline:
        """A deadline for a part of the call, of ``most_ms`` or what is left; raises Late."""
        part_ms = max(math.floor(self.within(most_ms / 1000) * 1000), 1)
        return Deadline(part_ms, self._cancelled, self._monotonic)

    def hold(self, wire: socket.socket | None) -> None:
        """Break this connection off at the end, TLS handshake or not; it replaces the last one."""
        # A second handle: TLS takes the first one's away while it shakes hands.
        again = wire.dup() if wire is not None else None
        with self._lock:
            before, self._held = self._held, again
        if before is not None:
            before.close()
        if again is not None and self._late.is_set():
            self._end()

    def _end(self) -> None:
        self._late.set()
        with self._lock:
            if self._held is not None:
                with contextlib.suppress(OSError):
                    self._held.shutdown(socket.SHUT_RDWR)
