"""Bytes that were damaged in the store of a running server, a few a second, by the seed.

What belongs to the canary is spared: it stands for everybody whose bytes are whole.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from redis import Redis
from redis.exceptions import RedisError

_EVERY_S: Final = 0.4
_TEXTS: Final = (
    *(b"", b"no JSON", b'{"a":', b"[1]", b"null", b"-1 -1 -1", b"9" * 40),
    *("\xff\x00".encode(), b"\xff\xfe", b'{"a":"\xff"}'),
)
#: Of one execution, or with entries that are each of one; `aside:` of a shared key would be of all.
_FIELDS: Final = ("exec:", "effects", "ans:")
_ENTRIES: Final = ("timers:", "queue:", "delayed:", "outbox", "schedules:due", "touched")
_WHOLE: Final = ("inbox:", "log:", "park:", "ckpt:")


class Damager:
    """Damages something now and then until it is told to end."""

    def __init__(self, store: Any, seed: int, planted: set[str]) -> None:
        self.counts: dict[str, int] = {}
        self._store: Redis = store
        self._planted = planted
        self._chance = random.Random(f"{seed}/damage")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def begin(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self) -> Mapping[str, int]:
        """End, and tell how many entries were damaged, by kind."""
        self._over.set()
        self._thread.join()
        return self.counts

    def _go_on(self) -> None:
        while not self._over.wait(_EVERY_S):
            with suppress(RedisError):
                self._damage()

    def _damage(self) -> None:
        names = sorted(self._store.scan_iter(match="{*", count=5_000))
        kind = self._chance.choice((*_FIELDS, *_ENTRIES, *_WHOLE))
        chosen = [name for name in names if name.partition(b"}:")[2].startswith(kind.encode())]
        chosen = [name for name in chosen if b"canary" not in name]
        if not chosen:
            return
        key, text = self._chance.choice(chosen), self._chance.choice(_TEXTS)
        if any(each in key for each in self._canaries(names)):
            return
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self._planted.add(key.decode().rpartition(":")[2])
        if kind in _FIELDS:
            fields = sorted(self._store.hkeys(key))
            fields = [f for f in fields if not any(each in f for each in self._canaries(names))]
            if fields:
                self._store.hset(key, self._chance.choice(fields), text)
        elif kind in _ENTRIES:
            member = self._chance.choice((text, b"x:" + text, b"a:" + text, text + b"-1"))
            self._store.zadd(key, {member: self._chance.choice((0, 2**40, 2**50))})
        else:
            self._store.delete(key)
            self._store.set(key, text)

    def _canaries(self, names: list[bytes]) -> list[bytes]:
        """The executions that are spared."""
        found: list[bytes] = []
        for name in names:
            if name.endswith(b"running:canary"):
                found += self._store.zrange(name, 0, -1)  # type: ignore[arg-type]
        return found
