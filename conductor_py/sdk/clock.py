"""Time as the SDK sees it: one small interface, so that tests own the clock.

Leases are measured on the monotonic clock; only log lines carry wall-clock time.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from and how to let it pass."""

    def monotonic_ms(self) -> int:
        """Milliseconds that only grow; their zero means nothing."""
        ...

    def epoch_ms(self) -> int:
        """Milliseconds since 1970, UTC."""
        ...

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        """Wait until ``event`` is set or the time is over; tell whether it is set."""
        ...


class SystemClock:
    """The machine's clock."""

    def monotonic_ms(self) -> int:
        """Milliseconds of the machine's monotonic clock."""
        return time.monotonic_ns() // 1_000_000

    def epoch_ms(self) -> int:
        """Milliseconds since 1970 by the machine's wall clock."""
        return time.time_ns() // 1_000_000

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        """Block on the event for at most ``timeout_ms``."""
        return event.wait(max(0, timeout_ms) / 1000)
