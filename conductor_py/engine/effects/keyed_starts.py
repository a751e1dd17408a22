"""Starts under an idempotency key that a START_WORKFLOW or SUB_WORKFLOW task asks for.

The key decides which partition the execution belongs to, so the commit of the task cannot start it
itself: it orders an effect, and the task is told what came of it. The id is derived from the task:
carried out twice, it is one start.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import orjson

from conductor_py.codec.execution import load_attempt, load_document, load_header
from conductor_py.decider.starting import start_nodes
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.patience import Handled, Patience
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.engine.reading.loading import load_all
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.errors import ConductorError, Conflict, NotFound
from conductor_py.model.chains import chain_in
from conductor_py.model.execution import Attempt, Document, External, Header
from conductor_py.model.ids import ExecutionId, partition_of, split_task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import TASK_POST, ParentTask, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.outbox import Pending
from conductor_py.ports.store import ExecutionStore
from conductor_py.records import dataclass
from conductor_py.wire.data_definitions import read_workflow

_LOG = logging.getLogger(__name__)
_ANCESTORS: Final = 100
_PATIENCE: Final = Patience(first_ms=1_000, most_ms=10_000)
"""A start that finds something away comes again long before the lease of its effect ends: somebody
stands still for it.
"""


@dataclass(frozen=True, slots=True)
class _Task:
    """A task that asks for a start, and what it orders."""

    id: str
    execution: ExecutionId
    header: Header
    attempt: Attempt
    input: Document
    order: JsonObject

    @property
    def waits(self) -> bool:
        """Whether it still waits for what comes of its order."""
        header, attempt = self.header, self.attempt
        open_ = attempt.open and attempt.child is None
        return open_ and not header.status.terminal and attempt.generation == header.generation


class KeyedStarts:
    """Carries out the effects of kind ``start``."""

    def __init__(  # noqa: PLR0917 - one collaborator a step
        self,
        executions: Executions,
        tasks: Tasks,
        operations: Operations,
        store: ExecutionStore,
        snapshots: Snapshots,
        payloads: PayloadReader,
        clock: StoreClock,
    ) -> None:
        """Start by ``executions``, end the tasks by ``tasks``; the others know what was ordered."""
        self._executions = executions
        self._tasks = tasks
        self._operations = operations
        self._store = store
        self._snapshots = snapshots
        self._payloads = payloads
        self._clock = clock

    def handle(self, partition: int, effects: Sequence[Pending]) -> Handled:
        """Start what each asks for; one that meets a store that is away comes again."""
        handled = Handled()
        for effect in effects:
            order: JsonObject = orjson.loads(effect.document)
            name = str(order["task"])
            try:
                with self._payloads.place.scope():
                    self._carry_out(name, order)
            except NotFound:
                self._leave(order)  # the task has left the store: nobody waits for this any more
            except ConductorError as refused:
                if refused.retryable:
                    _LOG.warning(
                        "A start under an idempotency key is put off",
                        extra={"action": "start_put_off", "task_id": name},
                    )
                    self._put_off(partition, effect, handled)
                    continue
                _LOG.error(
                    "A start under an idempotency key is refused; it comes again",
                    extra={
                        "action": "start_refused",
                        "task_id": name,
                        "error": refused.message,
                    },
                )
                continue
            except Exception:  # noqa: BLE001 - one start must not stop the others
                _LOG.exception(
                    "A start under an idempotency key cannot be carried out; it comes again",
                    extra={"action": "start_failed", "task_id": name},
                )
                continue
            handled.done.append(effect)
        return handled

    def _put_off(self, partition: int, effect: Pending, handled: Handled) -> None:
        now_ms = self._clock.now_ms(partition)
        # The stamp of an effect is the instant that ordered it. It is never given up.
        again_at = _PATIENCE.again_at(effect.stamp, now_ms)
        handled.later.append((effect, again_at or now_ms + _PATIENCE.most_ms))

    def _carry_out(self, name: str, order: JsonObject) -> None:
        task = self._task(name, order)
        child = "plan" in order
        if not task.waits:
            self._leave(order, task.attempt)
            return
        try:
            request = self._child(task) if child else _start(self._request(task), order)
            started = self._executions.start(request, cause=name)
        except ConductorError as refused:
            if refused.retryable:
                raise
            self._report(name, TaskStatus.FAILED, {}, refused.message)
            return
        if child:
            self._hand_over(task, request, started)
        else:
            self._report(name, TaskStatus.COMPLETED, {"workflowId": started}, None)

    def _task(self, name: str, order: JsonObject) -> _Task:
        execution, seq = split_task_id(name)
        found = load_all(self._store, execution, ["h", f"a:{seq}", f"i:{seq}"])
        fields = found[1] if found is not None else {}
        header, attempt = fields.get("h"), fields.get(f"a:{seq}")
        if header is None or attempt is None:
            raise NotFound(f"No such task found by id: {name}")
        return _Task(
            id=name,
            execution=execution,
            header=load_header(header),
            attempt=load_attempt(seq, attempt),
            input=load_document(fields.get(f"i:{seq}")),
            order=order,
        )

    def _input(self, task: _Task) -> JsonObject:
        """The input as it is stored: what readers are shown may be masked."""
        given = task.input
        if isinstance(given, External):
            stored: JsonObject = self._payloads.value(given.path)
            return stored
        return given

    # -- START_WORKFLOW ----------------------------------------------------------------------------

    def _request(self, task: _Task) -> JsonObject:
        request = self._input(task).get("startWorkflow")
        if not isinstance(request, Mapping):
            raise Conflict("The input of the task cannot be read")
        return request

    def _report(
        self, task: str, status: TaskStatus, output: JsonObject, reason: str | None
    ) -> None:
        execution = split_task_id(task)[0]
        self._tasks.update(
            TaskResult(
                workflow_id=execution, task_id=task, status=status, output=output, reason=reason
            )
        )

    # -- SUB_WORKFLOW ------------------------------------------------------------------------------

    def _child(self, task: _Task) -> StartRequest:
        order, given = task.order, self._input(task)
        plan = self._snapshots.plan(partition_of(task.execution), str(order["plan"]))
        if plan is None:
            raise Conflict("The definition of the sub workflow was lost")
        domains, inner = given.get("subWorkflowTaskToDomain"), given.get("workflowInput")
        depth, priority = order.get("depth"), order.get("priority")
        at, zone = _business(order)
        return StartRequest(
            name=plan.definition.name,
            definition=plan.definition,
            input=inner if isinstance(inner, Mapping) else {},
            correlation_id=_text(order, "correlationId"),
            priority=priority if isinstance(priority, int) else 0,
            chain=chain_in(order),
            business_at=at,
            zone=zone,
            task_to_domain=_domains(domains),
            idempotency_key=str(order["key"]),
            idempotency_strategy=str(order["strategy"]),
            parent=ParentTask(
                execution=task.execution,
                seq=task.attempt.seq,
                depth=depth if isinstance(depth, int) else 0,
                ref=str(order["ref"]),
                admitted_under=str(order["admittedUnder"]),
            ),
        )

    def _hand_over(self, task: _Task, request: StartRequest, started: ExecutionId) -> None:
        """Have the task wait for the execution that its key has led to."""
        own = started == self._executions.derived(request, task.id)
        if not own and self._is_above(started, task):
            sentence = (
                f"Idempotency key '{request.idempotency_key}' is in use by workflow {started}"
            )
            self._report(task.id, TaskStatus.FAILED, {}, f"{sentence}, which waits for this task")
            return
        told: JsonObject = {"seq": task.attempt.seq, "child": started, "followed": not own}
        taken = False
        with suppress(Conflict):
            taken = self._operations.carry_out(
                task.execution, "take_on", told, id_=f"take_on:{task.id}"
            )
        if not taken:
            self._leave(task.order)

    def _is_above(self, found: ExecutionId, task: _Task) -> bool:
        """Whether an execution waits, by those in between, for this one: neither would ever end."""
        above: str | None = task.execution
        for _ in range(_ANCESTORS):
            if above is None or above == found:
                return above == found
            loaded = self._store.load(ExecutionId(above), ["h"])
            stored = loaded[1]["h"] if loaded is not None else None
            above = load_header(stored).parent if stored is not None else None
        return False

    def _leave(self, order: JsonObject, attempt: Attempt | None = None) -> None:
        """End the child that an order has started, if it has: its task does not wait for it."""
        if "plan" not in order:
            return
        request = StartRequest(name=str(order["name"]), idempotency_key=str(order["key"]))
        child = self._executions.derived(request, str(order["task"]))
        if attempt is not None and attempt.child == child:
            return  # they know of each other
        reason = {"reason": "Its task does not wait for it any more"}
        with suppress(Conflict, NotFound):
            self._operations.carry_out(child, "terminate", reason, id_=f"cancel:{order['task']}")


def _start(request: JsonObject, order: JsonObject) -> StartRequest:
    """The request of a task; the operator has looked at the types of its members."""
    inline, given = request.get("workflowDef"), request.get("input")
    version, priority = order.get("version"), order.get("priority")
    at, zone = _business(order)
    return StartRequest(
        name=str(request["name"]),
        own=True,
        version=version if isinstance(version, int) and version else None,
        definition=read_workflow(inline) if isinstance(inline, Mapping) else None,
        input=given if isinstance(given, Mapping) else {},
        external_input=_text(request, "externalInputPayloadStoragePath"),
        correlation_id=_text(request, "correlationId") or _text(order, "correlationId"),
        priority=priority if isinstance(priority, int) else 0,
        chain=chain_in(order),
        business_at=at,
        zone=zone,
        task_to_domain=_domains(request.get("taskToDomain") or order.get("taskToDomain")),
        idempotency_key=str(request["idempotencyKey"]),
        idempotency_strategy=str(request.get("idempotencyStrategy") or "FAIL"),
        created_by=_text(request, "createdBy"),
        start_nodes=start_nodes(request),
        depend_mode=_text(request, "dependMode") or TASK_POST,
    )


def _business(order: JsonObject) -> tuple[int, str]:
    """The business time of an order; one that was stored before there was any has none."""
    given = order.get("business")
    if not isinstance(given, list | tuple) or len(given) != 2:
        return 0, ""
    at, zone = given
    return at if isinstance(at, int) else 0, zone if isinstance(zone, str) else ""


def _domains(given: object) -> dict[str, str]:
    return {key: str(value) for key, value in given.items()} if isinstance(given, Mapping) else {}


def _text(values: JsonObject, name: str) -> str | None:
    found = values.get(name)
    return found if isinstance(found, str) and found else None
