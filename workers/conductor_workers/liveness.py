"""Directories that say whether their maker still lives.

A directory is held by an operating-system lock on a file beside it. The kernel drops the lock when
the process ends, however it ends, so a directory whose lock can be taken is a leftover and may be
deleted. A frozen process keeps its lock: what it may still do is decided elsewhere, by tokens.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conductor_py.records import dataclass

_LOCK_SUFFIX = ".lock"


@dataclass(frozen=True, slots=True)
class HeldDirectory:
    """A directory of this process; ``descriptor`` keeps the lock."""

    path: Path
    descriptor: int

    def release(self, *, delete: bool) -> None:
        """Let go of the directory, and delete it with its lock file when asked to."""
        if delete:
            shutil.rmtree(self.path, ignore_errors=True)
            _lock_file(self.path).unlink(missing_ok=True)
        os.close(self.descriptor)


@contextmanager
def exclusive(lock_file: Path) -> Iterator[None]:
    """Hold the operating-system lock on that file, waiting for it as long as it takes."""
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def hold(path: Path) -> HeldDirectory | None:
    """Make that directory and hold it; None when a living process holds it already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _try_lock(path)
    if descriptor is None:
        return None
    path.mkdir(exist_ok=True)
    return HeldDirectory(path, descriptor)


def remove_if_abandoned(path: Path) -> bool:
    """Delete that directory when nobody living holds it; True when it is gone."""
    descriptor = _try_lock(path)
    if descriptor is None:
        return False
    HeldDirectory(path, descriptor).release(delete=True)
    return True


def _try_lock(path: Path) -> int | None:
    """Lock the file that is at that path *now*; a remover may delete it between open and lock."""
    lock_file = _lock_file(path)
    while True:
        descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_ino == lock_file.stat().st_ino:
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass
        os.close(descriptor)


def _lock_file(path: Path) -> Path:
    return path.with_name(path.name + _LOCK_SUFFIX)
