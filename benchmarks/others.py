"""What else runs on the machine during a measurement: a page must say whether it was quiet."""

from __future__ import annotations

import os
import time
from typing import Final

from benchmarks.machine import busy_ms, cost_of

_QUIET_PERCENT: Final = 10


class Others:
    """All but this process and those that it starts, from now on."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._spent_ms = self._now_ms()

    def minutes(self) -> float:
        """How long it is."""
        return (time.monotonic() - self._began) / 60

    def told(self) -> str:
        """What a reader must know of them."""
        seconds = time.monotonic() - self._began
        used_ms = self._now_ms() - self._spent_ms
        percent = max(0.0, used_ms / 10 / seconds / (os.cpu_count() or 1))
        used = f"what else runs on the machine used {percent:.0f} % of its CPU"
        if percent < _QUIET_PERCENT:
            return used
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        told = f"{used}, and this gave way to it (nice {nice})"
        return f"**the machine was busy**: {told}; rates and times say little"

    @staticmethod
    def _now_ms() -> float:
        return busy_ms() - cost_of(os.getpid()).cpu_ms
