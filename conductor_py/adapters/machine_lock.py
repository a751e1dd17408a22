"""Locks between the processes of one machine: a file of leases in their data directory.

An execution has a slot by its hash: until when, by the clock of the machine, and who. Two
executions of one slot keep each other out, which costs a moment. Whoever dies with a lease leaves
it to end by its time. Nothing here is known to another machine.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId

_SLOT: Final = struct.Struct("=dQ")
_SLOTS: Final = 1 << 16
_FREE: Final = (0.0, 0)
_PAUSES_S: Final = (0.001, 0.02)
"""How long another process's lease is waited for between two looks: at first, and at most."""
_TRIES: Final = 20


class MachineLock:
    """``Lock`` among the processes that name the same file."""

    def __init__(self, file: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Keep the leases in ``file``, which is made when it is missing."""
        self._file = file
        self._monotonic = monotonic

    def acquire(self, execution: ExecutionId, holder: str, *, wait_ms: int, lease_ms: int) -> bool:
        return self._leases().acquire(execution, _mark(holder), wait_ms, lease_ms)

    def renew(self, execution: ExecutionId, holder: str, *, lease_ms: int) -> bool:
        return self._leases().renew(execution, _mark(holder), lease_ms)

    def release(self, execution: ExecutionId, holder: str) -> bool:
        return self._leases().release(execution, _mark(holder))

    def _leases(self) -> _Leases:
        return _opened(self._file, self._monotonic, os.getpid())


class _Leases:
    """The file as one process has it."""

    def __init__(self, file: Path, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._freed = threading.Condition()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.ftruncate(self._file, _SLOT.size * _SLOTS)
            self._slots = mmap.mmap(self._file, _SLOT.size * _SLOTS)
        except OSError as refused:
            raise StoreUnavailable(
                f"The file of locks {file} cannot be used: {refused}"
            ) from refused

    def acquire(self, execution: ExecutionId, mark: int, wait_ms: int, lease_ms: int) -> bool:
        at, (pause_s, longest_s) = _place(execution), _PAUSES_S
        deadline = time.monotonic() + wait_ms / 1000
        with self._freed:
            while not self._try(at, mark, lease_ms):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                # The end of a lease in this process wakes us; that in another does not.
                self._freed.wait(min(left, pause_s))
                pause_s = min(2 * pause_s, longest_s)
        return True

    def renew(self, execution: ExecutionId, mark: int, lease_ms: int) -> bool:
        at = _place(execution)
        with self._freed, self._alone(at) as alone:
            if not (alone and self._is_held_by(at, mark)):
                return False
            self._write(at, mark, lease_ms)
        return True

    def release(self, execution: ExecutionId, mark: int) -> bool:
        at = _place(execution)
        with self._freed, self._alone(at) as alone:
            kept = self._is_held_by(at, mark)
            if alone and kept:
                _SLOT.pack_into(self._slots, at, *_FREE)
                self._freed.notify_all()
        return kept

    def _try(self, at: int, mark: int, lease_ms: int) -> bool:
        with self._alone(at) as alone:
            if not alone:
                return False
            until, _ = _SLOT.unpack_from(self._slots, at)
            # One that ends later than any lease can was written before the machine's clock began.
            if 0 < until - self._monotonic() <= lease_ms / 1000:
                return False
            self._write(at, mark, lease_ms)
        return True

    def _is_held_by(self, at: int, mark: int) -> bool:
        until, holder = _SLOT.unpack_from(self._slots, at)
        return bool(holder == mark and until > self._monotonic())

    def _write(self, at: int, mark: int, lease_ms: int) -> None:
        _SLOT.pack_into(self._slots, at, self._monotonic() + lease_ms / 1000, mark)

    @contextmanager
    def _alone(self, at: int) -> Iterator[bool]:
        """Keep other processes off a slot for a moment; false when one is there and stays, which
        only one does that was stopped just then.
        """
        for _ in range(_TRIES):
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SLOT.size, at)
            except OSError:
                self._freed.wait(_PAUSES_S[0])
            else:
                break
        else:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, _SLOT.size, at)


@cache
def _opened(file: Path, monotonic: Callable[[], float], _process: int) -> _Leases:
    """The file, once a process: between two that had it open twice the system tells no threads
    apart. A forked process opens it itself.
    """
    return _Leases(file, monotonic)


def _place(execution: ExecutionId) -> int:
    return zlib.crc32(execution.encode()) % _SLOTS * _SLOT.size


def _mark(holder: str) -> int:
    return int.from_bytes(blake2b(holder.encode(), digest_size=8).digest(), "big")
