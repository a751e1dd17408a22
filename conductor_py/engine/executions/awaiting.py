"""Waiting for an execution to block or to end: synchronous execute, signal and update of state.

Whoever waits leaves a topic with the execution and with its open children; the commit that makes
one of them block or end answers the topic, and then, not before, is the execution looked at again.
A lost wake-up costs one fallback look. The topic is forgotten by itself when its time is over.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from conductor_py.codec.interventions import load_watches
from conductor_py.decider.watching import is_awaited, is_blocking
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.errors import Conflict, NotFound, StoreUnavailable
from conductor_py.model.execution import Watch
from conductor_py.model.ids import ExecutionId, task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest, StateUpdate, TaskResult, WaitRequest
from conductor_py.model.status import TaskStatus
from conductor_py.model.view import ExecutionView, TaskView
from conductor_py.ports.store import ExecutionStore
from conductor_py.ports.wakeups import Wakeups
from conductor_py.records import dataclass
from conductor_py.wire.execution import inline, task_to_json, workflow_to_json
from conductor_py.wire.signal import (
    BLOCKING_TASK,
    BLOCKING_TASK_INPUT,
    BLOCKING_WORKFLOW,
    TARGET_WORKFLOW,
    task_run,
    workflow_run,
)

_FALLBACK_S: Final = 1.0
_MOST_EXECUTIONS: Final = 1_000
_TRIES: Final = 100


@dataclass(frozen=True, slots=True)
class _Found:
    """What blocks: a task, and the execution it belongs to."""

    execution: ExecutionView
    task: TaskView


class Awaiting:
    """Waits for executions, and signals them."""

    def __init__(
        self,
        *,
        executions: Executions,
        operations: Operations,
        tasks: Tasks,
        store: ExecutionStore,
        wakeups: Wakeups,
        clock: StoreClock,
        machine: Machine = REAL_MACHINE,
    ) -> None:
        """Work over these collaborators."""
        self._executions = executions
        self._operations = operations
        self._tasks = tasks
        self._store = store
        self._wakeups = wakeups
        self._clock = clock
        self._machine = machine

    # -- what is asked ---------------------------------------------------------------------------

    def execute(
        self, request: StartRequest, wait: WaitRequest, stop: threading.Event | None = None
    ) -> JsonObject:
        """Start, and wait; answers a SignalResponse. Raises what a start raises."""
        ticket = self._ticket(wait)
        watch = Watch(
            topic=wait.topic, until=self._clock.now_ms() + wait.timeout_ms, refs=wait.refs
        )
        execution = self._executions.start(request, watch=watch)
        if request.idempotency_key:
            # It may be one that had been started before, of which nobody was told.
            ticket = self._watch(execution, wait)
        return self._response(execution, wait, ticket, stop)

    def signal(self, execution: str, status: TaskStatus, output: JsonObject) -> bool:
        """Report on the first open WAIT of an execution, else of its open sub-workflows; whether
        there was one (``NotFound`` for an unknown execution).
        """
        for _ in range(_TRIES):
            found = self._first_wait(execution)
            if found is None:
                return False
            seq = found.task.attempt.seq
            arguments: JsonObject = {"seq": seq, "status": status.value, "output": output}
            try:
                if self._operations.carry_out(found.execution.execution, "signal", arguments):
                    return True
            except Conflict:
                continue
        raise StoreUnavailable("Others took every WAIT that was found; try again.")

    def signal_and_wait(
        self,
        execution: str,
        status: TaskStatus,
        output: JsonObject,
        wait: WaitRequest,
        stop: threading.Event | None = None,
    ) -> JsonObject:
        """Signal, and wait for the next block or the end (``NotFound`` when nothing waits)."""
        ticket = self._watch(execution, wait)
        if not self.signal(execution, status, output):
            raise NotFound(f"No task of workflow {execution} waits for a signal.")
        return self._response(execution, wait, ticket, stop)

    def update_state(
        self,
        execution: str,
        update: StateUpdate,
        wait: WaitRequest,
        stop: threading.Event | None = None,
    ) -> JsonObject:
        """Merge variables, report on an open task, and wait.

        Raises ``NotFound`` when no task of that reference is open: nothing is changed then.

        These are two commits, in this order. Variables may be refused, and then there must be no
        result; a result is taken under its claim, as any worker's is, before it is decided on. Who
        dies in between has merged the variables only, and a repeat of the call does the rest.
        """
        task = self._open_task(execution, update.ref) if update.ref else None
        ticket = self._watch(execution, wait)
        if update.variables and not self._operations.carry_out(
            execution, "variables", {"variables": update.variables}
        ):
            self._refuse_archived(execution)
        if task is not None and update.result is not None:
            self._report(execution, task, update.result)
        return self._response(execution, wait, ticket, stop)

    # -- waiting -----------------------------------------------------------------------------------

    def _ticket(self, wait: WaitRequest) -> int:
        return self._wakeups.ticket(f"o:{wait.topic}")

    def _watch(self, execution: str, wait: WaitRequest) -> int:
        """Leave the topic with an execution, unless it has it from its parent already."""
        ticket = self._ticket(wait)
        target = self._operations.target(execution)
        known = self._store.load(target, ["watch"])
        watches = load_watches(known[1]["watch"]).watches if known is not None else ()
        waits = known is not None and wait.timeout_ms > 0
        if waits and all(watch.topic != wait.topic for watch in watches):
            arguments: JsonObject = {
                "topic": wait.topic,
                "forMs": wait.timeout_ms,
                "refs": list(wait.refs),
            }
            self._operations.carry_out(execution, "watch", arguments)
        return ticket

    def _response(
        self, execution: str, wait: WaitRequest, ticket: int, stop: threading.Event | None
    ) -> JsonObject:
        deadline = self._machine.monotonic() + wait.timeout_ms / 1000
        topic = f"o:{wait.topic}"
        watched = {execution}
        while True:
            view = self._executions.view(execution)
            if view is None or view.header.status.terminal:
                return self._written(execution, view, wait, None, timed_out=False)
            found = next(self._blocking(view, wait, watched), None)
            left = deadline - self._machine.monotonic()
            if found is not None or left <= 0 or (stop is not None and stop.is_set()):
                return self._written(execution, view, wait, found, timed_out=found is None)
            ticket = self._wakeups.wait(topic, min(left, _FALLBACK_S), ticket)

    def _blocking(
        self, view: ExecutionView, wait: WaitRequest, watched: set[str]
    ) -> Iterator[_Found]:
        """What blocks an execution and those below it, depth first."""
        pending = [(view, _current(view))]
        while pending:
            above, tasks = pending[-1]
            task = next(tasks, None)
            if task is None:
                pending.pop()
                continue
            attempt = task.attempt
            if is_blocking(attempt) or is_awaited(attempt, wait.refs):
                yield _Found(above, task)
            elif attempt.child and attempt.open and len(watched) < _MOST_EXECUTIONS:
                if attempt.child not in watched:
                    self._watch(attempt.child, wait)
                    watched.add(attempt.child)
                child = self._executions.view(attempt.child)
                if child is not None and not child.header.status.terminal:
                    pending.append((child, _current(child)))

    def _written(
        self,
        execution: str,
        view: ExecutionView | None,
        wait: WaitRequest,
        found: _Found | None,
        *,
        timed_out: bool,
    ) -> JsonObject:
        """Write what was asked for; nothing blocks: the execution itself."""
        target = self._executions.document(execution) if view is None else workflow_to_json(view)
        strategy = wait.strategy
        if found is None:
            strategy = strategy if strategy == BLOCKING_WORKFLOW else TARGET_WORKFLOW
            shown = target
        elif strategy in {BLOCKING_TASK, BLOCKING_TASK_INPUT}:
            return task_run(
                strategy,
                target,
                task_to_json(found.task),
                request_id=wait.request_id,
                timed_out=timed_out,
            )
        else:
            blocked = strategy == BLOCKING_WORKFLOW
            shown = workflow_to_json(found.execution) if blocked else target
        return workflow_run(
            strategy, target, shown, request_id=wait.request_id, timed_out=timed_out
        )

    # -- signals -----------------------------------------------------------------------------------

    def _first_wait(self, execution: str) -> _Found | None:
        self._operations.target(execution)
        view = self._executions.view(execution)
        if view is None:
            self._executions.document(execution, include_tasks=False)
            return None
        return self._wait_below(view)

    def _wait_below(self, view: ExecutionView | None) -> _Found | None:
        """Its own first; then, depth first, that of its open sub-workflows."""
        pending: list[ExecutionId] = []
        for _ in range(_MOST_EXECUTIONS + 1):
            current = [task for task in _current(view) if task.attempt.open] if view else []
            for task in current:
                if task.attempt.type == "WAIT" and view is not None:
                    return _Found(view, task)
            below = (task.attempt.child for task in reversed(current))
            pending.extend(ExecutionId(child) for child in below if child)
            if not pending:
                break
            view = self._executions.view(pending.pop())
        return None

    def _open_task(self, execution: str, ref: str) -> TaskView:
        found = self._tasks.open_task(self._operations.target(execution), ref)
        if found is not None:
            return found
        if self._executions.view(execution, include_tasks=False) is None:
            self._refuse_archived(execution)
        raise NotFound(f"No pending task of reference {ref} in workflow {execution}.")

    def _report(self, execution: str, task: TaskView, result: TaskResult) -> None:
        id_ = task_id(ExecutionId(execution), task.attempt.seq)
        output: JsonObject = {**inline(task.output), **result.output}
        self._tasks.update(replace(result, workflow_id=execution, task_id=id_, output=output))

    def _refuse_archived(self, execution: str) -> None:
        status = self._executions.document(execution, include_tasks=False)["status"]
        raise Conflict(f"Workflow {execution} is {status}, its state cannot be changed.")


def _current(view: ExecutionView) -> Iterator[TaskView]:
    """The attempts of this generation, as far as the execution has not ended."""
    if view.header.status.terminal:
        return iter(())
    generation = view.header.generation
    return (t for t in view.tasks if t.attempt.generation == generation or not t.attempt.open)
