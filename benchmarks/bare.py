"""Redis without anything in between: the loop that figures are compared with, and its counters."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.figures import Bare

_VALUE = b"x" * 200


class BareRedis:
    """One connection to a unix socket that writes commands and reads replies."""

    def __init__(self, path: Path) -> None:
        """Connect."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def ask(self, *words: bytes) -> bytes:
        """Send a command; return its reply as it is on the wire."""
        parts = [b"*%d" % len(words)]
        for word in words:
            parts += (b"$%d" % len(word), word)
        self._socket.sendall(b"\r\n".join((*parts, b"")))
        reply = self._socket.recv(65536)
        if reply.startswith(b"$") and not reply.startswith(b"$-1"):
            head, _, _ = reply.partition(b"\r\n")
            while len(reply) < int(head[1:]) + len(head) + 4:
                reply += self._socket.recv(65536)
        return reply

    def loop(self, seconds: float = 0.5) -> Bare:
        """Run the bare loop, with this thread and Redis on one core.

        Where the scheduler puts the two makes a factor of five: a core that sleeps between two
        requests has to be woken for each.
        """
        server = int(self._info()["process_id"])
        with _on_one_core(0, server):
            began = time.perf_counter()
            count = 0
            while (spent := time.perf_counter() - began) < seconds:
                for _ in range(50):
                    self.ask(b"SET", b"bench:bare", _VALUE)
                    self.ask(b"GET", b"bench:bare")
                count += 50
        return Bare(count / spent)

    def counters(self) -> Counters:
        """Read what the server counts."""
        values = self._info()
        return Counters(
            memory=int(values["used_memory"]),
            moved=int(values["total_net_input_bytes"]) + int(values["total_net_output_bytes"]),
            received=int(values["total_net_input_bytes"]),
            version=values.get("valkey_version") or values["redis_version"],
        )

    def spent_us(self) -> Counter[str]:
        """Read how many microseconds the server has been at each command, those that scripts call
        included.
        """
        spent: Counter[str] = Counter()
        for name, value in self._info().items():
            if name.startswith("cmdstat_"):
                facts = dict(each.split("=") for each in value.split(","))
                spent[name.removeprefix("cmdstat_")] = int(facts["usec"])
        return spent

    def _info(self) -> dict[str, str]:
        values: dict[str, str] = {}
        for line in self.ask(b"INFO", b"everything").decode().splitlines():
            name, _, value = line.partition(":")
            values[name] = value
        return values

    def watch_slow_commands(self, above_ms: float) -> None:
        """Remember from now on the commands that take longer."""
        self.ask(b"CONFIG", b"SET", b"slowlog-log-slower-than", b"%d" % int(above_ms * 1000))
        self.ask(b"CONFIG", b"SET", b"slowlog-max-len", b"1024")
        self.ask(b"SLOWLOG", b"RESET")


@contextmanager
def _on_one_core(*threads: int) -> Iterator[None]:
    before = [os.sched_getaffinity(thread) for thread in threads]
    core = {min(before[0])}
    for thread in threads:
        os.sched_setaffinity(thread, core)
    try:
        yield
    finally:
        for thread, cores in zip(threads, before, strict=True):
            os.sched_setaffinity(thread, cores)


@dataclass(frozen=True, slots=True)
class Counters:
    """Bytes that the server holds, bytes that came and went, those that came, and what it is."""

    memory: int
    moved: int
    received: int
    version: str
