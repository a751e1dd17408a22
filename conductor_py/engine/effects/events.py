"""Event handlers: kept, listed; and what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import orjson

from conductor_py.codec.event_handlers import dump_handler, load_handler
from conductor_py.engine.definitions.readable import enumerated, readable
from conductor_py.engine.definitions.unregistered import IsRegistered, unregistered_of_handler
from conductor_py.engine.payloads.holding import PayloadHolding, effect_holder
from conductor_py.errors import Conflict, InvalidInput, NotFound, Violation
from conductor_py.model.event_handlers import CONDUCTOR, EventHandler, provider_of
from conductor_py.model.json import JsonObject
from conductor_py.ports.events import EventStore
from conductor_py.ports.outbox import Outbox
from conductor_py.ports.scripts import Scripts

HELD_LIMIT: Final = 1_000
HELD_MS: Final = 7 * 24 * 3_600_000
"""What is kept of an event that nobody handles."""

RECORDS_KEPT: Final = 1_000
_HOME: Final = 0

_T = TypeVar("_T")


class Events:
    """The verbs of event handlers. A change takes effect at once."""

    def __init__(
        self,
        store: EventStore,
        outbox: Outbox,
        scripts: Scripts,
        holding: PayloadHolding,
        *,
        is_registered: IsRegistered,
    ) -> None:
        """Work over these collaborators; ``is_registered`` tells of workflows."""
        self._is_registered = is_registered
        self._store = store
        self._outbox = outbox
        self._scripts = scripts
        self._holding = holding

    def register(self, handler: EventHandler) -> None:
        """Store a new handler (``Conflict``, ``InvalidInput`` for a script that does not parse)."""
        self._check(handler)
        document = dump_handler(handler)
        if not self._store.put_handler(handler.name, handler.event, document, create=True):
            raise Conflict(f"EventHandler with name {handler.name} already exists!")
        self._release(handler)

    def validate(self, handler: EventHandler) -> tuple[Violation, ...]:
        """Check as ``register`` does, and list what will come to nothing."""
        self._check(handler)
        return (*_of_others(handler), *unregistered_of_handler(handler, self._is_registered))

    def update(self, handler: EventHandler) -> None:
        """Replace a handler (``NotFound``, ``InvalidInput``)."""
        self._check(handler)
        document = dump_handler(handler)
        if not self._store.put_handler(handler.name, handler.event, document, create=False):
            raise _unknown(handler.name)
        self._release(handler)

    def delete(self, name: str) -> None:
        """Forget a handler (``NotFound``)."""
        if not self._store.delete_handler(name):
            raise _unknown(name)

    def handlers(
        self,
        told: Callable[[JsonObject], _T],
        event: str | None = None,
        *,
        active_only: bool = False,
    ) -> list[_T]:
        """List what is ``told`` of the handlers, of one event or all, by name: one is read after
        the other.
        """
        stored = self._store.handlers(event).items()
        found = readable("event handler", stored, _shown)
        return [told(one) for one in found if one["active"] or not active_only]

    def executions(self, *, event: str, name: str, size: int) -> list[JsonObject]:
        """List what handlers did last, newest first; ``event`` and ``name`` empty: of all."""
        stored = self._store.records(RECORDS_KEPT)
        found = readable("event execution", enumerated(stored), _record)
        wanted: Callable[[JsonObject], bool] = lambda one: (  # noqa: E731
            (not event or one["event"] == event) and (not name or one["name"] == name)
        )
        return [one for one in found if wanted(one)][:size]

    def counts(self) -> dict[str, int]:
        """Count what handlers and notifications came to, by outcome."""
        return self._store.counts()

    def _check(self, handler: EventHandler) -> None:
        condition = handler.condition
        if not condition or not condition.strip() or handler.evaluator_type == "value-param":
            return
        wrong = self._scripts.check(condition)
        if wrong is not None:
            raise InvalidInput(violations=(Violation(path="$.condition", message=wrong),))

    def _release(self, handler: EventHandler) -> None:
        """Let messages that nobody handled so far go to this handler.

        They are ordered before they are dropped: cut short in between they are the same effects
        twice, which are one.
        """
        while handler.active and (held := self._store.held(handler.event, 100)):
            self._order(held)
            self._store.drop_held(handler.event, held)

    def _order(self, held: tuple[bytes, ...]) -> None:
        """Order the publication of held messages anew, each with what it has apart."""
        effects: list[tuple[str, bytes]] = []
        for text, message in readable("held message", enumerated(held), _with_message):
            effect = f"held:{message['message']}"
            if "path" in message:
                self._holding.hold(effect_holder(_HOME, effect), [str(message["path"])])
            effects.append((effect, text))
        self._outbox.order(_HOME, effects)


def stored_handlers(store: EventStore, event: str) -> Iterator[EventHandler]:
    """Read the active handlers of an event, one after the other."""
    found = readable("event handler", store.handlers(event).items(), load_handler)
    return (handler for handler in found if handler.active)


def _of_others(handler: EventHandler) -> Iterator[Violation]:
    """An event whose messages go elsewhere: to a topic, say."""
    provider = provider_of(handler.event)
    if provider != CONDUCTOR:
        message = (
            f"is of {provider!r}, and a handler gets messages of {CONDUCTOR!r} only: write"
            f" {CONDUCTOR}:<workflow>:<queue>, as its EVENT task publishes it"
        )
        yield Violation(path="$.event", message=message, invalid_value=handler.event)


def _with_message(text: bytes) -> tuple[bytes, JsonObject]:
    message: JsonObject = orjson.loads(text)
    str(message["message"])
    return text, message


def _shown(stored: bytes) -> JsonObject:
    load_handler(stored)
    document: JsonObject = orjson.loads(stored)
    return document


def _record(stored: bytes) -> JsonObject:
    document: JsonObject = orjson.loads(stored)
    str(document["event"]), str(document["name"])
    return document


def _unknown(name: str) -> NotFound:
    return NotFound(f"EventHandler with name {name} not found!")
