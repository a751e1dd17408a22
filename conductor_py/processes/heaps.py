"""Heaps of the C library that give back what they no longer need.

Most Linux systems' C library gives each thread a heap of its own, up to eight for each core, and
has a process that once freed something large keep up to 64 MB at the end of each. So a process
whose threads read a large body now and then comes to hold many times the memory of one. Python runs
one thread at a time, and most of its objects are in no heap of the C library: two heaps are enough.
What is large gets pages of its own, which go back when it ends: where the library begins with that,
before it learns to keep them, is where it stays.

Who has set one of these in the environment has chosen. Other C libraries have no such heaps.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True)
class _Choice:
    """One of the library's settings: its number, the variable that sets it, what it is here."""

    number: int
    variable: str
    value: int


_HEAPS: Final = _Choice(-8, "MALLOC_ARENA_MAX", 2)
_OWN_PAGES_BYTES: Final = _Choice(-3, "MALLOC_MMAP_THRESHOLD_", 128 * 1024)
_KEPT_BYTES: Final = _Choice(-1, "MALLOC_TRIM_THRESHOLD_", 1024 * 1024)


def keep_little() -> None:
    """Have the threads of this process, and of those forked from it, share heaps that keep little;
    before they run.
    """
    if sys.platform != "linux":
        return
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    if choose is None:
        return
    for each in (_HEAPS, _OWN_PAGES_BYTES, _KEPT_BYTES):
        if each.variable not in os.environ:
            choose(each.number, each.value)


def environment_that_keeps_little() -> dict[str, str]:
    """Return this process's environment, with the same for a program of another language."""
    chosen = {each.variable: str(each.value) for each in (_OWN_PAGES_BYTES, _KEPT_BYTES)}
    return {**chosen, **os.environ}
