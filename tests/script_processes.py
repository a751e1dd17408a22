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

    Wall time is ample, and what takes long does not run in the background, where it would get no
    processor time at all while others work.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_START_S", _WALL_S)
        patch.setattr(pool, "_to_background", lambda _: None)
        patch.setattr(lanes, "_SLICE_MS", _SLICE_MS)
        patch.setattr(lanes, "_SLICE_WALL_MS", _WALL_S * 1000)
        patch.setattr(lanes, "_STRETCH", _WALL_S)
        yield patch
