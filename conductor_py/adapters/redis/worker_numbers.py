"""Worker numbers in Redis, in partition 0."""

from __future__ import annotations

from conductor_py.adapters.redis.names import shown
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.model.codes import CodeLayout
from conductor_py.ports.worker_numbers import Lease, not_the_layout


class RedisWorkerNumbers:
    """``WorkerNumbers`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def lease(
        self, owner: str, layout: CodeLayout, ttl_ms: int, held: Lease | None
    ) -> Lease | None:
        number, until = ("", 0) if held is None else (held.number, held.until_ms)
        arguments = (
            self._scripts.now(),
            owner,
            f"{layout} {layout.epoch_ms}",
            layout.workers,
            ttl_ms,
            number,
            until,
        )
        outcome, *found = self._scripts.run("lease_number", 0, arguments)
        if outcome == b"LAYOUT":
            raise not_the_layout(layout, shown(found[0].partition(b" ")[0]))
        if outcome == b"TAKEN":
            return None
        leased, from_ms, until_ms, now_ms = map(int, found)
        return Lease(number=leased, from_ms=from_ms, until_ms=until_ms, now_ms=now_ms)
