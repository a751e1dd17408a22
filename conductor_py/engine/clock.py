"""The store's time, estimated between round trips, so that a start needs only one."""

from __future__ import annotations

import time
from collections.abc import Callable


class StoreClock:
    """An estimate of the store's clock: this machine's monotonic clock plus an offset that every
    reply corrects.
    """

    def __init__(
        self, read: Callable[[], int], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """``read`` asks the store (epoch ms)."""
        self._read = read
        self._monotonic = monotonic
        self._offset_ms: float | None = None

    def now_ms(self) -> int:
        """The estimate, epoch ms."""
        if self._offset_ms is None:
            self.correct(self._read())
        assert self._offset_ms is not None
        return int(self._monotonic() * 1000 + self._offset_ms)

    def elapsed_ms(self) -> int:
        """This machine's monotonic clock: to count how long something took."""
        return int(self._monotonic() * 1000)

    def correct(self, now_ms: int) -> None:
        """Take the time out of a reply."""
        self._offset_ms = now_ms - self._monotonic() * 1000
