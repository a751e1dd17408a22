"""A value that is made once a process: what a client of a network service has to be.

Making one is slow, so it waits for the first use; two processes cannot share its connections, so a
forked process makes its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ProcessLocal(Generic[T]):
    """Calls ``make`` at the first ``get`` in each process; any number of threads may ask."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = (os.getpid(), threading.Lock())
        self._made: tuple[int, T] | None = None

    def get(self) -> T:
        """Read the value of this process."""
        process = os.getpid()
        made = self._made
        if made is not None and made[0] == process:
            return made[1]
        if self._lock[0] != process:
            # Another thread of the parent may have held the lock at the fork.
            self._lock = (process, threading.Lock())
        with self._lock[1]:
            if self._made is None or self._made[0] != process:
                self._made = (process, self._make())
            return self._made[1]
