"""Status listeners: tells those outside what became of workflows and tasks.

At least once, under an id that stays; those of one execution in order. What cannot be delivered is
tried again with growing waits and given up visibly. One receiver that is away costs each batch one
attempt, not one a notification.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import orjson

from conductor_py.codec.event_handlers import dump_message
from conductor_py.codec.execution import dump_json
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.effects.event_delivery import give_up
from conductor_py.engine.effects.events import RECORDS_KEPT
from conductor_py.engine.patience import BATCH_MS, Handled, Patience
from conductor_py.engine.payloads.disposal import Drop
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.errors import NotFound, StoreFailure, StoreUnavailable
from conductor_py.model.event_handlers import (
    CONDUCTOR,
    ActionRecord,
    ActionStatus,
    EventMessage,
    provider_of,
)
from conductor_py.model.json import JsonObject
from conductor_py.ports.events import EventStore, Sink, Undelivered, Webhook
from conductor_py.ports.outbox import Outbox, Pending
from conductor_py.records import dataclass, field
from conductor_py.wire.summaries import MAX_TEXT, json_text, timestamp

_LOG = logging.getLogger(__name__)
UNDELIVERED: Final = "UNDELIVERED"
"""What a call is counted under that was made in vain and comes again."""
_HOME: Final = 0
_AFTER_PREVIOUS_MS: Final = 200
_LONGEST_MS: Final = 60_000

Read = Callable[[str], JsonObject]
"""An id to a document in wire form; ``NotFound``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Who is told what. A URL that is empty is told nothing; no ``task_statuses``: all of them.

    ``queues`` and ``topic`` are events: those for completed, failed and finalized workflows, and
    one for everything.
    """

    workflow_url: str = field(default="", repr=False)
    workflow_statuses: frozenset[str] = frozenset({"COMPLETED", "TERMINATED"})
    task_url: str = field(default="", repr=False)
    task_statuses: frozenset[str] = frozenset()
    queues: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    topic: str = ""

    @property
    def of_workflows(self) -> bool:
        """Whether anybody is told of workflows."""
        return bool(self.workflow_url or self.queues or self.topic)

    @property
    def of_tasks(self) -> bool:
        """Whether anybody is told of tasks."""
        return bool(self.task_url)


class Notifications:
    """Delivers notices."""

    def __init__(
        self,
        *,
        listeners: Listeners,
        webhook: Webhook | None,
        sinks: Mapping[str, Sink],
        store: EventStore,
        outbox: Outbox,
        payloads: PayloadReader,
        drop: Drop,
        workflow: Read,
        task: Read,
        clock: StoreClock,
        patience: Patience,
    ) -> None:
        """``drop`` deletes a payload; ``workflow`` and ``task`` read what a notice is about, for
        its input and output.
        """
        self._listeners = listeners
        self._webhook = webhook
        self._sinks = sinks
        self._store = store
        self._outbox = outbox
        self._payloads = payloads
        self._drop = drop
        self._workflow = workflow
        self._task = task
        self._clock = clock
        self._patience = patience

    def deliver(self, partition: int, effects: Sequence[Pending]) -> Handled:
        """Deliver the notices of these effects, those of one execution in order."""
        handled, began = Handled(), self._clock.elapsed_ms()
        orders = sorted((_order(effect) for effect in effects), key=lambda one: one.place)
        waiting = self._waiting(partition, orders)
        away: dict[str, str] = {}
        failures: list[str] = []
        for order in orders:
            if self._clock.elapsed_ms() - began > BATCH_MS:
                break
            if order.previous in waiting:
                handled.later.append((order.effect, self._after_previous(order)))
                continue
            with self._payloads.place.scope():
                problem = self._tell(order, away, failures)
            try:
                again_at = self._again_at(order, problem)
                if again_at is None and "path" in order.document:
                    self._drop(partition, order.document["path"])
            except StoreFailure:
                if handled.done or handled.later:
                    break
                raise
            if again_at is None:
                handled.done.append(order.effect)
                waiting.discard(order.effect.id)
            else:
                handled.later.append((order.effect, again_at))
        self._say_of(failures)
        return handled

    def _say_of(self, failures: Sequence[str]) -> None:
        """What was asked in vain is a line and a number: the rest waits for it in silence."""
        for reason in dict.fromkeys(failures):
            facts = {"action": "notification_undelivered", "reason": reason}
            _LOG.warning("Notifications are not taken, and come again", extra=facts)
        try:
            self._store.record([(UNDELIVERED, b"")] * len(failures), RECORDS_KEPT)
        except StoreFailure as uncounted:  # what is delivered would be delivered again
            facts = {"action": "notification_uncounted", "reason": uncounted.message}
            _LOG.warning("Notifications that are not taken cannot be counted", extra=facts)

    def _again_at(self, order: _Order, problem: str | None) -> int | None:
        """When to try again; ``None``: it is delivered, or given up."""
        if problem is None:
            return None
        again_at = self._patience.again_at(order.document["at"], self._clock.now_ms())
        if again_at is None:
            self._give_up(order, problem)
        return again_at

    def _after_previous(self, order: _Order) -> int:
        """When to look again whether the one before is delivered: the later the longer."""
        now = self._clock.now_ms()
        age: int = now - order.document["at"]
        return now + min(max(age // 2, _AFTER_PREVIOUS_MS), _LONGEST_MS)

    def _waiting(self, partition: int, orders: Sequence[_Order]) -> set[str]:
        """Which effects are not confirmed: those given, and those that come before them."""
        own = {order.effect.id for order in orders}
        earlier = [one.previous for one in orders if one.previous and one.previous not in own]
        return own | {effect.id for effect in self._outbox.read(partition, earlier)}

    def _tell(self, order: _Order, away: dict[str, str], failures: list[str]) -> str | None:
        """Tell everybody; what went wrong, if anything did. Nobody is asked again who is away.
        ``failures`` gets the reason of each call that was made in vain.
        """
        try:
            for at, notice in enumerate(self._notices(order)):
                identity = f"{order.effect.id}:{at}"
                for target in self._targets(notice):
                    if target in away:
                        return away[target]
                    try:
                        self._send(target, notice, identity)
                    except Undelivered as failed:
                        failures.append(failed.message)
                        if not failed.refused:
                            away[target] = failed.message
                        raise
        except Undelivered as failed:
            return failed.message
        except StoreUnavailable as away_now:
            return away_now.message  # of what is read for this one; others need not be read
        except Exception as broken:  # noqa: BLE001 - one notice must not stop the others
            _LOG.exception(
                "A notice cannot be delivered",
                extra={"action": "delivery_failed", "effect": order.effect.id},
            )
            return f"internal error: {type(broken).__name__}"
        return None

    def _notices(self, order: _Order) -> list[dict[str, Any]]:
        path = order.document.get("path")
        try:
            found = self._payloads.value(path) if path else order.document["payload"]
        except NotFound:
            # It was delivered, and its confirmation was lost.
            return []
        return list(found)

    # -- to whom -----------------------------------------------------------------------------------

    def _targets(self, notice: dict[str, Any]) -> list[str]:
        listeners = self._listeners
        if notice["t"] == "task":
            wanted = not listeners.task_statuses or notice["status"] in listeners.task_statuses
            return [listeners.task_url] if listeners.task_url and wanted else []
        event = notice["event"]
        names = {event, notice["status"]} if event == "TERMINATED" else {event}
        names |= {"RUNNING"} if event == "STARTED" else set()
        found = []
        if listeners.workflow_url and names & listeners.workflow_statuses:
            found.append(listeners.workflow_url)
        if event in listeners.queues:
            found.append(listeners.queues[event])
        return [*found, listeners.topic] if listeners.topic else found

    def _send(self, target: str, notice: dict[str, Any], identity: str) -> None:
        body = self._body(notice)
        if target in {self._listeners.workflow_url, self._listeners.task_url}:
            if self._webhook is None:
                raise Undelivered("there is no webhook on this server")
            self._webhook.post(target, dump_json(body), identity)
            return
        if target == self._listeners.topic:
            body = {
                "workflowName": notice["workflowType"],
                "eventType": notice["event"],
                "payload": body,
            }
        message = EventMessage(id=identity, event=target, published_at=notice["at"], payload=body)
        if provider_of(target) == CONDUCTOR:
            self._outbox.order(_HOME, [(f"notice:{identity}", dump_message(message))])
            return
        sink = self._sinks.get(provider_of(target))
        if sink is None:
            raise Undelivered(f"no provider '{provider_of(target)}' of events on this server")
        sink.publish((message,))

    # -- what --------------------------------------------------------------------------------------

    def _body(self, notice: dict[str, Any]) -> dict[str, Any]:
        """Write a notice as Conductor's summary; its facts are those of the change, whatever has
        become of the execution since.
        """
        is_task = notice["t"] == "task"
        body = {name: value for name, value in notice.items() if name not in _INTERNAL}
        begun = notice["started"] if is_task else notice["created"]
        body["startTime"] = timestamp(begun)
        body["updateTime"] = timestamp(notice["at"])
        if notice["ended"] or is_task:
            body["endTime"] = timestamp(notice["ended"])
        body["executionTime"] = notice["ended"] - begun if notice["ended"] and begun else 0
        if is_task:
            body["scheduledTime"] = timestamp(notice["scheduled"])
            body["queueWaitTime"] = begun - notice["scheduled"] if begun else 0
        else:
            body["eventType"] = notice["event"]
        body |= self._documents(notice)
        return {name: value for name, value in body.items() if value is not None}

    def _documents(self, notice: dict[str, Any]) -> dict[str, str]:
        """Input and output, where the execution can still be read."""
        try:
            if notice["t"] == "task":
                found = self._task(notice["taskId"])
                texts = {"input": found.get("inputData"), "output": found.get("outputData")}
            else:
                found = self._workflow(notice["workflowId"])
                texts = {"input": found.get("input"), "output": found.get("output")}
        except NotFound:
            return {}
        shown: dict[str, str] = {}
        for name, value in texts.items():
            if isinstance(value, Mapping):
                shown[name] = json_text(value)[:MAX_TEXT]
        return shown

    def _give_up(self, order: _Order, problem: str) -> None:
        record = ActionRecord(
            id=order.effect.id,
            message_id=order.effect.id,
            name="",
            event="notification",
            created=self._clock.now_ms(),
            status=ActionStatus.FAILED,
            output={"error": f"Given up: {problem}"},
        )
        give_up(self._store, record)


_INTERNAL: Final = frozenset({"t", "event", "at", "created", "started", "ended", "scheduled"})


@dataclass(frozen=True, slots=True)
class _Order:
    effect: Pending
    document: dict[str, Any]

    @property
    def place(self) -> tuple[str, int]:
        """Execution and number."""
        return self.effect.id.partition(":")[0], self.document["number"]

    @property
    def previous(self) -> str:
        """The effect that has to be delivered first; empty for the first one."""
        execution, number = self.place
        return f"{execution}:notify:{number - 1}" if number else ""


def _order(effect: Pending) -> _Order:
    return _Order(effect, orjson.loads(effect.document))
