"""Admission: what a process takes in at once, and the 503 for what it does not.

A request *works* when it may use the processor, and *rests* while it waits for something to happen
(a long poll, a call that waits for an execution): so many may work at once, the others wait their
turn, and a rest gives the turn back. What cannot get one in time is refused with Retry-After, and
nothing of it has happened. So the answers of what is accepted stay quick however much is asked, no
client holds a turn by sending slowly (bodies are read before, in places of their own), and a Redis
that hangs holds a few threads, not all.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from conductor_py.api.bodies import Bodies
from conductor_py.api.unread import Unread
from conductor_py.errors import Overloaded, StoreUnavailable
from conductor_py.wire.outside import HeavyPlace

if TYPE_CHECKING:
    from conductor_py.ports.wakeups import Wakeups

_MOST_LARGE: Final = 8
_MOST_BYTES: Final = 64 << 20
_PIECE_S: Final = 30.0
_HEAVY_S: Final = 15.0
_POLL_TURN: Final = 4
_PROBES: Final = 2
_FAILURES: Final = 3


class Admission:
    """The turns of one process. Safe for threads."""

    def __init__(
        self,
        *,
        threads: int,
        working: int,
        resting: int,
        wait_s: float,
        reading: int | None = None,
        piece_s: float = _PIECE_S,
        heavy_s: float = _HEAVY_S,
        heavy: HeavyPlace | None = None,
    ) -> None:
        """``threads`` requests may be in at once, ``working`` of them work, ``resting`` are asked
        to rest; one waits at most ``wait_s`` for its turn, one with a heavy body ``heavy_s`` for
        the one before; its place is ``heavy``, that of the process. Beside them ``reading`` bodies
        may be on their way in, of each piece (64 KB) for ``piece_s``.
        """
        self._threads = threads
        self._most_working = working
        self._most_resting = resting
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._own = threading.local()
        self._in = self._working = self._resting = self._turns = self._failures = 0
        self._refused = 0
        self._back: deque[threading.Lock] = deque()
        self._first: deque[threading.Lock] = deque()
        self._polls: deque[threading.Lock] = deque()
        places = max(1, threads // 2) if reading is None else reading
        self.bodies = Bodies(places=places, most_bytes=_MOST_BYTES, piece_s=piece_s)
        self._heavy = HeavyPlace() if heavy is None else heavy
        self._heavy_s = heavy_s
        self.unread = Unread()
        self._large = max(1, min(_MOST_LARGE, threads // 2))

    def come_in(self, *, poll: bool) -> bool:
        """Have a thread; polls leave a fourth of them to the others."""
        with self._lock:
            most = self._threads - self._threads // 4 if poll else self._threads
            if self._in >= most:
                self._refused += 1
                return False
            self._in += 1
            return True

    def go(self) -> None:
        """Give the thread back."""
        with self._lock:
            self._in -= 1

    def begin(self, *, poll: bool) -> bool:
        """Wait for a turn to work; whether it came in time."""
        turn: threading.Lock | None = None
        with self._lock:
            if self._is_away and self._working >= _PROBES:
                self._refused += 1
                return False
            if self._working < self._most_working:
                self._working += 1
            else:
                turn = self._join(self._polls if poll else self._first)
        if turn is not None and not self._awaited(turn):
            return False
        self._own.works = True
        return True

    def end(self, *, failed: bool = False) -> None:
        """Give the turn back; ``failed``: the store did not answer."""
        self._failures = self._failures + 1 if failed else 0
        if getattr(self._own, "works", False):
            self._own.works = False
            self._pass_on()

    def be_heavy(self) -> None:
        """Have the one place of heavy bodies until this request ends or rests; who waits for it
        has no turn. ``Overloaded``: it did not come free in time.
        """
        if self._heavy.is_own or self._heavy.take(0):
            return
        if not self.rest(lambda: self._heavy.take(self._heavy_s)):
            self.refuse()
            raise Overloaded

    def be_light(self) -> None:
        """Leave the place of heavy bodies, if this request has it."""
        self._heavy.leave()

    def be_large(self) -> bool:
        """Have one of the few places of what takes as long as its client does; whether one was
        free.
        """
        with self._lock:
            self._large -= (is_free := self._large > 0)
            return is_free

    def be_small(self) -> None:
        """Leave that place."""
        with self._lock:
            self._large += 1

    @property
    def is_large_taken(self) -> bool:
        """Whether all of those places are taken."""
        return self._large <= 0

    def refuse(self) -> None:
        """Count a request that was not taken."""
        with self._lock:
            self._refused += 1

    def rest(self, wait: Callable[[], Any]) -> Any:  # noqa: ANN401 - what ``wait`` returns
        """Wait for something without a turn, and have it back before going on.

        Raises ``StoreUnavailable`` when the store went away meanwhile.
        """
        self._heavy.leave()
        if not getattr(self._own, "works", False):
            return wait()
        self._own.works = False
        with self._lock:
            self._resting += 1
        self._pass_on()
        try:
            found = wait()
        finally:
            with self._lock:
                self._resting -= 1
        self._resume()
        return found

    @property
    def is_crowded(self) -> bool:
        """Whether so many rest that nobody else should."""
        return self._resting >= self._most_resting

    @property
    def is_away(self) -> bool:
        """Whether the store has not answered for a while."""
        return self._is_away

    def counts(self) -> Mapping[str, int]:
        """How many are in, work, rest, wait for a turn, and were refused so far."""
        with self._lock:
            waiting = len(self._back) + len(self._first) + len(self._polls)
            return {
                "in": self._in,
                "working": self._working,
                "resting": self._resting,
                "waiting": waiting,
                "reading": self.bodies.counts()["reading"],
                "refused": self._refused,
            }

    @property
    def _is_away(self) -> bool:
        return self._failures >= _FAILURES

    @staticmethod
    def _join(queue: deque[threading.Lock]) -> threading.Lock:
        turn = threading.Lock()
        turn.acquire()
        queue.append(turn)
        return turn

    def _awaited(self, turn: threading.Lock) -> bool:
        if turn.acquire(timeout=self._wait_s):
            return True
        with self._lock:
            for queue in (self._first, self._polls):
                if turn in queue:
                    queue.remove(turn)
                    self._refused += 1
                    return False
        return True  # it was passed on in this very moment

    def _resume(self) -> None:
        if self._is_away:
            raise StoreUnavailable("Redis does not answer.")
        turn: threading.Lock | None = None
        with self._lock:
            if self._working < self._most_working:
                self._working += 1
            else:
                turn = self._join(self._back)
        if turn is not None:
            turn.acquire()
        self._own.works = True

    def _pass_on(self) -> None:
        """Who rested goes first, then what is no poll; every fourth turn is a poll's."""
        with self._lock:
            self._turns += 1
            order = (self._back, self._first, self._polls)
            if self._turns % _POLL_TURN == 0:
                order = (self._back, self._polls, self._first)
            for queue in order:
                if queue:
                    queue.popleft().release()
                    return
            self._working -= 1


class RestingWakeups:
    """``Wakeups`` whose waits are rests."""

    def __init__(self, wakeups: Wakeups, admission: Admission) -> None:
        """Wait on these, without a turn."""
        self._wakeups = wakeups
        self._admission = admission

    def wait(self, topic: str, timeout_s: float, seen: int) -> int:
        found: int = self._admission.rest(lambda: self._wakeups.wait(topic, timeout_s, seen))
        return found

    def wait_any(self, seen: Mapping[str, int], timeout_s: float) -> None:
        self._admission.rest(lambda: self._wakeups.wait_any(seen, timeout_s))

    def ticket(self, topic: str) -> int:
        return self._wakeups.ticket(topic)

    def tickets(self, topic: str) -> tuple[int, ...]:
        return self._wakeups.tickets(topic)

    def wait_turn(self, topic: str, timeout_s: float, seen: int) -> bool:
        wait = self._wakeups.wait_turn
        is_turn: bool = self._admission.rest(lambda: wait(topic, timeout_s, seen))
        return is_turn

    def wake_one(self, topic: str) -> None:
        self._wakeups.wake_one(topic)

    def wake(self, topic: str) -> None:
        self._wakeups.wake(topic)

    def close(self) -> None:
        self._wakeups.close()
