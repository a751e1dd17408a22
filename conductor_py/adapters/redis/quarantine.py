"""Setbacks and quarantine in Redis: the counting is one script, so is the way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from conductor_py.adapters.redis.changes import OUTCOMES, loaded_of
from conductor_py.adapters.redis.connection import Argument, Reply
from conductor_py.adapters.redis.names import number_of, score_of, shown
from conductor_py.adapters.redis.outbox import arguments_of
from conductor_py.adapters.redis.record import DAMAGED, record_of, setback_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.inspector import QUARANTINE, Setback
from conductor_py.ports.quarantine import (
    QuarantineBounds,
    Quarantined,
    QuarantinePage,
    QuarantinePlace,
)
from conductor_py.ports.store import Effect, Loaded, Outcome

_DEFAULT: Final = QuarantineBounds()
_Row: TypeAlias = tuple[int, bytes, int]
"""A member of the sets of all partitions: its score, its name, its partition."""
_UNCOUNTED: Final = "how often it failed, and why, cannot be read"


class RedisQuarantine:
    """``QuarantineStore`` on Redis; the flag means what it means in ``RedisExecutionStore``."""

    def __init__(
        self, scripts: Scripts, bounds: QuarantineBounds = _DEFAULT, *, take_lease: bool = True
    ) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._bounds = bounds
        self._take = int(take_lease)

    def set_back(
        self, execution: ExecutionId, holder: str, version: int, reason: str
    ) -> tuple[Outcome, bool]:
        arguments = (
            self._scripts.now(),
            execution,
            holder,
            version,
            reason,
            self._bounds.tries,
            self._bounds.wait_ms,
        )
        outcome, kept = self._scripts.run("set_back_decision", partition_of(execution), arguments)
        return OUTCOMES[outcome], bool(kept)

    def get(self, execution: ExecutionId) -> Quarantined | None:
        return _quarantined(execution, self._read(execution))

    def setbacks(self, execution: ExecutionId) -> int:
        setback = _setback(self._read(execution))
        return 0 if setback is None else setback.tries

    def _read(self, execution: ExecutionId) -> list[bytes | None]:
        key = f"{self._scripts.prefix(partition_of(execution))}exec:{execution}"
        found: list[bytes | None] = self._scripts.connection.command("HMGET", key, "v", "l", "q")
        return found

    def listed(self, start: int, limit: int) -> tuple[tuple[Quarantined, ...], int]:
        namespace, pipeline = self._scripts.namespace, self._scripts.connection.pipeline
        most = start + limit
        commands: list[tuple[str | int, ...]] = []
        for prefix in namespace.prefixes:
            commands.append(("ZCARD", f"{prefix}quarantine"))
            commands.append(("ZRANGE", f"{prefix}quarantine", 0, max(most - 1, 0), "WITHSCORES"))
        replies = pipeline(commands)
        rows = sorted(
            (score_of(flat[at + 1]), flat[at], number)
            for number, flat in enumerate(replies[1::2])
            for at in range(0, len(flat), 2)
        )[start:most]
        known = self._known(rows)
        return known, sum(replies[::2]) - (len(rows) - len(known))

    def _known(self, rows: Sequence[_Row]) -> tuple[Quarantined, ...]:
        """Read those of these members; what is in quarantine no more leaves the set."""
        if not rows:
            return ()
        prefixes = self._scripts.namespace.prefixes
        states = self._scripts.connection.each(
            [
                ("HMGET", f"{prefixes[number]}exec:".encode() + name, "v", "l", "q")
                for _, name, number in rows
            ]
        )
        for state in states:
            if isinstance(state, StoreUnavailable):
                raise state
        found = [
            _quarantined(ExecutionId(shown(name)), state)
            for (_, name, _), state in zip(rows, states, strict=True)
        ]
        over = [row for row, one in zip(rows, found, strict=True) if one is None]
        if over:  # taken up by somebody else when its wait was over
            self._scripts.connection.pipeline(
                [("ZREM", f"{prefixes[number]}quarantine", name) for _, name, number in over]
            )
        return tuple(one for one in found if one is not None)

    def walk(self, start: QuarantinePlace | None, limit: int) -> QuarantinePage:
        while True:
            rows, left = self._from(start, limit + 1)
            if len(self._known(rows)) == len(rows):
                break
        places = tuple(
            QuarantinePlace(since_ms=since, execution=ExecutionId(shown(name)))
            for since, name, _ in rows
        )
        following = places[limit] if len(places) > limit else None
        return QuarantinePage(found=places[:limit], following=following, left=left)

    def _from(self, start: QuarantinePlace | None, most: int) -> tuple[list[_Row], int]:
        """The members from a place on, and how many they are."""
        first = 0 if start is None else partition_of(start.execution)
        keys = [f"{prefix}quarantine" for prefix in self._scripts.namespace.prefixes[first:]]
        sizes = self._scripts.connection.pipeline([("ZCARD", key) for key in keys])
        begins = passed = 0 if start is None else self._rank(keys[0], start)
        rows: list[_Row] = []
        for number, (key, size) in enumerate(zip(keys, sizes, strict=True), first):
            if size and len(rows) < most:
                ends = begins + most - len(rows) - 1
                flat = self._scripts.connection.command("ZRANGE", key, begins, ends, "WITHSCORES")
                rows += [
                    (score_of(score), name, number)
                    for name, score in zip(flat[::2], flat[1::2], strict=True)
                ]
            begins = 0
        return rows, sum(sizes) - passed

    def _rank(self, key: str, place: QuarantinePlace) -> int:
        """How many stand before a place."""
        rank, score, before = self._scripts.connection.pipeline(
            [
                ("ZRANK", key, place.execution),
                ("ZSCORE", key, place.execution),
                ("ZCOUNT", key, "-inf", f"({place.since_ms}"),
            ]
        )
        stays = rank is not None and score_of(score) == place.since_ms
        return int(rank if stays else before)

    def take(self, execution: ExecutionId, holder: str, lease_ms: int) -> Loaded | None:
        arguments = (self._scripts.now(), execution, holder, lease_ms, self._take)
        return loaded_of(self._scripts.run("leave_quarantine", partition_of(execution), arguments))

    def header(self, execution: ExecutionId) -> bytes:
        key = f"{self._scripts.prefix(partition_of(execution))}exec:{execution}"
        return self._scripts.connection.command("HGET", key, "h") or b""

    def drop_unreadable(
        self,
        execution: ExecutionId,
        header: bytes,
        *,
        is_readable: bool = False,
        workflow: str = "",
        admitted: bytes = b"",
        post: Effect | None = None,
    ) -> bool:
        partition = partition_of(execution)
        channel = self._scripts.namespace.channels[partition]
        arguments: list[Argument] = [self._scripts.now(), channel, execution, int(is_readable)]
        arguments += [workflow, f"{execution}:forget", admitted, header, *arguments_of(post)]
        return bool(self._scripts.run("drop_unreadable", partition, arguments))


def _setback(state: list[bytes | None]) -> Setback | None:
    stored, _, counted = state
    record = record_of(stored) if stored is not None else None
    return None if record is None else setback_of(counted, record.version)


def _quarantined(execution: ExecutionId, state: Reply) -> Quarantined | None:
    if not isinstance(state, list):  # its key is of another type
        return None
    stored, lease, _ = state
    until, _, holder = shown(lease or b"").partition(" ")
    if stored is None or holder != QUARANTINE:
        return None
    setback, readable = _setback(state), record_of(stored) is not None
    return Quarantined(
        execution=execution,
        since_ms=setback.since_ms if setback else 0,
        tries=setback.tries if setback else 0,
        reason=setback.reason if setback else _UNCOUNTED if readable else DAMAGED,
        again_ms=number_of(until.encode()) or 0,
    )
