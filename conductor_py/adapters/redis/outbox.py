"""The outbox in Redis."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import number_of, pairs_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.outbox import Pending
from conductor_py.ports.store import Effect


class RedisOutbox:
    """``Outbox`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def take(
        self, partition: int, limit: int, lease_ms: int, *, patience_ms: int = 0
    ) -> tuple[Pending, ...]:
        arguments = (self._scripts.now(), limit, lease_ms, patience_ms)
        flat = self._scripts.run("take_effects", partition, arguments)
        return tuple(_pending(effect, text) for effect, text in pairs_of(flat))

    def due(self) -> tuple[int, ...]:
        replies = self._scripts.run_each("look_for_due", (self._scripts.now(), "outbox"))
        return tuple(partition for partition, found in enumerate(replies) if found)

    def next_due_ms(self, partition: int) -> int:
        return self._scripts.earliest_ms(partition, "outbox")

    def life(self, partition: int) -> str:
        return str(self._scripts.run("tell_life", partition, ()).decode())

    def confirm(self, partition: int, done: Sequence[tuple[str, int]], life: str = "") -> int:
        arguments: list[Argument] = [life, *(part for pair in done for part in pair)]
        return int(self._scripts.run("confirm_effects", partition, arguments)) if done else 0

    def postpone(self, partition: int, later: Sequence[tuple[str, int, int]]) -> int:
        arguments: list[Argument] = [part for effect in later for part in effect]
        return int(self._scripts.run("postpone_effects", partition, arguments)) if later else 0

    def put_aside(self, partition: int, unreadable: Sequence[tuple[str, int, str]]) -> int:
        arguments: list[Argument] = [self._scripts.now()]
        arguments += [part for effect in unreadable for part in effect]
        if not unreadable:
            return 0
        return int(self._scripts.run("put_effects_aside", partition, arguments))

    def order(self, partition: int, effects: Sequence[tuple[str, bytes]]) -> int:
        arguments: list[Argument] = [
            self._scripts.now(),
            self._scripts.namespace.channels[partition],
        ]
        arguments += [part for effect in effects for part in effect]
        return int(self._scripts.run("order_effects", partition, arguments)) if effects else 0

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
            if text is not None and _is_whole(text)
        )


def arguments_of(effect: Effect | None) -> tuple[Argument, ...]:
    """Hand one, or none, to a script that orders it: id, document, in how many ms it is due."""
    return ("", b"", 0) if effect is None else (effect.id, effect.document, effect.due_ms)


def _is_whole(text: bytes) -> bool:
    """Whether an effect can be told from it; ``take_effects`` puts aside what is no effect."""
    stamp, _, document = text.partition(b" ")
    return number_of(stamp) is not None and document != b""


def _pending(effect: str, text: bytes) -> Pending:
    stamp, _, document = text.partition(b" ")
    return Pending(id=effect, stamp=int(stamp), document=document)
