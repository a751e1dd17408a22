"""The client's calls that wait for the end of a workflow.

They start it, and look again and again, in pauses that grow to a second. A start that waits inside
the server (``execute_workflow``) would answer sooner by a moment, but it holds a thread of the
server, answers as well where the workflow only blocks, and a lost answer would lose the id.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Final

from conductor_py.errors import ConductorError, StoreUnavailable
from conductor_py.sdk.backoff import Backoff
from conductor_py.sdk.payloads import PayloadKind, PayloadTransfer
from conductor_py.sdk.workflow_calls import WorkflowCalls
from conductor_py.sdk.workflow_run import ENDED, WaitTimeout, WorkflowRun, run_from

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.clock import Clock
    from conductor_py.sdk.definition_document import Definition

_PAUSES: Final = Backoff(base_ms=40, cap_ms=1_000)
_OPEN: Final = frozenset({"SCHEDULED", "IN_PROGRESS"})


class WaitingCalls(WorkflowCalls):
    """Start and wait, or wait for what was started."""

    _payloads: PayloadTransfer
    _clock: Clock

    def run(
        self,
        workflow: str | Definition,
        *,
        input: JsonObject | None = None,
        timeout_s: float | None = 60.0,
        check: bool = False,
        version: int | None = None,
        correlation_id: str | None = None,
        task_to_domain: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        business_time: date | str | None = None,
        zone: str | None = None,
    ) -> WorkflowRun:
        """Start a workflow, wait for its end, and return how it ended.

        ``workflow`` is the name of a registered definition, or a definition: a JSON object, a
        ``Workflow`` or a ``Dag``. As with ``subprocess.run``, a workflow that has not COMPLETED is
        an answer, and ``WorkflowFailed`` only with ``check``. Raises ``WaitTimeout`` after
        ``timeout_s`` seconds (None waits without end); the workflow goes on then. For the other
        arguments see ``start_workflow``. Raises what
        ``start_workflow`` raises.
        """
        named = workflow if isinstance(workflow, str) else None
        workflow_id = self.start_workflow(
            named,
            definition=None if isinstance(workflow, str) else workflow,
            input=input,
            version=version,
            correlation_id=correlation_id,
            task_to_domain=task_to_domain,
            idempotency_key=idempotency_key,
            business_time=business_time,
            zone=zone,
        )
        return self.wait(workflow_id, timeout_s=timeout_s, check=check)

    def wait(
        self, workflow_id: str, *, timeout_s: float | None = 60.0, check: bool = False
    ) -> WorkflowRun:
        """Wait for the end of a workflow, and return how it ended.

        A server that is away is waited for, too. Raises ``WaitTimeout`` after ``timeout_s`` seconds
        (None waits without end), ``WorkflowFailed`` with ``check`` for one that has not COMPLETED,
        ``NotFound``.
        """
        begun_ms = self._clock.monotonic_ms()
        never, looks = threading.Event(), 0
        while True:
            status = self._status_if_answered(workflow_id)
            if status in ENDED:
                run = self._ended_run(workflow_id)
                return run.check() if check else run
            looks += 1
            pause_ms = _PAUSES.delay_ms(looks, random.random())  # noqa: S311 - jitter, no secret
            if timeout_s is not None:
                left_ms = begun_ms + int(timeout_s * 1000) - self._clock.monotonic_ms()
                if left_ms <= 0:
                    raise WaitTimeout(
                        workflow_id, status, timeout_s, self._open_tasks(workflow_id, status)
                    )
                pause_ms = min(pause_ms, left_ms)
            self._clock.wait(never, pause_ms)

    def _status_if_answered(self, workflow_id: str) -> str | None:
        try:
            return str(self.workflow_status(workflow_id).get("status"))
        except StoreUnavailable:
            return None

    def _ended_run(self, workflow_id: str) -> WorkflowRun:
        execution = self.get_workflow(workflow_id, include_tasks=False)
        output, path = execution.get("output"), execution.get("externalOutputPayloadStoragePath")
        if isinstance(path, str) and path:
            output = self._payloads.download(PayloadKind.WORKFLOW_OUTPUT, path)
        return run_from(execution, output if isinstance(output, dict) else {})

    def _open_tasks(self, workflow_id: str, status: str | None) -> tuple[str, ...]:
        """Name what it waits for, if that can be had: a task that no worker takes, most often."""
        if status is None:
            return ()
        try:
            tasks = self.get_workflow(workflow_id).get("tasks")
        except ConductorError:
            return ()
        return tuple(
            f"{task.get('referenceTaskName')} ({task.get('status')})"
            for task in (tasks if isinstance(tasks, list) else [])
            if isinstance(task, dict) and task.get("status") in _OPEN
        )
