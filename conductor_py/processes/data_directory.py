"""The directory of an embedded store: one owner at a time, and a marker that says who wrote it.

The lock is on an open file that the server inherits, so it is held until both are gone, however
they went. The marker is written before a server touches the directory.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import threading
import time
from pathlib import Path
from typing import Final

from conductor_py.errors import ConfigurationError
from conductor_py.processes.redis_binary import Engine

_FORMAT: Final = 1
_MARKER: Final = "conductor-store.json"
_LOCK: Final = "lock"
#: What a server leaves behind: the append-only file of old and of new servers, and a dump.
_DATA: Final = ("appendonly.aof", "appendonlydir", "dump.rdb")
_LOOK_S: Final = 0.05


def keep_private() -> None:
    """Let this process and those that it starts make nothing that other users of the machine read:
    inputs and outputs lie in the store, the search file, payloads and logs.
    """
    os.umask(0o077)


class DataDirectory:
    """A directory that this process owns from ``claim`` to ``release``."""

    def __init__(self, path: Path) -> None:
        """Touch nothing yet."""
        self.path = path
        self._lock: int | None = None

    @property
    def lock(self) -> int:
        """The descriptor that a server inherits to keep the directory locked."""
        assert self._lock is not None, "claimed"
        return self._lock

    def claim(self, *, timeout_s: float) -> None:
        """Create it if absent and lock it.

        A server whose owner was just killed needs a moment to end, hence the wait. Raises
        ConfigurationError when another one holds it still, or it cannot be written.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigurationError(
                f"The data directory {self.path} cannot be used: {error.strerror}"
            ) from error
        deadline = time.monotonic() + timeout_s
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise ConfigurationError(
                    f"The data directory {self.path} is in use by a server that is running; stop "
                    "it, or give this one another directory"
                )
            threading.Event().wait(_LOOK_S)
        self._lock = descriptor

    def release(self) -> None:
        """Give up the lock; it is free when the server has ended, too."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def admit(self, engine: Engine) -> None:
        """Let the engine write here, or raise ConfigurationError when its data would suffer."""
        writer = self._read_marker()
        if writer is None and any((self.path / name).exists() for name in _DATA):
            raise ConfigurationError(
                f"The data directory {self.path} holds data of an unknown origin: it has no "
                f"{_MARKER}; give this server an empty directory"
            )
        if writer is not None and not engine.can_open(writer):
            raise ConfigurationError(
                f"The data directory {self.path} was written by {writer}, which {engine} cannot "
                f"safely open; run {writer} or newer"
            )
        if writer != engine:
            self._write_marker(engine)

    def _read_marker(self) -> Engine | None:
        try:
            marker = json.loads((self.path / _MARKER).read_text())
            if marker["format"] != _FORMAT:
                raise ConfigurationError(
                    f"The data directory {self.path} has format {marker['format']!r}; this version "
                    f"knows only {_FORMAT}"
                )
            major, minor, patch = map(int, re.findall(r"\d+", marker["version"]))
            return Engine(name=marker["engine"], version=(major, minor, patch))
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise ConfigurationError(
                f"{self.path / _MARKER} cannot be read; restore it, or start from a backup"
            ) from error

    def _write_marker(self, engine: Engine) -> None:
        version = ".".join(map(str, engine.version))
        content = {"format": _FORMAT, "engine": engine.name, "version": version}
        draft = self.path / f"{_MARKER}.new"
        with draft.open("w") as file:
            file.write(json.dumps(content) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path / _MARKER)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
