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

_LOOK_S: Final = 30.0
_ANSWER_S: Final = 5.0
_LONGEST_LINE_BYTES: Final = 1024
_WORTH_BYTES: Final = 8 * 1024 * 1024


class StoreMemory:
    """The memory of the server on a socket."""

    def __init__(self, path: Path) -> None:
        """Ask nothing yet."""
        self._path = path
        self._left_bytes = 0
        self._has_flushed = False

    def keep_small(self, stopping: threading.Event) -> None:
        """Look now and then until stopped. The life of a thread."""
        while not stopping.wait(_LOOK_S):
            self.look()

    def look(self) -> None:
        """Have the server give back what it is done with, if that is worth it. One that is away or
        has no time is asked again later.
        """
        with suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_S)
            connection.connect(str(self._path))
            memory = _ask_memory(connection)
            if self._has_flushed:  # what it says at once is from before
                self._left_bytes = int(memory["used_memory_rss"])
            self._has_flushed = is_worth_it(memory, self._left_bytes)
            if self._has_flushed:
                connection.sendall(b"FUNCTION FLUSH SYNC\r\n")
                connection.recv(_LONGEST_LINE_BYTES)


def is_worth_it(memory: Mapping[str, str], left_bytes: int) -> bool:
    """Whether, by its INFO of memory, more than half of what the server has is free, and it has
    much more than the last time left.
    """
    keeps = memory.get("mem_allocator", "").startswith("libc")
    if not keeps or memory.get("number_of_libraries") != "0":
        return False
    resident, used = int(memory["used_memory_rss"]), int(memory["used_memory"])
    return resident - max(2 * used, left_bytes) >= _WORTH_BYTES


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
