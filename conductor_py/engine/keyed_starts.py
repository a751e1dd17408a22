"""Starts under an idempotency key that a START_WORKFLOW task asks for.

The key decides which partition the execution belongs to, so the commit of the task cannot start it
itself: it orders an effect, and the task ends with what came of it. The id is derived from the
task: carried out twice, it is one start.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import orjson

from conductor_py.engine.executions import Executions
from conductor_py.engine.patience import Handled
from conductor_py.engine.tasks import Tasks
from conductor_py.errors import ConductorError, NotFound
from conductor_py.model.ids import split_task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.outbox import Pending
from conductor_py.wire.data_definitions import read_workflow

_LOG = logging.getLogger(__name__)


class KeyedStarts:
    """Carries out the effects of kind ``start``."""

    def __init__(self, executions: Executions, tasks: Tasks) -> None:
        """Start by ``executions``, end the tasks by ``tasks``."""
        self._executions = executions
        self._tasks = tasks

    def handle(self, _partition: int, effects: Sequence[Pending]) -> Handled:
        """Start what each asks for; one that meets a store that is away comes again."""
        handled = Handled()
        for effect in effects:
            order = orjson.loads(effect.document)
            try:
                self._carry_out(str(order["task"]), order)
            except NotFound:
                pass  # the task has left the store: nobody waits for this any more
            except ConductorError as refused:
                if refused.retryable:
                    _LOG.warning(
                        "A start under an idempotency key is put off",
                        extra={"action": "start_put_off", "task_id": order["task"]},
                    )
                    continue
                raise
            handled.done.append(effect)
        return handled

    def _carry_out(self, task: str, order: JsonObject) -> None:
        found = self._tasks.document(task)
        if found["status"] != TaskStatus.IN_PROGRESS.value:
            return
        given = found.get("inputData")
        request = given.get("startWorkflow") if isinstance(given, Mapping) else None
        try:
            if not isinstance(request, Mapping):
                raise NotFound("The input of the task cannot be read")
            started = self._executions.start(_start(request, order), cause=task)
        except ConductorError as refused:
            if refused.retryable:
                raise
            self._report(task, TaskStatus.FAILED, {}, refused.message)
        else:
            self._report(task, TaskStatus.COMPLETED, {"workflowId": started}, None)

    def _report(
        self, task: str, status: TaskStatus, output: JsonObject, reason: str | None
    ) -> None:
        execution = split_task_id(task)[0]
        self._tasks.update(
            TaskResult(
                workflow_id=execution, task_id=task, status=status, output=output, reason=reason
            )
        )


def _start(request: JsonObject, order: JsonObject) -> StartRequest:
    """The request of a task; the operator has looked at the types of its members."""
    inline, given, domains = (request.get(n) for n in ("workflowDef", "input", "taskToDomain"))
    if not domains:
        domains = order.get("taskToDomain")
    version, priority = order.get("version"), order.get("priority")
    return StartRequest(
        name=str(request["name"]),
        version=version if isinstance(version, int) and version else None,
        definition=read_workflow(inline) if isinstance(inline, Mapping) else None,
        input=given if isinstance(given, Mapping) else {},
        external_input=_text(request, "externalInputPayloadStoragePath"),
        correlation_id=_text(request, "correlationId") or _text(order, "correlationId"),
        priority=priority if isinstance(priority, int) else 0,
        task_to_domain=(
            {key: str(value) for key, value in domains.items()}
            if isinstance(domains, Mapping)
            else {}
        ),
        idempotency_key=str(request["idempotencyKey"]),
        idempotency_strategy=str(request.get("idempotencyStrategy") or "FAIL"),
        created_by=_text(request, "createdBy"),
    )


def _text(values: JsonObject, name: str) -> str | None:
    found = values.get(name)
    return found if isinstance(found, str) and found else None
