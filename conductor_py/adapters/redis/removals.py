"""What was removed, in Redis: when, in partition 0; and the server's own file of commands."""

from __future__ import annotations

from typing import Final

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.erasure import Removals

_KEY: Final = "erasure"
_LONGEST: Final = 15
"""Digits of an instant; what is longer is none."""


class RedisRemovalRecord:
    """``RemovalRecord`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def read(self) -> Removals:
        key = f"{self._scripts.prefix(0)}{_KEY}"
        removed, erased = self._scripts.connection.command("HMGET", key, "removed", "erased")
        return Removals(removed_ms=_instant(removed), erased_ms=_instant(erased))

    def removed(self, at_ms: int) -> None:
        self._scripts.write(0, "HSET", _KEY, "removed", at_ms)

    def erased(self, as_of_ms: int) -> None:
        self._scripts.write(0, "HSET", _KEY, "erased", as_of_ms)


class RedisHistory:
    """``Eraser`` of one server: its append-only file begins anew with what there is, and the
    arguments of slow commands are dropped.
    """

    def __init__(self, connection: Connection) -> None:
        """Work over the connection of the engine."""
        self._connection = connection
        self._asked = b""

    def erase(self) -> bool:
        facts = self._facts()
        if facts[b"aof_enabled"] == b"0":
            return self._done()
        if b"1" in {facts[b"aof_rewrite_in_progress"], facts[b"aof_rewrite_scheduled"]}:
            # One that somebody else has begun may be from before the removal.
            return False
        # A server that was started again meanwhile has not finished what it was asked for.
        if self._asked != facts[b"run_id"]:
            self._connection.command("BGREWRITEAOF")
            self._asked = facts[b"run_id"]
            return False
        if facts[b"aof_last_bgrewrite_status"] != b"ok":
            self._asked = b""
            raise StoreUnavailable("Redis could not rewrite its append-only file; see its log.")
        return self._done()

    def _done(self) -> bool:
        self._connection.command("SLOWLOG", "RESET")
        self._asked = b""
        return True

    def _facts(self) -> dict[bytes, bytes]:
        lines: list[bytes] = []
        for section in ("server", "persistence"):
            lines += self._connection.command("INFO", section).splitlines()
        return {name: value for name, _, value in (line.partition(b":") for line in lines)}


def _instant(value: bytes | None) -> int:
    if value is None or not value.isdigit() or len(value) > _LONGEST:
        return 0
    return int(value)
