"""Cuts connections whose request arrives too slowly, so that nobody holds a place for long.

The web server has a time for a request's head and none for its body, and does not say which
connection a body comes from. The kernel does: it knows of each connection when it last sent and
received. While a body is late (``Bodies``), the connections of its address are looked at. One is
cut when bytes arrived over the whole time that a piece has, too few of them, and nothing was sent
meanwhile; or when the last came longer ago than that, and no request arrived then that is still
being answered. Those that were answered since are idle, and spared unless they are the only ones
that can be meant. In doubt one is spared, and looked at again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Final

from conductor_py.api.bodies import PIECE, Bodies
from conductor_py.processes.connections import Connection
from conductor_py.records import dataclass

#: A request may have waited for a thread, and the kernel's clock is coarse.
_BEFORE_S: Final = 1.0
_AFTER_S: Final = 0.1


@dataclass(slots=True)
class _Seen:
    """Since when a connection has received more, with nothing sent meanwhile."""

    sent: int
    before: int
    since: float | None = None


class SlowSenders:
    """Looks at connections again and again, and cuts those that hold places by being slow."""

    action = "slow_senders_cut"
    says = "Connections are cut that sent their requests too slowly."

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
