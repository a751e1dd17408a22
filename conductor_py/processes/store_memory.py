"""Memory that the embedded store is done with goes back to the system.

A server that was built with the C library's allocator keeps what it freed: the library gives back
the end of its heap only, and one value that stays keeps all that lies before it. Valkey has the
library give back every free page when functions are flushed. The embedded store has no functions,
so flushing them does nothing else. One with an allocator of its own gives back by itself.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from conductor_py.records import dataclass

_LOOK_S: Final = 10.0
"""A look takes a tenth of a millisecond, and what it waits for leaves the store within seconds."""
_ANSWER_S: Final = 5.0
_KNOWN_S: Final = 0.5
"""What a server says of its memory is a tenth of a second old."""
_LONGEST_LINE_BYTES: Final = 1024
_WORTH_BYTES: Final = 8 * 1024 * 1024
_FALLEN_BYTES: Final = 512 * 1024


class StoreMemory:
    """The memory of the server on a socket, until ``stopping``."""

    def __init__(self, path: Path, stopping: threading.Event) -> None:
        """Ask nothing yet."""
        self._path = path
        self._stopping = stopping
        self._last = _NOTHING
        """After the server was last asked to give back, until little is free."""

    def keep_small(self) -> None:
        """Look now and then until stopped. The life of a thread."""
        while not self._stopping.wait(_LOOK_S):
            self.look()

    def look(self) -> None:
        """Have the server give back what it is done with, where much is free. What it could not
        give back is not asked for again until it has freed more. One that is away or has no time is
        asked again later.
        """
        with suppress(OSError, ValueError, KeyError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_S)
            connection.connect(str(self._path))
            now = memory_of(_ask_memory(connection))
            if now.free_bytes < _WORTH_BYTES:
                self._last = _NOTHING
            elif now.has_freed_since(self._last):
                connection.sendall(b"FUNCTION FLUSH SYNC\r\n")
                connection.recv(_LONGEST_LINE_BYTES)
                self._stopping.wait(_KNOWN_S)
                self._last = memory_of(_ask_memory(connection))


@dataclass(frozen=True, slots=True)
class Memory:
    """What a server uses, and what it has beyond twice of that: nothing, where it would give back
    nothing or must not be asked to.
    """

    used_bytes: int
    free_bytes: int

    def has_freed_since(self, last: Memory) -> bool:
        """Whether it uses less, or has become larger and is done with that."""
        fallen = last.used_bytes - self.used_bytes
        return fallen >= _FALLEN_BYTES or self.free_bytes - last.free_bytes >= _WORTH_BYTES


_NOTHING: Final = Memory(used_bytes=0, free_bytes=0)


def memory_of(said: Mapping[str, str]) -> Memory:
    """Read a server's INFO of memory; raises ValueError or KeyError."""
    used, resident = int(said["used_memory"]), int(said["used_memory_rss"])
    keeps = said.get("mem_allocator", "").startswith("libc")
    gives = keeps and said.get("number_of_libraries") == "0"
    return Memory(used_bytes=used, free_bytes=max(0, resident - 2 * used) if gives else 0)


def _ask_memory(connection: socket.socket) -> dict[str, str]:
    """Ask the server; raises ValueError when it answers with something else."""
    connection.sendall(b"INFO memory\r\n")
    with connection.makefile("rb") as answer:
        kind, length = answer.read(1), answer.readline()
        if kind != b"$":
            raise ValueError(length)
        text = answer.read(int(length) + 2).decode()
    fields = (line.partition(":") for line in text.splitlines())
    return {name: value for name, colon, value in fields if colon}
