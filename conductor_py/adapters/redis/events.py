"""Event handlers and their records in Redis, in partition 0."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import name_of, number_of, pairs_of
from conductor_py.adapters.redis.scripts import Scripts


class RedisEventStore:
    """``EventStore`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._connection = scripts.connection
        self._home = scripts.prefix(0)

    def put_handler(self, name: str, event: str, document: bytes, *, create: bool) -> bool:
        mode = "create" if create else "update"
        arguments = (name, mode, event, document)
        return bool(self._scripts.run("change_handler", 0, arguments, again=False))

    def delete_handler(self, name: str) -> bool:
        return bool(self._scripts.run("change_handler", 0, (name, "delete"), again=False))

    def handlers(self, event: str | None) -> dict[str, bytes]:
        key = f"{self._home}meta:handlers"
        if event is None:
            flat = self._connection.command("HGETALL", key)
            names, texts = flat[::2], flat[1::2]
        else:
            names = self._connection.command("SMEMBERS", f"{self._home}meta:handled:{event}")
            texts = self._connection.command("HMGET", key, *names) if names else []
        found = {
            known: text.partition(b"\n")
            for name, text in zip(names, texts, strict=True)
            if text is not None and (known := name_of(name)) is not None
        }
        return {
            name: document
            for name, (of, _, document) in sorted(found.items())
            # One that moved to another event between the two reads is not among those asked for.
            if event is None or event.encode() == of
        }

    def settled(self, actions: Sequence[str]) -> dict[str, str]:
        if not actions:
            return {}
        keys = [f"{self._home}event:target:{action}" for action in actions]
        values = self._connection.command("MGET", *keys)
        found = zip(actions, values, strict=True)
        return {action: value.decode() for action, value in found if value is not None}

    def settle(self, action: str, target: str, life_ms: int) -> str:
        settled: bytes = self._scripts.run("settle_target", 0, (action, target, life_ms))
        return settled.decode()

    def hold(self, event: str, message: bytes, limit: int, life_ms: int) -> int:
        arguments = (self._scripts.now(), event, message, limit, life_ms)
        return int(self._scripts.run("hold_message", 0, arguments))

    def held(self, event: str, limit: int) -> tuple[bytes, ...]:
        key = f"{self._home}event:held:{event}"
        return tuple(self._connection.command("ZRANGE", key, 0, limit - 1))

    def drop_held(self, event: str, messages: Sequence[bytes]) -> None:
        if messages:
            self._connection.command("ZREM", f"{self._home}event:held:{event}", *messages)

    def record(self, records: Sequence[tuple[str, bytes]], limit: int) -> None:
        arguments: list[Argument] = [limit]
        for outcome, document in records:
            arguments += (outcome, document)
        if records:
            self._scripts.run("record_actions", 0, arguments, again=False)

    def records(self, limit: int) -> tuple[bytes, ...]:
        key = f"{self._home}event:records"
        return tuple(self._connection.command("LRANGE", key, 0, limit - 1))

    def counts(self) -> dict[str, int]:
        flat = self._connection.command("HGETALL", f"{self._home}event:counts")
        numbers = ((outcome, number_of(text)) for outcome, text in pairs_of(flat))
        return {outcome: number for outcome, number in numbers if number is not None}
