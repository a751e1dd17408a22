"""Messages on their way out of the outbox: to event handlers, or to a broker.

At least once. Messages that nobody handles are kept for the handler that comes. A handler that
cannot be carried out costs itself: it is recorded as failed, and the others go on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum, auto
from itertools import chain
from operator import itemgetter
from typing import Any

import orjson

from conductor_py.codec.event_handlers import load_message, record_to_json
from conductor_py.codec.execution import dump_json
from conductor_py.decider.event_actions import expanded, holds
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.deliberation import named
from conductor_py.engine.effects.event_actions import REMEMBERED_MS, EventActions
from conductor_py.engine.effects.events import HELD_LIMIT, HELD_MS, RECORDS_KEPT, stored_handlers
from conductor_py.engine.patience import BATCH_MS, Handled, Patience
from conductor_py.engine.payloads.disposal import Drop
from conductor_py.engine.payloads.holding import PayloadHolding, held_holder
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.errors import (
    ConductorError,
    LimitExceeded,
    NotFound,
    NotYet,
    StoreFailure,
    StoreFull,
    StoreUnavailable,
)
from conductor_py.model.event_handlers import (
    ALERT,
    CONDUCTOR,
    ActionRecord,
    ActionStatus,
    EventHandler,
    EventMessage,
    provider_of,
)
from conductor_py.model.ids import escaped, split_task_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.ports.events import EventStore, Sink, Undelivered
from conductor_py.ports.outbox import Pending
from conductor_py.ports.scripts import Evaluation, Scripts, Value

_LOG = logging.getLogger(__name__)
_SETTLED_AFTER_MS = 500
DEAD = "DEAD"
"""The outcome that given-up deliveries are counted under."""


class _Fate(Enum):
    SENT = auto()
    HELD = auto()
    UNFINISHED = auto()


class EventDelivery:
    """Delivers messages."""

    def __init__(
        self,
        *,
        store: EventStore,
        actions: EventActions,
        scripts: Scripts,
        payloads: PayloadReader,
        holding: PayloadHolding,
        drop: Drop,
        sinks: Mapping[str, Sink],
        clock: StoreClock,
        patience: Patience,
    ) -> None:
        """``drop`` deletes a payload; ``sinks`` are the brokers, by provider."""
        self._store = store
        self._actions = actions
        self._scripts = scripts
        self._payloads = payloads
        self._holding = holding
        self._drop = drop
        self._sinks = sinks
        self._clock = clock
        self._patience = patience

    def deliver(self, partition: int, effects: Sequence[Pending]) -> Handled:
        """Deliver the messages of these effects, in the order in which they were published."""
        handled, began = Handled(), self._clock.elapsed_ms()
        documents = ((effect, orjson.loads(effect.document)) for effect in effects)
        read = [(_place(document), effect, document) for effect, document in documents]
        for _, effect, document in sorted(read, key=itemgetter(0)):
            if self._clock.elapsed_ms() - began > BATCH_MS:
                break
            try:
                with self._payloads.place.scope():
                    message = self._message(document)
                    if message is None:
                        fate = self._without_payload(document)
                    else:
                        fate = self._send(message, document, effect.document)
                if fate is not _Fate.UNFINISHED:
                    if fate is _Fate.SENT:
                        self._let_go(partition, document)
                    handled.done.append(effect)
                    continue
                problem = "an action is to be tried again"
            except (Undelivered, LimitExceeded, StoreFull) as failed:
                problem = failed.message
            except StoreUnavailable:
                if handled.done or handled.later:
                    return handled
                raise
            except Exception as broken:  # noqa: BLE001 - one message must not stop the others
                _LOG.exception(
                    "A message cannot be delivered",
                    extra={"action": "delivery_failed", "effect": effect.id},
                )
                problem = f"internal error: {type(broken).__name__}"
            self._put_off(effect, document, problem, handled)
        return handled

    def _message(self, document: dict[str, Any]) -> EventMessage | None:
        """Read a message with what it has apart; ``None`` when that is gone."""
        message = load_message(document)
        if "path" not in document:
            return message
        try:
            payload: JsonValue = self._payloads.value(document["path"])
        except NotFound:
            return None
        return replace(message, payload=payload)

    def _without_payload(self, document: dict[str, Any]) -> _Fate:
        """One that was delivered before is done; of another nobody can make anything."""
        message = load_message(document)
        delivered = _delivered(message)
        if delivered not in self._store.settled([delivered]):
            give_up(self._store, self._given_up(message, "its payload is gone"))
        return _Fate.SENT

    def _send(self, message: EventMessage, document: dict[str, Any], stored: bytes) -> _Fate:
        if message.event == ALERT:
            _LOG.warning("Somebody should look", extra={"action": "alert"} | _facts(message))
        provider = provider_of(message.event)
        if provider != CONDUCTOR:
            sink = self._sinks.get(provider)
            if sink is None:
                raise Undelivered(f"no provider '{provider}' of events on this server")
            sink.publish((message,))
            return _Fate.SENT
        handlers = stored_handlers(self._store, message.event)
        first = next(handlers, None)
        if first is None:
            if "path" in document:
                self._holding.hold(held_holder(message.event), [document["path"]])
            self._hold(message, stored)
            # One that came in between has not seen it.
            handlers = stored_handlers(self._store, message.event)
            first = next(handlers, None)
            if first is None:
                return _Fate.HELD
            self._store.drop_held(message.event, (stored,))
        is_done = self._handle(chain((first,), handlers), message)
        return _Fate.SENT if is_done else _Fate.UNFINISHED

    def _let_go(self, partition: int, document: dict[str, Any]) -> None:
        """Delete what a delivered message had apart; it is known as delivered before."""
        if "path" in document:
            self._store.settle(_delivered(load_message(document)), "", REMEMBERED_MS)
            self._drop(partition, document["path"])

    def _hold(self, message: EventMessage, document: bytes) -> None:
        gone = self._store.hold(message.event, document, HELD_LIMIT, HELD_MS)
        if gone:
            _LOG.warning(
                "Messages that no handler wanted had to go",
                extra={"action": "message_dropped", "event": message.event, "count": gone},
            )

    # -- handlers ----------------------------------------------------------------------------------

    def _handle(self, handlers: Iterable[EventHandler], message: EventMessage) -> bool:
        """Whether all of them are done with the message."""
        repeat = self._clock.now_ms() - message.published_at > _SETTLED_AFTER_MS
        records: list[ActionRecord] = []
        whole = True
        try:
            for handler in handlers:
                for record in self._outcomes(handler, message, repeat=repeat):
                    if record is None:
                        whole = False
                    else:
                        records.append(record)
        except StoreUnavailable:
            with suppress(StoreUnavailable):  # what is away may be another one than this
                self._keep(records, whole=False)
            raise
        self._keep(records, whole=whole)
        return whole

    def _keep(self, records: Sequence[ActionRecord], *, whole: bool) -> None:
        """Note what was done. It is not to be done again with what was not."""
        if not whole:
            for record in records:
                self._store.settle(_done(record.id), record.status, REMEMBERED_MS)
        self._store.record(
            [(record.status.value, dump_json(record_to_json(record))) for record in records],
            RECORDS_KEPT,
        )

    def _outcomes(
        self, handler: EventHandler, message: EventMessage, *, repeat: bool
    ) -> Iterator[ActionRecord | None]:
        """What each action came to; ``None`` for one that is to be tried again."""
        base = f"{message.id}:{escaped(handler.name)}"
        not_begun = f"{base}:refused"
        identities = [f"{base}:{at}" for at in range(len(handler.actions))]
        known = (
            self._store.settled([_done(one) for one in (not_begun, *identities)]) if repeat else {}
        )
        if _done(not_begun) in known:
            return
        try:
            refused = self._refused(handler, message)
        except Exception as broken:  # noqa: BLE001 - whatever it raises costs this handler alone
            why = _reason(broken, handler, message)
            if why is None:
                yield None
                return
            refused = ActionStatus.FAILED, {"error": why}
        if refused is not None:
            yield self._record(not_begun, handler, message, *refused)
            return
        for identity, action in zip(identities, handler.actions, strict=True):
            if _done(identity) in known:
                continue
            status, output = ActionStatus.COMPLETED, {}
            try:
                output = dict(self._actions.perform(identity, action, message))
            except Exception as broken:  # noqa: BLE001 - whatever it raises costs this action alone
                why = _reason(broken, handler, message)
                if why is None:
                    yield None
                    continue
                status, output = ActionStatus.FAILED, {"error": why}
            record = self._record(identity, handler, message, status, output)
            yield replace(record, action=action.action.value)

    def _refused(
        self, handler: EventHandler, message: EventMessage
    ) -> tuple[ActionStatus, JsonObject] | None:
        """Why a handler does not act on a message: its condition is false, or has no value."""
        condition = handler.condition
        if condition is None or not condition.strip():
            return None
        payload = expanded(message.payload)
        if handler.evaluator_type == "value-param":
            found = payload.get(condition) if isinstance(payload, Mapping) else None
        else:
            # A payload may be a text or a list as well: `$` is whatever it is.
            request = Evaluation(
                evaluator="javascript",
                expression=condition,
                input=payload,  # type: ignore[arg-type]
            )
            (result,) = self._scripts.evaluate((request,))
            if not isinstance(result, Value):
                _LOG.warning(  # its author's mistake, not the server's
                    "The condition of an event handler has no value",
                    extra={
                        "action": "event_condition_failed",
                        "handler": handler.name,
                        "message_id": message.id,
                        "error": result.message,
                    },
                )
                return ActionStatus.FAILED, {"error": f"The condition failed: {result.message}"}
            found = result.value
        return None if holds(found) else (ActionStatus.SKIPPED, {})

    def _record(
        self,
        identity: str,
        handler: EventHandler,
        message: EventMessage,
        status: ActionStatus,
        output: JsonObject,
    ) -> ActionRecord:
        return ActionRecord(
            id=identity,
            message_id=message.id,
            name=handler.name,
            event=message.event,
            created=self._clock.now_ms(),
            status=status,
            output=output,
        )

    # -- again -------------------------------------------------------------------------------------

    def _put_off(
        self, effect: Pending, document: dict[str, Any], problem: str, handled: Handled
    ) -> None:
        again_at = self._patience.again_at(document["at"], self._clock.now_ms())
        if again_at is not None:
            handled.later.append((effect, again_at))
            return
        give_up(self._store, self._given_up(load_message(document), problem))
        handled.done.append(effect)

    def _given_up(self, message: EventMessage, problem: str) -> ActionRecord:
        return ActionRecord(
            id=message.id,
            message_id=message.id,
            name="",
            event=message.event,
            created=self._clock.now_ms(),
            status=ActionStatus.FAILED,
            output={"error": f"Given up: {problem}"},
        )


def give_up(store: EventStore, record: ActionRecord) -> None:
    """Say that something is not delivered and will not be: in the log, the records, the metrics."""
    _LOG.error(
        "Something could not be delivered and is given up",
        extra={"action": "delivery_given_up", "event": record.event, "message_id": record.id}
        | {"error": str(record.output.get("error"))},
    )
    store.record([(DEAD, dump_json(record_to_json(record)))], RECORDS_KEPT)


def _facts(message: EventMessage) -> dict[str, object]:
    """What the log says of an alert."""
    told = message.payload if isinstance(message.payload, Mapping) else {}
    names = {"workflowInstanceId": "workflow_id", "taskId": "task_id", "schedule": "schedule"}
    facts: dict[str, object] = {names[key]: told[key] for key in names if key in told}
    return facts | {"reason": told.get("reason")}


def _reason(broken: Exception, handler: EventHandler, message: EventMessage) -> str | None:
    """Say why something cannot be done; ``None`` when it is to be tried again, and the others go
    on meanwhile. Raises ``broken`` when the store is away, for everybody.
    """
    if isinstance(broken, StoreUnavailable) and not isinstance(broken, StoreFull | NotYet):
        raise broken
    if isinstance(broken, StoreFailure):
        return None
    if isinstance(broken, ConductorError):
        # What is in the message may be in there, half of a surrogate pair too.
        return None if broken.retryable else broken.message.encode(errors="replace").decode()
    _LOG.error(
        "An event handler fails by a defect",
        exc_info=broken,
        extra={
            "action": "event_action_broken",
            "handler": handler.name,
            "message_id": message.id,
        },
    )
    return named(broken)


def _done(identity: str) -> str:
    return f"{identity}:done"


def _delivered(message: EventMessage) -> str:
    return f"{message.id}:delivered"


def _place(document: Mapping[str, Any]) -> tuple[int, str, int]:
    """When a message was published; in the same moment by its task, of which 2 is before 10."""
    at, identity, number = document.get("at"), str(document.get("message")), 0
    with suppress(NotFound):  # other messages are not known by their task
        identity, number = split_task_id(identity)
    return at if isinstance(at, int) else 0, identity, number
