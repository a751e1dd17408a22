"""Script processes on a machine that is busy: only the processor time of a program counts."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conductor_py.adapters.quickjs import pool
from conductor_py.adapters.quickjs import scripts as lanes

_WALL_S = 600
_SLICE_MS = 200


@contextmanager
def unhurried() -> Iterator[pytest.MonkeyPatch]:
    """Lift what a busy machine alone can exceed; every limit of processor time and memory stays.

    Wall time is ample, and what takes long neither rests nor runs behind all others, where it would
    get no processor time at all while they work.
    """
    start = pool.Child.__init__

    def in_the_foreground(
        child: pool.Child, *, memory_bytes: int, result_bytes: int, **_behind_others: object
    ) -> None:
        start(child, memory_bytes=memory_bytes, result_bytes=result_bytes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool.Child, "__init__", in_the_foreground)
        patch.setattr(pool, "_START_S", _WALL_S)
        patch.setattr(lanes, "_SLICE_MS", _SLICE_MS)
        patch.setattr(lanes, "_SLICE_WALL_MS", _WALL_S * 1000)
        patch.setattr(lanes, "_LONG_STRETCH", _WALL_S)
        patch.setattr(lanes, "_SLOW_STRETCH", _WALL_S)
        yield patch
