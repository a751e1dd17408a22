"""Compiled definitions in Redis."""

from __future__ import annotations

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.model.ids import ExecutionId


class RedisPlanStore:
    """``PlanStore`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def put(
        self,
        partition: int,
        plan: str,
        blob: bytes,
        reads: dict[str, bytes],
        owner: ExecutionId | None = None,
    ) -> None:
        arguments: list[Argument] = [self._scripts.now(), plan, "blob", blob]
        if owner is not None:
            arguments += ("owner", owner)
        for ref, names in reads.items():
            arguments += (f"n:{ref}", names)
        self._scripts.run("put_plan", partition, arguments)

    def get(self, partition: int, plan: str) -> bytes | None:
        key = f"{self._scripts.prefix(partition)}plan:{plan}"
        blob: bytes | None = self._scripts.connection.command("HGET", key, "blob")
        return blob

    def count(self, partition: int) -> int:
        key = f"{self._scripts.prefix(partition)}plans"
        return int(self._scripts.connection.command("ZCARD", key))

    def collect(self, partition: int, plans: tuple[str, ...], unused_ms: int) -> int:
        arguments = (self._scripts.now(), unused_ms, *plans)
        return int(self._scripts.run("collect_plans", partition, arguments))

    def collect_unused(self, partition: int, unused_ms: int, limit: int) -> tuple[int, int]:
        arguments = (self._scripts.now(), unused_ms, limit)
        looked_at, gone = self._scripts.run("collect_unused_plans", partition, arguments)
        return int(looked_at), int(gone)
