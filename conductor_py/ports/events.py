"""Event handlers and what they did; and where messages go that are not for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from conductor_py.model.event_handlers import EventMessage


class Undelivered(Exception):
    """What was to be sent did not arrive; it is tried again later."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        """Say with ``refused`` that the receiver is there and would not have it."""
        self.message = message
        self.refused = refused
        super().__init__(message)


class EventStore(Protocol):
    """Handlers (opaque bytes) by name and by event, and the records of what they did; one store for
    all partitions. Every method raises ``StoreUnavailable`` when it is away.
    """

    def put_handler(self, name: str, event: str, document: bytes, *, create: bool) -> bool:
        """Store a handler: with ``create`` only a new one, else only one that exists; false when it
        is not so. It is found by its new event at once, and by its old one no more.
        """

    def delete_handler(self, name: str) -> bool:
        """Forget a handler; false when there is none."""

    def handlers(self, event: str | None) -> dict[str, bytes]:
        """Read the handlers of an event, or all, by name."""

    def settled(self, actions: Sequence[str]) -> dict[str, str]:
        """Read what was written down about these actions; those without anything are left out."""

    def settle(self, action: str, target: str, life_ms: int) -> str:
        """Write down which target an action is about; the first word counts, and is returned. It is
        forgotten after ``life_ms``.
        """

    def hold(self, event: str, message: bytes, limit: int, life_ms: int) -> int:
        """Keep a message of an event that nobody handles yet; the same bytes are kept once.

        At most ``limit`` of an event are kept, the oldest go; all of them go when none came for
        ``life_ms``. Returns how many went.
        """

    def held(self, event: str, limit: int) -> tuple[bytes, ...]:
        """Read the messages that are kept of an event, oldest first."""

    def drop_held(self, event: str, messages: Sequence[bytes]) -> None:
        """Forget kept messages that were handed on."""

    def record(self, records: Sequence[tuple[str, bytes]], limit: int) -> None:
        """Append records, each with the outcome that it is counted under; the newest ``limit`` are
        kept. One without bytes is counted only.
        """

    def records(self, limit: int) -> tuple[bytes, ...]:
        """Read the newest records, newest first."""

    def counts(self) -> dict[str, int]:
        """Count everything that was ever recorded, by outcome."""


class Sink(Protocol):
    """A provider of events other than Conductor itself: a broker."""

    def publish(self, messages: Sequence[EventMessage]) -> None:
        """Send messages, in order, durably when this returns; the event of each begins with the
        provider's name. Raises ``Undelivered``: some of them may have arrived.
        """


class Webhook(Protocol):
    """Where status changes are posted to."""

    def post(self, url: str, body: bytes, identity: str) -> None:
        """Post a JSON document; ``identity`` lets the receiver know a repeat. Raises
        ``Undelivered`` for anything but a 2xx answer.
        """
