"""What goes wrong, as data: each fault can be taken out, and the rest happens again.

A fault at a *call* names a process, a call and the how-manieth of them: the third commit of api-1.
A fault in *time* names an instant. Neither says what it leads to.
"""

from __future__ import annotations

import random
from enum import Enum
from typing import Final

from conductor_py.records import dataclass


class Kind(Enum):
    """Kinds of faults; the value is how a summary calls them."""

    CRASH_BEFORE = "crash before a call"
    CRASH_AFTER = "crash after a call"
    REQUEST_LOST = "request lost"
    REPLY_LOST = "reply lost"
    REPEATED = "request sent again"
    SLOW = "slow call"
    STOPPED = "process stopped in a call"
    TWICE = "client message doubled"
    LATE = "client message late"
    KILL = "kill -9"
    FREEZE = "process stopped"
    CUT_OFF = "cut off from the store"
    DEAF = "wake-ups lost"
    CLOCK = "store's clock steps"
    LOST_TAIL = "tail of the store lost"
    STORE_AWAY = "store away"
    INDEX_AWAY = "index away"


AT_CALLS: Final = frozenset(
    {
        Kind.CRASH_BEFORE,
        Kind.CRASH_AFTER,
        Kind.REQUEST_LOST,
        Kind.REPLY_LOST,
        Kind.REPEATED,
        Kind.SLOW,
        Kind.STOPPED,
        Kind.TWICE,
        Kind.LATE,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong. ``call`` and ``number`` say where, or ``at_ms`` says when.

    ``ms`` is how long it lasts, or by how much the clock steps; ``process`` is empty for what
    befalls the store.
    """

    kind: Kind
    process: str = ""
    call: str = ""
    number: int = 0
    at_ms: int = 0
    ms: int = 0

    def words(self) -> str:
        """Say it in words."""
        if self.kind in AT_CALLS:
            lasting = f", {self.ms} ms" if self.ms else ""
            return f"{self.kind.value}: {self.process}, {self.call} number {self.number}{lasting}"
        whom = f" {self.process}" if self.process else ""
        lasting = f", {self.ms:+d} ms" if self.kind is Kind.CLOCK else f", {self.ms} ms"
        return f"{self.kind.value}:{whom} at {self.at_ms / 1000:.3f} s{lasting if self.ms else ''}"


@dataclass(frozen=True, slots=True)
class Weather:
    """How rough it is: the mean number of faults at calls and in time, and of which kinds."""

    name: str
    at_calls: float
    in_time: float
    kinds: tuple[Kind, ...]


_CRASHES = (Kind.CRASH_BEFORE, Kind.CRASH_AFTER)
_LOSSES = (Kind.REQUEST_LOST, Kind.REPLY_LOST, Kind.REPEATED)
_PAUSES = (Kind.SLOW, Kind.STOPPED)
_CLIENTS = (Kind.TWICE, Kind.LATE)
_TIMES = (Kind.KILL, Kind.FREEZE, Kind.CUT_OFF, Kind.DEAF)
_STORE = (Kind.STORE_AWAY, Kind.INDEX_AWAY, Kind.CLOCK)
_ALL = (*_CRASHES, *_LOSSES, *_PAUSES, *_CLIENTS, *_TIMES, *_STORE)

FAIR: Final = Weather("fair", 0, 0, ())
WEATHERS: Final = (
    FAIR,
    Weather("crashes", 6, 3, (*_CRASHES, Kind.KILL)),
    Weather("losses", 8, 1, (*_LOSSES, *_CLIENTS, Kind.CUT_OFF, Kind.DEAF)),
    Weather("pauses", 8, 2, (*_PAUSES, Kind.FREEZE)),
    Weather("everything", 10, 4, _ALL),
    Weather("everything", 20, 8, _ALL),
    Weather("clocks", 4, 4, (*_CRASHES, *_PAUSES, Kind.CLOCK, Kind.FREEZE)),
    Weather("lost tails", 6, 2, (*_CRASHES, *_LOSSES, Kind.KILL, Kind.LOST_TAIL)),
    Weather("tails and clocks", 6, 4, (*_CRASHES, *_PAUSES, Kind.LOST_TAIL, Kind.CLOCK)),
)

_SERVER_CALLS: Final = (
    ("store.commit", 10, 8),
    ("store.report", 5, 5),
    ("store.start", 5, 3),
    ("store.send", 5, 3),
    ("store.acquire", 4, 4),
    ("store.load", 2, 6),
    ("store.renew", 1, 2),
    ("queues.poll", 4, 6),
    ("queues.extend", 3, 4),
    ("plans.put", 1, 2),
    ("plans.get", 1, 2),
    ("timers.claim_due", 5, 8),
    ("outbox.take", 4, 5),
    ("outbox.read", 2, 4),
    ("outbox.confirm", 4, 4),
    ("outbox.postpone", 1, 2),
    ("reader.snapshot", 2, 4),
    ("reader.remove", 3, 2),
    ("reader.begin_restore", 1, 1),
    ("reader.cancel_restore", 1, 1),
    ("reader.release_key", 1, 1),
    ("reader.restore", 1, 1),
    ("reader.answer", 1, 2),
    ("search.put", 4, 4),
    ("search.archived", 1, 2),
    ("schedules.claim_due", 1, 2),
    ("schedules.settle", 1, 2),
    ("events.settle", 1, 1),
    ("webhook.post", 2, 2),
    ("shards.lease", 1, 2),
)
_CLIENT_CALLS: Final = (
    ("ask.poll", 2, 6),
    ("ask.report", 8, 6),
    ("ask.extend", 5, 5),
)


_STEPS_MS: Final = (-30_000, -8_000, -2_000, -300, 300, 1_500, 5_000, 30_000)


def _long(chance: random.Random) -> int:
    """A pause in ms: mostly past the shorter leases, sometimes past all of them."""
    return chance.choice((50, 500, 3_500, 5_000, 9_000, 20_000, 45_000))


def draw_faults(
    chance: random.Random,
    weather: Weather,
    *,
    servers: tuple[str, ...],
    clients: tuple[str, ...],
    span_ms: int,
    often: bool = False,
) -> tuple[Fault, ...]:
    """Draw what goes wrong within ``span_ms``. ``often``: calls are made so often that the faults
    at calls come all along.
    """
    found: list[Fault] = []
    for _ in range(_count(chance, weather.at_calls, often=often)):
        kinds = [kind for kind in weather.kinds if kind in AT_CALLS]
        if kinds:
            found.append(
                _at_call(chance, chance.choice(kinds), servers, clients, 50 if often else 1)
            )
    for _ in range(_count(chance, weather.in_time, often=often)):
        kinds = [kind for kind in weather.kinds if kind not in AT_CALLS]
        if kinds:
            kind = chance.choice(kinds)
            found.append(_in_time(chance, kind, (*servers, *clients), span_ms))
    return tuple(found)


def _count(chance: random.Random, mean: float, *, often: bool) -> int:
    if often:
        return int(mean)
    return min(int(chance.expovariate(1 / mean)), int(mean * 3)) if mean else 0


def _at_call(
    chance: random.Random,
    kind: Kind,
    servers: tuple[str, ...],
    clients: tuple[str, ...],
    times: int,
) -> Fault:
    to_server = kind not in {Kind.TWICE, Kind.LATE} and chance.random() < 0.8
    calls = _SERVER_CALLS if to_server else _CLIENT_CALLS
    call, _, most = chance.choices(calls, weights=[weight for _, weight, _ in calls])[0]
    process = chance.choice(servers if to_server else clients)
    ms = 0
    if kind in {Kind.STOPPED, Kind.LATE}:
        ms = _long(chance)
    elif kind is Kind.SLOW:
        ms = chance.choice((20, 100, 400, 1_500))
    return Fault(
        kind=kind, process=process, call=call, number=chance.randint(1, most * times), ms=ms
    )


def _in_time(chance: random.Random, kind: Kind, processes: tuple[str, ...], span_ms: int) -> Fault:
    at_ms, process, ms = chance.randrange(span_ms), chance.choice(processes), 0
    if kind in {Kind.FREEZE, Kind.CUT_OFF, Kind.DEAF}:
        ms = _long(chance)
    elif kind in {Kind.STORE_AWAY, Kind.INDEX_AWAY}:
        process, ms = "", chance.choice((200, 1_000, 4_000, 12_000))
    elif kind is Kind.CLOCK:
        process, ms = "", chance.choice(_STEPS_MS)
    elif kind is Kind.LOST_TAIL:
        process, ms = "", chance.choice((20, 100, 400, 1_000, 2_000))
    return Fault(kind=kind, process=process, at_ms=at_ms, ms=ms)


__all__ = ["AT_CALLS", "FAIR", "WEATHERS", "Fault", "Kind", "Weather", "draw_faults"]
