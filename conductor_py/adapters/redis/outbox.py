"""The outbox in Redis."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.outbox import Pending


class RedisOutbox:
    """``Outbox`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def take(self, partition: int, limit: int, lease_ms: int) -> tuple[Pending, ...]:
        arguments = (self._scripts.now(), limit, lease_ms)
        flat = self._scripts.run("take_effects", partition, arguments)
        return tuple(_pending(flat[at].decode(), flat[at + 1]) for at in range(0, len(flat), 2))

    def confirm(self, partition: int, done: Sequence[tuple[str, int]]) -> int:
        arguments: list[Argument] = [part for pair in done for part in pair]
        return int(self._scripts.run("confirm_effects", partition, arguments)) if done else 0

    def size(self, partition: int) -> int:
        prefix = self._scripts.prefix(partition)
        return int(self._scripts.connection.command("ZCARD", f"{prefix}outbox"))

    def read(self, partition: int, ids: Sequence[str]) -> tuple[Pending, ...]:
        if not ids:
            return ()
        prefix = self._scripts.prefix(partition)
        texts = self._scripts.connection.command("HMGET", f"{prefix}effects", *ids)
        return tuple(
            _pending(effect, text)
            for effect, text in zip(ids, texts, strict=True)
            if text is not None
        )


def _pending(effect: str, text: bytes) -> Pending:
    stamp, _, document = text.partition(b" ")
    return Pending(id=effect, stamp=int(stamp), document=document)
