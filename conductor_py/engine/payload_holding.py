"""Payloads are held by what needs them, so that they leave with the last of it.

A holder is written down before the commit that names the payload: a server that dies in between
leaves a record too many, which a look finds out, and never one too few.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from conductor_py.engine.clock import StoreClock
from conductor_py.model.ids import is_execution_id
from conductor_py.ports.payload_holders import PayloadHolders
from conductor_py.ports.payloads import Location, PayloadKind, Payloads, is_path

NOBODY: Final = ""
"""Holds what was stored, or may be sent, and is not needed yet."""
EFFECT: Final = "effect"
SCHEDULE: Final = "schedule"
GRACE_MS: Final = 24 * 3_600_000


def effect_holder(partition: int, effect: str) -> str:
    """Name an effect that carries a payload of its own."""
    return f"{EFFECT} {partition} {effect}"


def schedule_holder(name: str) -> str:
    """Name a schedule whose executions start with a payload."""
    return f"{SCHEDULE} {name}"


class PayloadHolding:
    """Writes down who holds what; nothing where payloads are not collected."""

    def __init__(
        self, holders: PayloadHolders | None, clock: StoreClock, *, grace_ms: int = GRACE_MS
    ) -> None:
        """``grace_ms``: how long what nobody needs stays; ``None``: it is not collected."""
        self._holders = holders
        self._clock = clock
        self._grace_ms = grace_ms

    def hold(self, holder: str, paths: Iterable[str]) -> None:
        """Let a holder have payloads; what is no path of a payload is left out."""
        found = tuple(path for path in paths if is_path(path))
        if found and self._holders is not None:
            self._holders.hold(holder, found, self._clock.now_ms() + self._grace_ms)

    def hold_stored(self, execution: str, documents: Iterable[bytes]) -> None:
        """Let an execution have the payloads that its stored documents name. What is no id of one,
        as a result may name it, has none.
        """
        paths = [stored[1:].decode() for stored in documents if stored[:1] == b"@"]
        if paths and is_execution_id(execution):
            self.hold(execution, paths)

    def forget(self, path: str) -> None:
        """Note that a payload is gone, whoever had it."""
        held = self._holders.read(path) if self._holders is not None else None
        if held is not None and self._holders is not None:
            self._holders.drop(path, held.version)

    def let_go(self, holder: str) -> None:
        """Note that a holder is gone for good."""
        if self._holders is not None:
            now_ms = self._clock.now_ms()
            self._holders.let_go(holder, now_ms, now_ms + self._grace_ms)


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
        self._holding.hold(NOBODY, [location.path])
        return location

    def put(self, kind: PayloadKind, document: bytes) -> str:
        path = self._payloads.put(kind, document)
        self._holding.hold(NOBODY, [path])
        return path

    def read_location(self, path: str) -> Location:
        return self._payloads.read_location(path)

    def get(self, path: str) -> bytes:
        return self._payloads.get(path)

    def size(self, path: str) -> int:
        return self._payloads.size(path)

    def delete(self, path: str) -> None:
        self._payloads.delete(path)
        self._holding.forget(path)
