"""Names are looked up beside the call: nothing can break ``getaddrinfo`` off.

A look-up that hangs keeps its thread until the resolver gives up. Such threads are bounded; when
all are taken, further calls wait for one within their own time and then fail.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

_MOST: Final = 64

T = TypeVar("T")


class LookupLate(TimeoutError):
    """A name was not looked up in time."""


class Lookups:
    """Look-ups under way, ``most`` at once."""

    def __init__(self, most: int = _MOST) -> None:
        """Nothing runs yet."""
        self._free = threading.BoundedSemaphore(most)

    def within(self, look_up: Callable[[], T], timeout_s: float) -> T:
        """Return or raise what ``look_up`` does; LookupLate when it takes longer."""
        end = time.monotonic() + timeout_s
        if not self._free.acquire(timeout=timeout_s):
            raise LookupLate
        done = threading.Event()
        found: list[T] = []
        problems: list[Exception] = []

        def run() -> None:
            try:
                found.append(look_up())
            except Exception as problem:  # noqa: BLE001 - it is raised again where it was asked for
                problems.append(problem)
            finally:
                self._free.release()
                done.set()

        try:
            threading.Thread(target=run, name="name-lookup", daemon=True).start()
        except RuntimeError:
            self._free.release()
            raise
        if not done.wait(max(end - time.monotonic(), 0)):
            raise LookupLate
        if problems:
            raise problems[0]
        return found[0]


LOOKUPS: Final = Lookups()
"""Those of this process."""
