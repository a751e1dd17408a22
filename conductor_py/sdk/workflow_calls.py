"""The client's calls about executions: start, read, terminate, search.

One method per endpoint; a lifecycle operation is one line of the shape of ``terminate_workflow``.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Literal

from conductor_py.errors import InvalidInput
from conductor_py.sdk.definition_document import Definition, document_of
from conductor_py.sdk.document import embed, encode
from conductor_py.sdk.payloads import PayloadKind
from conductor_py.sdk.server import object_of, text_of, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.operation_calls import RerunMode
    from conductor_py.sdk.payloads import PayloadTransfer
    from conductor_py.sdk.server import Server

    IdempotencyStrategy = Literal["FAIL", "RETURN_EXISTING", "FAIL_ON_RUNNING"]


class WorkflowCalls:
    """Calls below ``/workflow``."""

    _server: Server
    _payloads: PayloadTransfer
    _workflow_input_threshold_bytes: int

    def start_workflow(
        self,
        name: str | None = None,
        *,
        version: int | None = None,
        input: JsonObject | None = None,
        definition: Definition | None = None,
        correlation_id: str | None = None,
        priority: int | str | None = None,
        task_to_domain: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        idempotency_strategy: IdempotencyStrategy | None = None,
        start_nodes: Sequence[str] = (),
        depend_mode: RerunMode | None = None,
        business_time: date | str | None = None,
        zone: str | None = None,
    ) -> str:
        """Start an execution and return its workflow id.

        ``name`` runs a registered definition (the latest version when ``version`` is None);
        ``definition`` runs an inline one, a JSON object, ``Workflow`` or ``Dag``, whose tasks may
        embed their task definitions as ``taskDefinition``. An input above the threshold is uploaded
        to payload storage first. ``priority`` is 0 to 99, or HIGHEST, HIGH, MEDIUM, LOW or LOWEST;
        larger goes first. Of a DAG only ``start_nodes`` are run when given, with what
        ``depend_mode`` says: TASK_POST all behind them, TASK_ONLY nothing, TASK_PRE all before
        them.
        ``business_time`` is what the run is about, for the dates in ``parameters``; it goes by the
        clock of ``zone`` when it has no offset itself. Only a start with an idempotency key is sent
        again when the server is away. Raises ``InvalidInput``, ``NotFound``,
        ``Conflict``, ``PayloadTooLarge``.
        """
        inline = document_of(definition) if definition is not None else None
        inline_name = inline.get("name") if inline else None
        started = name or (inline_name if isinstance(inline_name, str) else None)
        if not started:
            message = "start_workflow needs a name, or a definition that has one"
            raise InvalidInput(message)
        request: dict[str, object] = {
            "name": started,
            "version": version,
            "workflowDef": inline,
            "correlationId": correlation_id,
            "priority": priority,
            "taskToDomain": task_to_domain,
            "idempotencyKey": idempotency_key,
            "idempotencyStrategy": idempotency_strategy,
            "startNodes": list(start_nodes) or None,
            "dependMode": depend_mode,
            "businessTime": business_time.isoformat()
            if isinstance(business_time, date)
            else business_time,
            "zoneId": zone,
            **self._input_fields(input or {}),
        }
        body = encode({key: value for key, value in request.items() if value is not None})
        answer = self._server.call(
            "POST", "workflow", body=body, resend=idempotency_key is not None
        )
        return text_of(answer)

    def get_workflow(self, workflow_id: str, *, include_tasks: bool = True) -> JsonObject:
        """Return the execution, from the store or the archive; raises ``NotFound``."""
        query = {"includeTasks": include_tasks}
        answer = self._server.call("GET", "workflow", workflow_id, query=query, resend=True)
        return object_of(answer)

    def workflow_status(
        self,
        workflow_id: str,
        *,
        include_output: bool = False,
        include_variables: bool = False,
    ) -> JsonObject:
        """Return id, correlation id and status, and on request output and variables; raises
        ``NotFound``.
        """
        query = {"includeOutput": include_output, "includeVariables": include_variables}
        answer = self._server.call(
            "GET", "workflow", workflow_id, "status", query=query, resend=True
        )
        return object_of(answer)

    def terminate_workflow(self, workflow_id: str, reason: str | None = None) -> None:
        """End the execution as TERMINATED; a second time is a success. Raises ``NotFound``,
        ``Conflict``.
        """
        self._server.call("DELETE", "workflow", workflow_id, query={"reason": reason}, resend=True)

    def search_workflows(
        self,
        query: str | None = None,
        *,
        free_text: str = "*",
        sort: str | None = None,
        start: int = 0,
        size: int = 100,
    ) -> JsonObject:
        """Return ``totalHits`` and a page of workflow summaries as ``results``.

        ``query`` is a conjunction such as ``workflowType=orders AND status IN (FAILED,TIMED_OUT)``,
        ``sort`` is ``startTime:DESC``.
        """
        parameters = {
            "query": query,
            "freeText": free_text,
            "sort": sort,
            "start": start,
            "size": size,
        }
        answer = self._server.call("GET", "workflow", "search", query=parameters, resend=True)
        return object_of(answer)

    def running_workflows(self, name: str, *, version: int | None = None) -> list[str]:
        """Return the ids of the open executions of that name."""
        answer = self._server.call(
            "GET", "workflow", "running", name, query={"version": version}, resend=True
        )
        listed = value_of(answer)
        return [str(entry) for entry in listed] if isinstance(listed, list) else []

    def _input_fields(self, payload: JsonObject) -> dict[str, object]:
        document = encode(payload)
        if len(document) > self._workflow_input_threshold_bytes:
            path = self._payloads.upload(PayloadKind.WORKFLOW_INPUT, document)
            if path is not None:
                return {"input": {}, "externalInputPayloadStoragePath": path}
        return {"input": embed(document)}
