"""Waiting for real processes: with a deadline, never by a guessed pause."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 60.0
"""How long to wait for what must come: a process may stand still for seconds on a busy machine."""

_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.1


def until(predicate: Callable[[], T], timeout_s: float = PATIENCE_S, *, what: str = "") -> T:
    """Call `predicate` until it answers something true, and return that.

    Raises AssertionError when `timeout_s` seconds have passed without one; the predicate is called
    at least once, and once more at the deadline.
    """
    deadline = time.monotonic() + timeout_s
    pause, never = _FIRST_PAUSE_S, threading.Event()
    while True:
        last_chance = time.monotonic() >= deadline
        answer = predicate()
        if answer:
            return answer
        if last_chance:
            name = what or getattr(predicate, "__name__", repr(predicate))
            raise AssertionError(f"not within {timeout_s} s: {name}")
        never.wait(min(pause, max(deadline - time.monotonic(), 0)))
        pause = min(pause * 2, _LONGEST_PAUSE_S)
