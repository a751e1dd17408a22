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
_LOOK_S: Final = 0.05

T = TypeVar("T")


class LookupLate(TimeoutError):
    """A name was not looked up in time."""


def _go_on() -> None:
    """Nothing but time ends the wait."""


def _wait(happened: Callable[[float], bool], end: float, check: Callable[[], None]) -> None:
    """Wait for what ``happened`` tells, given a patience; LookupLate at the monotonic ``end``."""
    while True:
        left = max(end - time.monotonic(), 0)
        if happened(left if check is _go_on else min(left, _LOOK_S)):
            return
        check()
        if left == 0:
            raise LookupLate


class Lookups:
    """Look-ups under way, ``most`` at once."""

    def __init__(self, most: int = _MOST) -> None:
        """Nothing runs yet."""
        self._free = threading.BoundedSemaphore(most)

    def within(
        self, look_up: Callable[[], T], timeout_s: float, check: Callable[[], None] = _go_on
    ) -> T:
        """Return or raise what ``look_up`` does; LookupLate when it takes longer. ``check`` is
        called now and then meanwhile: what it raises ends the wait, too.
        """
        end = time.monotonic() + timeout_s
        _wait(lambda patience_s: self._free.acquire(timeout=patience_s), end, check)
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
        _wait(done.wait, end, check)
        if problems:
            raise problems[0]
        return found[0]


LOOKUPS: Final = Lookups()
"""Those of this process."""
