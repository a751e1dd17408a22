"""Payloads are held by what needs them, so that they leave with the last of it.

A holder is written down before the commit that names the payload: a server that dies in between
leaves a holder too many, which a look finds out, and never one too few.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

from conductor_py.engine.clock import StoreClock
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.payload_holders import PayloadHolders
from conductor_py.ports.payloads import (
    MOST_BYTES,
    Accepted,
    Location,
    PayloadKind,
    Payloads,
    is_path,
    paths_in,
)

EFFECT: Final = "effect"
HELD: Final = "held"
SCHEDULE: Final = "schedule"
GRACE_MS: Final = 24 * 3_600_000


def effect_holder(partition: int, effect: str) -> str:
    """Name an effect that carries a payload of its own."""
    return f"{EFFECT} {partition} {effect}"


def held_holder(event: str) -> str:
    """Name the messages of an event that are kept for a handler that comes."""
    return f"{HELD} {event}"


def schedule_holder(name: str) -> str:
    """Name a schedule whose executions start with a payload."""
    return f"{SCHEDULE} {name}"


class PayloadHolding:
    """Writes down who holds what."""

    def __init__(
        self,
        holders: PayloadHolders,
        clock: StoreClock,
        *,
        grace_ms: int = GRACE_MS,
        collects: bool = True,
    ) -> None:
        """``grace_ms``: how long what nobody needs stays. A process that does not collect ends the
        record of what it would hold: nobody may remove what is not known to be needed.
        """
        self._holders = holders
        self._clock = clock
        self._grace_ms = grace_ms
        self._collects = collects

    def begin(self, path: str) -> None:
        """Begin the record of what was stored, or may be sent."""
        if self._collects:
            self._holders.begin(path, self._clock.now_ms() + self._grace_ms)

    def hold(self, holder: str, paths: Iterable[str]) -> None:
        """Let a holder have payloads; what is no path of a payload is left out.
        ``StoreUnavailable`` when one is being removed just now, because nobody has needed it.
        """
        found = tuple(path for path in paths if is_path(path))
        if not found:
            return
        if not self._collects:
            self._holders.forget(found)
        elif not self._holders.hold(holder, found):
            raise StoreUnavailable(
                "A payload that nothing has needed for long is just being removed; try again."
            )

    def hold_stored(self, execution: str, documents: Iterable[bytes]) -> None:
        """Let an execution have the payloads that its stored documents name, as what they stand for
        or in their text: a task may hand a path on.
        """
        paths = set(chain.from_iterable(map(paths_in, documents)))
        if paths:
            self.hold(execution, sorted(paths))

    def let_go(self, holder: str) -> None:
        """Note that a holder is gone for good."""
        now_ms = self._clock.now_ms()
        self._holders.let_go(holder, now_ms, now_ms + self._grace_ms)

    def forget(self, path: str) -> None:
        """Note that a payload is gone, whoever had it."""
        self._holders.forget([path])


class NotedPayloads:
    """``Payloads`` that are written down from when they are stored, or may be sent, until they are
    deleted.
    """

    def __init__(self, payloads: Payloads, holding: PayloadHolding) -> None:
        """Wrap a storage."""
        self._payloads = payloads
        self._holding = holding

    def write_location(self, kind: PayloadKind, requested_path: str | None = None) -> Location:
        location = self._payloads.write_location(kind, requested_path)
        self._holding.begin(location.path)
        return location

    def put(self, kind: PayloadKind, document: bytes) -> str:
        path = self._payloads.put(kind, document)
        self._holding.begin(path)
        return path

    def read_location(self, path: str) -> Location:
        return self._payloads.read_location(path)

    def accept(self, path: str, most: int, what: str) -> Accepted:
        accepted = self._payloads.accept(path, most, what)
        if accepted.path != path:
            self._holding.begin(accepted.path)
        return accepted

    def get(self, path: str, *, most: int = MOST_BYTES) -> bytes:
        return self._payloads.get(path, most=most)

    def size(self, path: str) -> int:
        return self._payloads.size(path)

    def delete(self, path: str) -> None:
        self._payloads.delete(path)
        self._holding.forget(path)
