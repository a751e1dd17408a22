"""Cuts connections whose clients do not read their answers, so that nobody keeps them in memory.

An answer waits in the web server, and in a thread if it comes in pieces, until its client takes it.
A connection with something unread is cut when less than a piece of it (64 KB) has arrived in the
time that a piece has. That time is short while much is unread, or all places of large bodies
are taken, and while there is no room for more the next look ends it. Who reads faster than that
could still hold the room for minutes: while there is none, a connection is cut that has had
something unread for ten seconds, however it reads. So there is room again when that is over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from conductor_py.api.admission import Admission
from conductor_py.api.bodies import HURRIED_S, PIECE
from conductor_py.processes.connections import Connection
from conductor_py.records import dataclass

_CALM_S: Final = 5.0
"""Between two looks while no answer is known to be unread: small ones may be."""


_LONGEST_S: Final = 10.0
"""How long a connection may have something unread while there is no room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A connection with something unread: since when, in seconds and looks; and its last piece."""

    began: float
    looks: int
    sent: int
    since: float


class SlowReaders:
    """Looks at connections again and again, and cuts those that do not take what they asked for."""

    action = "slow_readers_cut"
    says = "Connections are cut whose clients do not read their answers."

    def __init__(
        self,
        admission: Admission,
        connections: Callable[[ExitStack], Iterable[Connection]],
        *,
        piece_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look at these connections; a piece has ``piece_s`` when nothing is scarce."""
        self._admission = admission
        self._connections = connections
        self._piece_s = piece_s
        self._monotonic = monotonic
        self._seen: dict[int, _Seen] = {}
        self._next = 0.0

    def look(self) -> int:
        """Look once, if it is time; how many were cut."""
        now, unread = self._monotonic(), self._admission.unread
        looks = unread.looks
        is_calm = unread.is_quiet and not self._seen and not self._admission.is_large_taken
        if is_calm and now < self._next:
            return 0
        self._next = now + _CALM_S
        longest_s = _LONGEST_S if unread.is_full else math.inf
        patience_s, seen, count = self._patience_s(), self._seen, 0
        self._seen = {}
        with ExitStack() as opened:
            for each in self._connections(opened):
                if not each.unread:
                    continue
                known = seen.get(each.key) or _Seen(
                    began=now, looks=looks, sent=each.sent, since=now
                )
                over_s = now - known.since
                is_due = over_s >= patience_s
                is_slow = is_due and (each.sent - known.sent) * patience_s < PIECE * over_s
                if is_slow or now - known.began >= longest_s:
                    each.cut()
                    count += 1
                    continue
                self._seen[each.key] = (
                    replace(known, sent=each.sent, since=now) if is_due else known
                )
        unread.seen(each.looks for each in self._seen.values())
        return count

    def _patience_s(self) -> float:
        if self._admission.unread.is_full:
            return min(self._piece_s, HURRIED_S / 4)
        if self._admission.unread.is_much or self._admission.is_large_taken:
            return min(self._piece_s, HURRIED_S)
        return self._piece_s
