"""Who holds which payload, in Redis: one copy, in partition 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import shown
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.payload_holders import Held

# No holders' names.
_VERSION: Final = b"#"
_LEAVING: Final = b"!"


class RedisPayloadHolders:
    """``PayloadHolders`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._connection = scripts.connection
        self._home = scripts.prefix(0)

    def begin(self, path: str, check_ms: int) -> None:
        self._scripts.run("begin_payload", 0, (path, check_ms))

    def hold(self, holder: str, paths: Sequence[str]) -> bool:
        return not paths or bool(self._scripts.run("hold_payloads", 0, (holder, *paths)))

    def let_go(self, holder: str, now_ms: int, check_ms: int) -> int:
        return int(self._scripts.run("let_go_payloads", 0, (holder, now_ms, check_ms)))

    def due(self, now_ms: int, limit: int) -> tuple[str, ...]:
        return self._scripts.due_names("payloads:due", now_ms, limit)

    def read(self, path: str) -> Held | None:
        flat = self._connection.command("HGETALL", f"{self._home}payload:{path}")
        found = dict(zip(flat[::2], flat[1::2], strict=True))
        version, leaving = found.pop(_VERSION, None), found.pop(_LEAVING, None)
        if version is None:
            return None
        return Held(
            version=int(version),
            holders={shown(holder): int(since) for holder, since in found.items()},
            leaving=leaving is not None,
        )

    def settle(
        self,
        path: str,
        version: int,
        *,
        found: Mapping[str, int],
        forgotten: Sequence[str],
        check_ms: int,
        leaving: bool = False,
    ) -> bool:
        arguments: list[Argument] = [path, version, check_ms, int(leaving), len(found)]
        for holder, since in found.items():
            arguments += (holder, since)
        arguments += forgotten
        return bool(self._scripts.run("settle_payload", 0, arguments, again=False))

    def forget(self, paths: Sequence[str]) -> None:
        if paths:
            self._scripts.run("forget_payloads", 0, paths)
