"""Schedules in Redis: in partition 0, so that a claim sees all of them in one step."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import names_of, number_of, pairs_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.schedules import ScheduleSettlement, StoredSchedule

_READ_AT_ONCE = 200


class RedisScheduleStore:
    """``ScheduleStore`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._connection = scripts.connection
        self._home = scripts.prefix(0)

    def put(
        self, name: str, document: bytes, *, version: int, next_ms: int, armed: bool
    ) -> int | None:
        arguments: tuple[Argument, ...] = (
            *(self._scripts.now(), name, document, version, next_ms, int(armed)),
        )
        return int(self._scripts.run("put_schedule", 0, arguments, again=False)) or None

    def read(self, names: Sequence[str] | None) -> tuple[StoredSchedule, ...]:
        key = f"{self._home}schedules"
        if names is None:
            found = pairs_of(self._connection.command("HGETALL", key))
            return tuple(_stored(name, text) for name, text in sorted(found) if _is_whole(text))
        if not names:
            return ()
        texts = self._connection.command("HMGET", key, *names)
        asked = zip(names, texts, strict=True)
        return tuple(_stored(name, text) for name, text in asked if text and _is_whole(text))

    def delete(self, name: str) -> bool:
        return bool(self._scripts.run("delete_schedule", 0, (name,), again=False))

    def claim_due(self, limit: int, lease_ms: int) -> tuple[int, tuple[StoredSchedule, ...], int]:
        arguments = (self._scripts.now(), limit, lease_ms)
        now, next_ms, *flat = self._scripts.run("claim_schedules", 0, arguments, again=False)
        claimed = (_stored(name, text) for name, text in pairs_of(flat))
        return int(now), tuple(claimed), int(next_ms)

    def settle(self, settlement: ScheduleSettlement) -> bool:
        arguments: tuple[Argument, ...] = (
            self._scripts.now(),
            settlement.name,
            settlement.generation,
            settlement.fired_ms,
            settlement.next_ms,
            settlement.record_id,
            settlement.record_ms,
            settlement.record,
            settlement.keep,
            settlement.trim_above,
            settlement.started,
            *settlement.ended,
        )
        return bool(self._scripts.run("settle_schedule", 0, arguments))

    def started(self, name: str) -> tuple[str, ...]:
        key = f"{self._home}schedules:started:{name}"
        return tuple(names_of(self._connection.command("ZRANGE", key, 0, -1, "REV")))

    def records(self, names: Sequence[str], limit: int) -> tuple[tuple[bytes, ...], ...]:
        found: list[tuple[bytes, ...]] = []
        for first in range(0, len(names), _READ_AT_ONCE):
            replies = self._connection.pipeline(
                [
                    ("ZRANGE", f"{self._home}schedules:runs:{name}", 0, limit - 1, "REV")
                    for name in names[first : first + _READ_AT_ONCE]
                ]
            )
            found += [tuple(member.partition(b" ")[2] for member in reply) for reply in replies]
        return tuple(found)

    def halt(self, *, halted: bool) -> None:
        if halted:
            self._scripts.write(0, "SET", "schedules:halted", 1)
        else:
            self._connection.command("DEL", f"{self._home}schedules:halted")

    def requeue(self, name: str) -> bool:
        return bool(self._scripts.run("requeue_schedule", 0, (name,)))


def _is_whole(text: bytes) -> bool:
    """Tell whether it has the form of a stored schedule; what has not is quarantined when due."""
    numbers = text.split(b" ", 5)[:5]
    return len(numbers) == 5 and None not in map(number_of, numbers)


def _stored(name: str, text: bytes) -> StoredSchedule:
    version, generation, next_ms, armed, tries, document = text.split(b" ", 5)
    return StoredSchedule(
        name=name,
        document=document,
        version=int(version),
        generation=int(generation),
        next_ms=int(next_ms),
        armed=armed == b"1",
        tries=int(tries),
    )
