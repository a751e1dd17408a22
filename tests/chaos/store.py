"""The Redis of the chaos program: killed, frozen, its connections cut, its last second lost.

A kill -9 of Redis alone loses nothing, because what it has written is with the kernel. The loss of
a machine is played as it is: while Redis is down, its append-only file is cut back to the length
that it had a moment ago, at most a second, which `appendfsync everysec` may not have brought to the
disk. Under `always` nothing is cut: whatever was answered had been brought there before.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.exceptions import RedisError

from tests.services.redis_servers import RedisServer, start_redis

_SAMPLE_S = 0.02
_KEPT = 200
_FSYNC_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """One death of Redis: what was written up to `kept_until_ms` is still there (epoch ms)."""

    killed_ms: int
    kept_until_ms: int
    lost_bytes: int


class ChaosStore:
    """A Redis on a unix socket; restarts are recorded."""

    def __init__(self, fsync: str, chance: random.Random) -> None:
        self._server: RedisServer = start_redis(append_only=True, appendfsync=fsync)
        self._loses_tail = fsync == "everysec"
        self._chance = chance
        self._sizes: deque[tuple[float, Path, int]] = deque(maxlen=_KEPT)
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample, name="sizes", daemon=True)
        self._sampler.start()
        self.restarts: list[Restart] = []

    @property
    def socket(self) -> Path:
        return self._server.socket

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def pid(self) -> int:
        return self._server.pid

    def client(self) -> Any:
        """A client of its own; the caller closes it."""
        return self._server.client()

    def die(self) -> Restart:
        """Kill -9, under `everysec` with the loss of the last moment; `revive` brings it back."""
        self._server.kill()
        killed = time.time()
        lost_bytes, kept_until = self._lose_tail(killed) if self._loses_tail else (0, killed)
        found = Restart(
            killed_ms=int(killed * 1000),
            kept_until_ms=int(kept_until * 1000),
            lost_bytes=lost_bytes,
        )
        self.restarts.append(found)
        return found

    def revive(self) -> None:
        """Start again on the same files; returns when it answers."""
        self._server.start()

    def freeze(self) -> None:
        """Stop it; what is sent meanwhile is carried out after `thaw`."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def cut_connections(self) -> int:
        """Close every client's connection; how many there were."""
        with self.client() as client:
            cut = client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            cut += client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        return int(cut)

    def answers(self) -> bool:
        """Whether it answers just now."""
        try:
            with self.client() as client:
                return bool(client.ping())
        except RedisError:
            return False

    def stop(self) -> None:
        """End it and remove its folder."""
        self._over.set()
        self._sampler.join(5)
        self._server.stop()

    def _sample(self) -> None:
        folder = self.socket.parent / "appendonlydir"
        while not self._over.wait(_SAMPLE_S):
            with suppress(OSError):
                newest = max(
                    folder.glob("*.incr.aof"),
                    key=lambda file: file.stat().st_mtime_ns,
                    default=None,
                )
                if newest is not None:
                    self._sizes.append((time.time(), newest, newest.stat().st_size))

    def _lose_tail(self, killed: float) -> tuple[int, float]:
        """Cut the file back to a sample of the last second; the bytes lost, and until when it is
        whole.
        """
        until = killed - self._chance.uniform(0, _FSYNC_S)
        samples = list(self._sizes)
        if not samples:
            return 0, killed
        newest = samples[-1][1]
        kept = [sample for sample in samples if sample[1] == newest and sample[0] <= until]
        # A file that is younger than that began with a whole snapshot.
        at, file, size = kept[-1] if kept else next(s for s in samples if s[1] == newest)
        lost = file.stat().st_size - size
        os.truncate(file, size)
        return lost, min(at, killed)
