"""Clocks that move only when somebody waits on them, or when the test says so."""

from __future__ import annotations

import threading


class FakeClock:
    def __init__(self, now_ms: int = 1_000_000) -> None:
        self.now_ms = now_ms
        self.waits: list[int] = []

    def monotonic_ms(self) -> int:
        return self.now_ms

    def epoch_ms(self) -> int:
        return 1_700_000_000_000 + self.now_ms

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        self.waits.append(timeout_ms)
        self.now_ms += timeout_ms
        return event.is_set()

    def advance(self, by_ms: int) -> None:
        self.now_ms += by_ms


class StandingClock(FakeClock):
    """For threads: who waits on it sleeps, until its event comes or the test lets time pass."""

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        end_ms = self.now_ms + timeout_ms
        self.waits.append(timeout_ms)  # from now on an advance is not missed
        while self.now_ms < end_ms and not event.wait(0.01):
            continue
        return event.is_set()
