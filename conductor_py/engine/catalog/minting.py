"""Minting of codes: what no two processes of a namespace make twice.

A process mints under a worker number that it leases with a range of times
(``ports.worker_numbers``), and only codes of times in that range. No clock has to be right for
that: one that is wrong makes a code tell a wrong time, and no second one. Within a process each
code is larger than all before, whatever the clock does and however often the number changes.

What this cannot see is a Redis that has lost its last moment, a failover as a rule: the end of a
range may be lost with it, and two processes believe in one number until one of them asks for more
times and is told. So whoever stores something new under a code stores it only if nothing stands
there, and mints again if something does.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from typing import Final

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.errors import (
    ClockSetBack,
    ConfigurationError,
    InvalidInput,
    LimitExceeded,
    StoreUnavailable,
)
from conductor_py.model.codes import DEFAULT_LAYOUT, MOST_CODES, CodeLayout
from conductor_py.ports.worker_numbers import Lease, WorkerNumbers

LEASE_MS: Final = 10_000
"""How long a number is leased. Nothing renews it before it is needed again."""
AHEAD_MS: Final = 100
"""How far codes may be ahead of the store's clock: after many at once, or when it is corrected."""
PATIENCE_MS: Final = 5_000
"""How long a call waits for the clock to come near the next code."""

_TRIES: Final = 4
_LOG: Final = logging.getLogger(__name__)


class Minter:
    """Mints codes, for all threads of a process."""

    def __init__(
        self,
        numbers: WorkerNumbers,
        clock: StoreClock,
        *,
        layout: CodeLayout = DEFAULT_LAYOUT,
        lease_ms: int = LEASE_MS,
        machine: Machine = REAL_MACHINE,
    ) -> None:
        """Lease nothing before the first code is wanted. ``lease_ms`` must be a second at least."""
        self.layout = layout
        self._numbers = numbers
        self._clock = clock
        self._lease_ms = lease_ms
        self._machine = machine
        self._lock = threading.Lock()
        self._process = 0
        self._owner = ""
        self._held: Lease | None = None
        # The next code: its time, and how many of that time have been minted.
        self._at_ms = 0
        self._used = 0

    def codes(self, count: int = 1) -> tuple[int, ...]:
        """Mint so many codes, 1 to 1,000, each larger than all that this process has minted.

        ``InvalidInput`` for another count, ``LimitExceeded`` while all worker numbers are taken,
        ``ClockSetBack`` while the store's clock is too far behind, ``StoreUnavailable`` when no
        times are left and the store is away, ``ConfigurationError`` when the layout has no codes
        for this time or is not that of the namespace.
        """
        if not 1 <= count <= MOST_CODES:
            raise InvalidInput(f"1 to {MOST_CODES} codes are minted at a time, not {count}")
        with self._lock:
            number = self._number_for(count)
            return tuple(self._next(number) for _ in range(count))

    def _next(self, number: int) -> int:
        code = self.layout.code(self._at_ms, number, self._used)
        self._used += 1
        if self._used == self.layout.per_ms:
            self._go_to(self._at_ms + 1)
        return code

    def _number_for(self, count: int) -> int:
        """Find a number whose times reach for so many codes, from the next one on."""
        self._forget_what_is_inherited()
        for _ in range(_TRIES):
            self._come_near()
            last_ms = self._at_ms + (self._used + count - 1) // self.layout.per_ms
            if not self.layout.epoch_ms <= self._at_ms <= last_ms <= self.layout.last_ms:
                raise ConfigurationError(
                    f"there are no codes of {last_ms} (epoch ms) in the layout {self.layout}, "
                    f"which ends at {self.layout.last_ms}: set the clock, or "
                    "conductor.app.codeLayout in a new namespace"
                )
            if self._held is not None and last_ms < self._held.until_ms:
                return self._held.number
            self._held = self._leased()
        raise StoreUnavailable("The store's clock moves so fast that no worker number is held.")

    def _come_near(self) -> None:
        """Take up the store's time, or wait for it where the next code is ahead of it."""
        waited_ms = 0
        while True:
            now_ms = self._clock.now_ms()
            if now_ms > self._at_ms:
                self._go_to(now_ms)
            ahead_ms = self._at_ms - now_ms
            if ahead_ms <= AHEAD_MS:
                return
            if waited_ms + ahead_ms > PATIENCE_MS:
                raise _set_back(ahead_ms)
            self._machine.pause((ahead_ms - AHEAD_MS) / 1000)
            waited_ms += ahead_ms - AHEAD_MS

    def _leased(self) -> Lease:
        """Add times to the number that is held, or lease another."""
        held = self._held
        lease = self._numbers.lease(self._owner, self.layout, self._lease_ms, held)
        if lease is None:
            self._held = None
            raise LimitExceeded(
                f"All {self.layout.workers} worker numbers for codes are taken. One is free within "
                f"{math.ceil(self._lease_ms / 1000)} s after a process has stopped minting."
            )
        self._clock.correct(lease.now_ms)
        if held is not None and lease.number != held.number:
            _LOG.info(
                "Codes are minted under another worker number",
                extra={"action": "worker_number_lost", "had": held.number, "has": lease.number},
            )
            # A smaller number makes smaller codes of the same time.
            self._go_to(self._at_ms + 1)
        if lease.from_ms > self._at_ms:
            self._go_to(lease.from_ms)
        return lease

    def _forget_what_is_inherited(self) -> None:
        """Hold nothing that a process holds as well of which this one is a fork."""
        process = os.getpid()
        if process != self._process:
            self._process, self._held = process, None
            self._owner = self._machine.token(12)

    def _go_to(self, at_ms: int) -> None:
        self._at_ms, self._used = at_ms, 0


def _set_back(ahead_ms: int) -> ClockSetBack:
    seconds = math.ceil(ahead_ms / 1000)
    return ClockSetBack(
        f"The store's clock was set back: it is {seconds} s behind the newest codes. Try again in "
        f"{seconds} s. If that is too long, set the clock right, or restart this process: it then "
        "takes a worker number whose codes are less far ahead, if there is one.",
        retry_after_s=seconds,
    )
