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

_LOOK_S: Final = 10.0
"""A look takes half a millisecond. What has ended leaves the store within some seconds."""
_ANSWER_S: Final = 5.0
_KNOWN_S: Final = 0.5
"""What a server says of its memory is a tenth of a second old."""
_LONGEST_LINE_BYTES: Final = 1024
_WORTH_BYTES: Final = 8 * 1024 * 1024


class StoreMemory:
    """The memory of the server on a socket, until ``stopping``."""

    def __init__(self, path: Path, stopping: threading.Event) -> None:
        """Ask nothing yet."""
        self._path = path
        self._stopping = stopping
        self._stays_bytes = 0

    def keep_small(self) -> None:
        """Look now and then until stopped. The life of a thread."""
        while not self._stopping.wait(_LOOK_S):
            self.look()

    def look(self) -> None:
        """Have the server give back what it is done with, where much is free, and much more than
        what it could not give back the last time. One that is away or has no time is asked again
        later.
        """
        with suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_S)
            connection.connect(str(self._path))
            free_bytes = freeable_bytes(_ask_memory(connection))
            if free_bytes < _WORTH_BYTES:
                self._stays_bytes = 0
            if free_bytes - self._stays_bytes >= _WORTH_BYTES:
                connection.sendall(b"FUNCTION FLUSH SYNC\r\n")
                connection.recv(_LONGEST_LINE_BYTES)
                self._stopping.wait(_KNOWN_S)
                self._stays_bytes = freeable_bytes(_ask_memory(connection))


def freeable_bytes(memory: Mapping[str, str]) -> int:
    """What the server has beyond twice of what it uses, by its INFO of memory; 0 where it would
    give back nothing, or must not be asked to.
    """
    keeps = memory.get("mem_allocator", "").startswith("libc")
    if not keeps or memory.get("number_of_libraries") != "0":
        return 0
    return max(0, int(memory["used_memory_rss"]) - 2 * int(memory["used_memory"]))


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
