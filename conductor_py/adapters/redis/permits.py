"""Permits in Redis: a hash at a limit's home, and one number in each partition that has some."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.redis.connection import Argument, Reply
from conductor_py.adapters.redis.names import names_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreFailure
from conductor_py.ports.permits import Adjusted, Holding, Mode, Shared, limited_thing


class RedisPermits:
    """``Permits`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def share(
        self,
        name: str,
        limit: int,
        asker: int,
        wanted: int,
        reports: Sequence[Holding] = (),
        *,
        seek: bool = False,
    ) -> Shared:
        arguments: list[Argument] = [self._scripts.now(), name, limit, asker, wanted, int(seek)]
        for report in reports:
            arguments += (report.partition, report.token, report.number)
        home = self._scripts.namespace.home_of(name)
        reply = self._scripts.run("share_permits", home, arguments)
        granted, token, number, others, seekers, now = reply
        return Shared(
            granted=granted,
            own=Holding(partition=asker, token=token, number=number),
            others=tuple(
                Holding(partition=others[at], token=others[at + 1], number=others[at + 2])
                for at in range(0, len(others), 3)
            ),
            seekers=tuple(seekers),
            now_ms=now,
        )

    def adjust(
        self, name: str, limit: int, wanted: Sequence[tuple[Holding, Mode]], admitted: bytes = b""
    ) -> tuple[Adjusted | None, ...]:
        now, (kind, what) = self._scripts.now(), limited_thing(name)
        calls = [
            (
                holding.partition,
                (now, kind, what, limit, holding.token, holding.number, mode, admitted),
            )
            for holding, mode in wanted
        ]
        return tuple(map(_adjusted, self._scripts.run_in("adjust_permits", calls)))

    def lease_rate(
        self, definition: str, rate: tuple[int, int], wanted: int, lease: str, lease_ms: int
    ) -> tuple[int, int, int]:
        arguments = (self._scripts.now(), definition, *rate, wanted, lease, lease_ms)
        home = self._scripts.namespace.home_of(definition)
        now, granted, more = self._scripts.run("lease_rate", home, arguments)
        return granted, more, now

    def settle_rate(self, definition: str, lease: str, leased: int, used: int) -> None:
        arguments = (self._scripts.now(), definition, lease, leased, used)
        self._scripts.run("settle_rate", self._scripts.namespace.home_of(definition), arguments)


def _adjusted(reply: Reply) -> Adjusted | None:
    if isinstance(reply, StoreFailure):
        return None
    token, number, used, waits, woken = reply
    return Adjusted(
        token=token,
        number=number,
        used=used,
        waits=bool(waits),
        woken=tuple(names_of(woken)),
    )
