"""Touched attempts in Redis."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import NotFound
from conductor_py.model.ids import split_task_id, task_id
from conductor_py.ports.touched import Touch


class RedisTouchedTasks:
    """``TouchedTasks`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def look(self, partition: int, limit: int) -> tuple[Touch, ...]:
        flat = self._scripts.run("look_for_touched", partition, (self._scripts.now(), limit))
        found: list[Touch] = []
        for at in range(0, len(flat), 2):
            try:
                found.append(_touch(flat[at], flat[at + 1]))
            except (NotFound, ValueError):  # names no task: nothing is told of it
                key = f"{self._scripts.prefix(partition)}touched"
                self._scripts.connection.command("ZREM", key, flat[at])
        return tuple(found)

    def drop(self, partition: int, touches: Sequence[Touch]) -> None:
        arguments: list[Argument] = []
        for touch in touches:
            arguments += (task_id(touch.execution, touch.seq), touch.at_ms)
        if arguments:
            self._scripts.run("drop_touched", partition, arguments)

    def size(self, partition: int) -> int:
        prefix = self._scripts.prefix(partition)
        return int(self._scripts.connection.command("ZCARD", f"{prefix}touched"))


def _touch(member: bytes, at_ms: bytes) -> Touch:
    execution, seq = split_task_id(member.decode())
    return Touch(execution=execution, seq=seq, at_ms=int(float(at_ms)))
