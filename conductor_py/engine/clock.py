"""The store's time, estimated between round trips, so that a start needs only one."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from conductor_py.errors import StoreUnavailable
from conductor_py.records import dataclass

_FRESH_S: Final = 10.0
"""How long an estimate is gone by: a clock that is set, or that of another server after a failover,
is another one.
"""


@dataclass(frozen=True, slots=True)
class _Estimate:
    offset_ms: float
    made_s: float

    def is_fresh(self, now_s: float) -> bool:
        return now_s - self.made_s < _FRESH_S


class StoreClock:
    """An estimate of the store's clock, which is that of partition 0: this machine's monotonic
    clock plus an offset that every reply corrects. Where there are no replies, the store is asked.
    """

    def __init__(
        self, read: Callable[[], int], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """``read`` asks the store (epoch ms)."""
        self._read = read
        self._monotonic = monotonic
        self._estimate: _Estimate | None = None
        self._partitions: dict[int, _Estimate] = {}
        self._asked_s = float("-inf")

    def now_ms(self, partition: int = 0) -> int:
        """The estimate, epoch ms. The partitions of a cluster are on several machines, and each
        goes by its own clock, as long as it has told it lately.
        """
        estimate = self._partitions.get(partition) if partition else None
        if estimate is None or not estimate.is_fresh(self._monotonic()):
            estimate = self._of_store()
        return int(self._monotonic() * 1000 + estimate.offset_ms)

    def elapsed_ms(self) -> int:
        """This machine's monotonic clock: to count how long something took."""
        return int(self._monotonic() * 1000)

    def correct(self, now_ms: int, partition: int = 0) -> None:
        """Take the time out of a reply of a partition."""
        made_s = self._monotonic()
        estimate = _Estimate(now_ms - made_s * 1000, made_s)
        if partition:
            self._partitions[partition] = estimate
        else:
            self._estimate = estimate

    def _of_store(self) -> _Estimate:
        if self._estimate is None:
            self.correct(self._read())
        elif not self._estimate.is_fresh(now_s := self._monotonic()) and (
            now_s - self._asked_s >= _FRESH_S
        ):
            # Noted before the answer: a store that is away is not waited for again and again, and
            # an old estimate is better than none.
            self._asked_s = now_s
            with suppress(StoreUnavailable):
                self.correct(self._read())
        assert self._estimate is not None
        return self._estimate
