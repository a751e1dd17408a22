"""Signs of life in Redis, in partition 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import number_of, pairs_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.presence import Sign

_MOST: Final = 10_000
_AT_ONCE: Final = 200
"""Signs of one script: it takes about a millisecond."""


class RedisPresence:
    """``Presence`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def put(self, signs: Mapping[str, bytes], lease_ms: int) -> None:
        pairs = list(signs.items())
        for at in range(0, len(pairs), _AT_ONCE):
            arguments: list[Argument] = [self._scripts.now(), lease_ms, _MOST]
            for pair in pairs[at : at + _AT_ONCE]:
                arguments += pair
            self._scripts.run("put_signs", 0, arguments)

    def present(self) -> tuple[Sign, ...]:
        now = self._scripts.now_ms()
        key = f"{self._scripts.prefix(0)}signs"
        found = _signs(self._scripts.connection.command("HGETALL", key))
        return tuple(
            sorted((sign for sign in found if sign.until_ms > now), key=lambda sign: sign.key)
        )


def _signs(flat: list[bytes]) -> Iterator[Sign]:
    for key, text in pairs_of(flat):
        first, _, rest = text.partition(b" ")
        second, _, document = rest.partition(b" ")
        said, until = number_of(first), number_of(second)
        if said is not None and until is not None:  # else it ends by itself
            yield Sign(key=key, document=document, at_ms=said, until_ms=until)
