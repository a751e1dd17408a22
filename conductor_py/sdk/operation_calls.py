"""The client's calls that act on executions: pause, retry, rerun, signal, execute and the like.

One method per endpoint. An operation is sent once: when the server is away, whether it was carried
out is unknown, and ``get_workflow`` tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from conductor_py.sdk.definition_document import Definition, document_of
from conductor_py.sdk.document import encode
from conductor_py.sdk.server import object_of, objects_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.server import QueryValue, Server
    from conductor_py.sdk.transport import Answer

ReturnStrategy = Literal[
    "TARGET_WORKFLOW", "BLOCKING_WORKFLOW", "BLOCKING_TASK", "BLOCKING_TASK_INPUT"
]
RerunMode = Literal["TASK_POST", "TASK_ONLY", "TASK_PRE"]
BulkOperation = Literal["pause", "resume", "restart", "retry", "terminate"]

_BULK_METHODS: Final = {"pause": "PUT", "resume": "PUT"}


class OperationCalls:
    """Calls that change an execution, or wait for it."""

    _server: Server

    def pause_workflow(self, workflow_id: str) -> None:
        """Hold an execution: results are taken, nothing new opens. Raises ``NotFound``,
        ``Conflict``.
        """
        self._operate("PUT", "workflow", workflow_id, "pause")

    def resume_workflow(self, workflow_id: str) -> None:
        """Let a paused execution go on. Raises ``NotFound``, ``Conflict``."""
        self._operate("PUT", "workflow", workflow_id, "resume")

    def retry_workflow(self, workflow_id: str, *, resume_subworkflows: bool = False) -> None:
        """Try what failed in an ended execution again. Raises ``NotFound``, ``Conflict``."""
        query = {"resumeSubworkflowTasks": resume_subworkflows}
        self._operate("POST", "workflow", workflow_id, "retry", query=query)

    def restart_workflow(self, workflow_id: str, *, latest_definitions: bool = False) -> None:
        """Run an ended execution again from its beginning. Raises ``NotFound``, ``Conflict``."""
        query = {"useLatestDefinitions": latest_definitions}
        self._operate("POST", "workflow", workflow_id, "restart", query=query)

    def rerun_workflow(
        self,
        workflow_id: str,
        *,
        from_task_id: str | None = None,
        from_ref: str | None = None,
        mode: RerunMode | None = None,
        task_input: JsonObject | None = None,
        workflow_input: JsonObject | None = None,
        correlation_id: str | None = None,
    ) -> None:
        """Run an ended execution again from a task on; without one, from the beginning.

        Of a DAG ``mode`` says what runs with the task: TASK_POST what comes behind it, TASK_ONLY
        nothing, TASK_PRE what comes before it. Raises ``NotFound``, ``Conflict``, ``InvalidInput``.
        """
        body = _given(
            reRunFromTaskId=from_task_id,
            reRunFromTaskReferenceName=from_ref,
            mode=mode,
            taskInput=task_input,
            workflowInput=workflow_input,
            correlationId=correlation_id,
        )
        self._operate("POST", "workflow", workflow_id, "rerun", body=encode(body))

    def preview_rerun(
        self,
        workflow_id: str,
        *,
        from_task_id: str | None = None,
        from_ref: str | None = None,
        mode: RerunMode | None = None,
    ) -> JsonObject:
        """Return what a rerun of a DAG would do, and change nothing: the references that would run
        again (``runsAgain``), and the results that would be ``kept``, or kept and ``stale``.

        Raises ``NotFound``, ``Conflict``, ``InvalidInput``.
        """
        body = _given(reRunFromTaskId=from_task_id, reRunFromTaskReferenceName=from_ref, mode=mode)
        return object_of(
            self._operate(
                "POST",
                "workflow",
                workflow_id,
                "rerun",
                query={"dryRun": True},
                body=encode(body),
            )
        )

    def force_success(
        self,
        workflow_id: str,
        ref: str,
        *,
        output: JsonObject | None = None,
        by: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Count a failed task of a DAG as done; without ``output`` it keeps what it has given.

        Raises ``NotFound``, ``Conflict``, ``InvalidInput``.
        """
        body = encode(_given(output=output, by=by, reason=reason))
        self._operate("POST", "workflow", workflow_id, "tasks", ref, "force-success", body=body)

    def skip_task(self, workflow_id: str, ref: str, *, output: JsonObject | None = None) -> None:
        """Pass by a task that is not scheduled yet. Raises ``NotFound``, ``Conflict``."""
        body = encode(_given(taskOutput=output))
        self._operate("PUT", "workflow", workflow_id, "skiptask", ref, body=body)

    def jump_to_task(
        self, workflow_id: str, ref: str, *, task_input: JsonObject | None = None
    ) -> None:
        """Go on at a later task of a running execution. Raises ``NotFound``, ``Conflict``."""
        body = encode(task_input or {})
        self._operate("POST", "workflow", workflow_id, "jump", ref, body=body)

    def upgrade_workflow(
        self,
        workflow_id: str,
        version: int,
        *,
        task_output: JsonObject | None = None,
        workflow_input: JsonObject | None = None,
    ) -> None:
        """Let a running execution go on under another version of its definition.

        ``task_output`` is taken for new tasks that stand before what is done already. Raises
        ``NotFound``, and ``Conflict`` naming what would not map.
        """
        body = _given(version=version, taskOutput=task_output, workflowInput=workflow_input)
        self._operate("POST", "workflow", workflow_id, "upgrade", body=encode(body))

    def check_upgrade(self, workflow_id: str, version: int) -> JsonObject:
        """Return what would keep an execution from going on under another version.

        ``upgradable`` says whether it can; ``validationErrors`` lists what does not map. Nothing is
        changed. Raises ``NotFound``, ``Conflict``.
        """
        return object_of(
            self._operate(
                "POST",
                "workflow",
                workflow_id,
                "upgrade",
                query={"dryRun": True},
                body=encode({"version": version}),
            )
        )

    def update_variables(self, workflow_id: str, variables: JsonObject) -> JsonObject:
        """Set variables of an open execution and return it. Raises ``NotFound``, ``Conflict``."""
        body = encode(variables)
        return object_of(self._operate("POST", "workflow", workflow_id, "variables", body=body))

    def remove_workflow(self, workflow_id: str, *, archive: bool = True) -> None:
        """Take an execution out of the store; without ``archive`` forget it altogether.

        Raises ``NotFound``, and ``InvalidInput`` for one that has not ended and is to be archived.
        """
        query = {"archiveWorkflow": archive}
        self._operate("DELETE", "workflow", workflow_id, "remove", query=query)

    def reset_callbacks(self, workflow_id: str) -> None:
        """Offer tasks that wait for their callback at once. Raises ``NotFound``, ``Conflict``."""
        self._operate("POST", "workflow", workflow_id, "resetcallbacks")

    def requeue_task(self, task_id: str) -> None:
        """Take a task from a worker that is dead, and offer it again without using up a retry.

        Raises ``NotFound``, and ``Conflict`` when no worker has it.
        """
        self._operate("POST", "tasks", task_id, "requeue")

    def requeue_tasks(self, task_type: str) -> int:
        """Do so with all tasks of a type, and return how many are in their queue then."""
        return int(text_of(self._operate("POST", "tasks", "queue", "requeue", task_type)))

    def send_message(self, workflow_id: str, message: JsonObject) -> str:
        """Put a message into the queue of a running execution and return its id.

        Raises ``NotFound``, ``Conflict``, and ``LimitExceeded`` when the queue is full.
        """
        answer = self._operate("POST", "workflow", workflow_id, "messages", body=encode(message))
        return text_of(answer)

    def signal(
        self,
        workflow_id: str,
        output: JsonObject | None = None,
        *,
        status: str = "COMPLETED",
        return_strategy: ReturnStrategy = "TARGET_WORKFLOW",
    ) -> JsonObject:
        """Complete the task that an execution waits at, and return where it stands next."""
        answer = self._operate(
            "POST",
            "tasks",
            workflow_id,
            status,
            "signal",
            "sync",
            query={"returnStrategy": return_strategy},
            body=encode(output or {}),
        )
        return object_of(answer)

    def execute_workflow(
        self,
        name: str,
        version: int = 0,
        *,
        input: JsonObject | None = None,
        definition: Definition | None = None,
        correlation_id: str | None = None,
        wait_until: Sequence[str] = (),
        wait_s: int = 10,
        return_strategy: ReturnStrategy = "TARGET_WORKFLOW",
    ) -> JsonObject:
        """Start an execution and wait until it ends, blocks, or a task of ``wait_until`` has ended.

        Version 0 is the latest. After ``wait_s`` seconds the answer tells how it stands, with
        ``signalTimeout``.
        """
        body = _given(
            name=name,
            version=version or None,
            input=input or {},
            workflowDef=None if definition is None else document_of(definition),
            correlationId=correlation_id,
        )
        query: dict[str, QueryValue] = {
            "waitForSeconds": wait_s,
            "waitUntilTaskRef": ",".join(wait_until) or None,
            "returnStrategy": return_strategy,
        }
        answer = self._operate(
            "POST",
            "workflow",
            "execute",
            name,
            str(version),
            query=query,
            body=encode(body),
            wait_s=wait_s,
        )
        return object_of(answer)

    def test_workflow(
        self,
        name: str | None = None,
        *,
        version: int | None = None,
        input: JsonObject | None = None,
        definition: Definition | None = None,
        mocks: Mapping[str, Sequence[JsonObject]] | None = None,
    ) -> JsonObject:
        """Run a definition with mocked results and return the execution; nothing is kept of it.

        ``mocks`` gives, by task reference, one result for each attempt: ``status`` and ``output``.
        """
        inline = None if definition is None else document_of(definition)
        body = _given(
            name=name or (inline or {}).get("name"),
            version=version,
            input=input or {},
            workflowDef=inline,
            taskRefToMockOutput={ref: list(results) for ref, results in (mocks or {}).items()},
        )
        return object_of(self._operate("POST", "workflow", "test", body=encode(body)))

    def bulk(
        self, operation: BulkOperation, workflow_ids: Sequence[str], *, reason: str | None = None
    ) -> JsonObject:
        """Carry out one operation on many executions; the answer says which failed, and why."""
        answer = self._operate(
            _BULK_METHODS.get(operation, "POST"),
            "workflow",
            "bulk",
            operation,
            query={"reason": reason},
            body=encode(list(workflow_ids)),
        )
        return object_of(answer)

    def correlated_workflows(
        self, name: str, correlation_id: str, *, include_closed: bool = False
    ) -> list[JsonObject]:
        """Return the executions of that name with that correlation id."""
        answer = self._server.call(
            "GET",
            "workflow",
            name,
            "correlated",
            correlation_id,
            query={"includeClosed": include_closed},
            resend=True,
        )
        return objects_of(answer)

    def _operate(
        self,
        method: str,
        *path: str,
        query: Mapping[str, QueryValue] | None = None,
        body: bytes | None = None,
        wait_s: float = 0.0,
    ) -> Answer:
        return self._server.call(method, *path, query=query, body=body, resend=False, wait_s=wait_s)


def _given(**members: object) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not None}
