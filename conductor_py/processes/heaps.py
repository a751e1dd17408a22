"""Few heaps for many threads.

The C library of most Linux systems gives each thread a heap of its own, up to eight for each core,
and a heap keeps what it has once needed. So a process whose threads read a large body now and then
comes to hold as many times the memory of one as it has heaps. Python runs one thread at a time, and
most of its objects are in no heap of the C library: two are enough.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

_ARENA_MAX: Final = -8
_HEAPS: Final = 2
_CHOSEN: Final = "MALLOC_ARENA_MAX"


def share_heaps() -> None:
    """Have the threads of this process, and of those forked from it, share heaps; before they run.

    Who has set ``MALLOC_ARENA_MAX`` has chosen. Other C libraries have no such heaps.
    """
    if sys.platform == "linux" and _CHOSEN not in os.environ:
        choose = getattr(ctypes.CDLL(None), "mallopt", None)
        if choose is not None:
            choose(_ARENA_MAX, _HEAPS)
