"""Permits in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.memory.admission import admit_waiting, drop_dead
from conductor_py.adapters.memory.space import MemorySpace, Partition, Permitted
from conductor_py.ports.permits import (
    TOKEN_KEPT_MS,
    TOKEN_TRUSTED_MS,
    Adjusted,
    Holding,
    Mode,
    Shared,
    limited_thing,
)


class MemoryPermits:
    """``Permits`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

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
        with self._space.lock:
            shares, now = self._space.home_of(name).shares[name], self._space.clock()
            for report in reports:
                token, number = shares.has.get(report.partition, (0, 0))
                newer = report.token > token and (token > 0 or report.number > 0)
                if newer or (report.token == token and report.number < number):
                    shares.has[report.partition] = (report.token, report.number)
            total = sum(number for _, number in shares.has.values())
            granted = max(min(wanted, limit - total), 0)
            token, number = shares.has.get(asker, (0, 0))
            if granted:
                token = shares.newest = max(shares.newest + 1, now, token + 1)
                number += granted
                shares.has[asker] = (token, number)
                shares.seekers.pop(asker, None)
            elif seek:
                shares.seekers[asker] = now
            for partition in [at for at, (_, number) in shares.has.items() if not number]:
                del shares.has[partition]
            return Shared(
                granted=granted,
                own=Holding(partition=asker, token=token, number=number),
                others=tuple(
                    Holding(partition=partition, token=token, number=number)
                    for partition, (token, number) in sorted(shares.has.items())
                    if partition != asker
                ),
                seekers=tuple(
                    partition
                    for partition, since in sorted(shares.seekers.items())
                    if partition != asker and since > now - TOKEN_KEPT_MS
                ),
                now_ms=now,
            )

    def adjust(
        self, name: str, limit: int, wanted: Sequence[tuple[Holding, Mode]], admitted: bytes = b""
    ) -> tuple[Adjusted | None, ...]:
        return tuple(self._adjust(name, limit, holding, mode, admitted) for holding, mode in wanted)

    def _adjust(
        self, name: str, limit: int, holding: Holding, mode: Mode, admitted: bytes
    ) -> Adjusted:
        kind, what = limited_thing(name)
        with self._space.lock:
            now, partition = self._space.clock(), self._space.partition(holding.partition)
            counted = partition.permits[what] if kind == "t" else partition.admitted[what]
            if kind == "t":
                for member in counted.upto(now, len(counted)):
                    counted.drop(member)
            else:
                drop_dead(partition, what)
            has = _known(partition, name, len(counted), now)
            if holding.token > has.token:
                late = holding.token <= now - TOKEN_TRUSTED_MS
                has.token = holding.token
                has.number = min(holding.number, len(counted)) if late else holding.number
            if mode == "give":
                has.number = min(has.number, len(counted))
            elif mode == "yield":
                has.number = min(has.number, max(len(counted) - 1, 0))
            number = has.under(limit)
            if mode != "look":
                has.limit, number = limit, has.number
            if has.token > 0:
                partition.holdings[name] = has
            woken: tuple[str, ...] = ()
            if kind == "w" and mode == "keep":
                woken = admit_waiting(partition, what, admitted, now, shared=True)
            return Adjusted(
                token=has.token,
                number=number,
                used=len(counted),
                waits=kind == "w" and len(partition.waiting[what]) > 0,
                woken=woken,
            )

    def lease_rate(
        self, definition: str, rate: tuple[int, int], wanted: int, lease: str, lease_ms: int
    ) -> tuple[int, int, int]:
        with self._space.lock:
            now = self._space.clock()
            leased = self._space.home_of(definition).leased_rates[definition]
            for member in [name for name, at in leased.items() if at <= now - rate[1]]:
                del leased[member]
            granted = max(min(wanted, rate[0] - len(leased)), 0)
            for number in range(granted):
                leased[f"{lease}:{number + 1}"] = now + lease_ms
            return granted, min(leased.values(), default=-rate[1]) + rate[1], now

    def settle_rate(self, definition: str, lease: str, leased: int, used: int) -> None:
        with self._space.lock:
            claims = self._space.home_of(definition).leased_rates[definition]
            for number in range(1, leased + 1):
                member = f"{lease}:{number}"
                if number > used:
                    claims.pop(member, None)
                elif member in claims:
                    claims[member] = self._space.clock()


def _known(partition: Partition, name: str, used: int, now_ms: int) -> Permitted:
    """What a partition knows of its permits; it is to be written down again when it changes."""
    has = partition.holdings.get(name)
    return Permitted() if has is None or has.is_forgotten(used, now_ms) else has
