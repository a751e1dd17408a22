"""The bodies of requests that every execution makes: start, result, extend.

Each has a form, which is the contract, and a short cut for what clients really send: where every
member already has its exact type, building the form's result by hand takes a few microseconds
instead of fifty. Anything else goes through the form. A test holds both to the same results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, NoneType
from typing import Any, ClassVar

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.priorities import MOST_URGENT
from conductor_py.model.requests import (
    TASK_ONLY,
    TASK_POST,
    TASK_PRE,
    ExtendRequest,
    StartRequest,
    TaskLog,
    TaskResult,
)
from conductor_py.model.status import TaskStatus
from conductor_py.wire.business_times import BusinessTime, read_business
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.definitions import WORKFLOW_DEF
from conductor_py.wire.fields import (
    FOR_EVER_S,
    INT64,
    Choice,
    Flag,
    Many,
    Payload,
    Text,
    TextMap,
    Texts,
    Whole,
    WireField,
    WireSchema,
    load,
    reference,
    whole,
)
from conductor_py.wire.priorities import Priority

RESULT_STATUSES = ("IN_PROGRESS", "FAILED", "FAILED_WITH_TERMINAL_ERROR", "COMPLETED", "CANCELED")
"""What a worker may report."""

MAX_REASON = 500
"""Characters of a reason that are kept."""

_SECONDS_END = 100_000_000_000
"""An instant below this is in seconds: the official Python SDK stamps its own logs so."""

_STRATEGIES = ("FAIL", "RETURN_EXISTING", "FAIL_ON_RUNNING")


# ----------------------------------------------------------------------------------------- start


def _start(
    external_input_payload_storage_path: str | None = None,
    workflow_def: object = None,  # noqa: ARG001 - read by the definition reader
    business_time: object = None,  # noqa: ARG001 - read together with the zone
    zone_id: str = "",  # noqa: ARG001
    **members: Any,  # noqa: ANN401
) -> StartRequest:
    return StartRequest(external_input=external_input_payload_storage_path, **members)


class _InlineWorkflow(WireField):
    """An inline definition: read apart, because the reader of definitions remembers it."""

    def json_schema(self) -> dict[str, Any]:
        return {"$ref": reference(WORKFLOW_DEF)}


class _Version(WireField):
    """The version to start; an empty text names none."""

    form: ClassVar[Mapping[str, Any]] = {"type": "integer"}

    def load(self, value: Any) -> int | None:  # noqa: ANN401
        return None if value == "" else whole(value)


class StartWorkflowRequestForm(WireSchema):
    """Start a workflow: a registered one, or the definition that is sent along."""

    model = staticmethod(_start)

    name = Text(required=True)
    version = _Version()
    correlation_id = Text()
    input = Payload()
    task_to_domain = TextMap()
    workflow_def = _InlineWorkflow()
    external_input_payload_storage_path = Text()
    priority = Priority()
    created_by = Text()
    idempotency_key = Text()
    idempotency_strategy = Choice(_STRATEGIES)
    start_nodes = Texts()
    depend_mode = Choice((TASK_POST, TASK_ONLY, TASK_PRE))
    business_time = BusinessTime()
    zone_id = Text()


_START = StartWorkflowRequestForm()
_OPTIONAL_TEXT = (str, NoneType)
_START_TYPES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "name": (str,),
        "version": (int, NoneType),
        "correlationId": _OPTIONAL_TEXT,
        "input": (dict,),
        "externalInputPayloadStoragePath": _OPTIONAL_TEXT,
        "priority": (int,),
        "createdBy": _OPTIONAL_TEXT,
        "idempotencyKey": _OPTIONAL_TEXT,
    }
)


_SELDOM = frozenset({"startNodes", "dependMode", "businessTime", "zoneId"})


def read_start(body: Any, definitions: DefinitionReader) -> StartRequest:  # noqa: ANN401
    """Read the request to start a workflow."""
    request = _short_start(body) if isinstance(body, dict) else None
    if request is None:
        request = load(_START, body)
        assert isinstance(body, dict)
        if "input" in body and body["input"] is None and not request.external_input:
            raise _wrong("$.input", "must be an object, or an external path must be given")
        if body.get("dependMode") is not None and not request.start_nodes:
            raise _wrong("$.dependMode", "must not be given without startNodes", None)
        business = read_business(body.get("businessTime"), body.get("zoneId"))
        if isinstance(business, Violation):
            raise InvalidInput(violations=(business,))
        request = replace(request, business_at=business[0], zone=business[1])
    if not request.name.strip():
        raise _wrong("$.name", "must not be empty", request.name)
    inline = body.get("workflowDef")
    if inline is not None:
        definition = definitions.workflow(inline, root="$.workflowDef")
        request = replace(request, definition=definition)
    return request


def _short_start(body: dict[str, Any]) -> StartRequest | None:
    domains = body.get("taskToDomain")
    strategy = body.get("idempotencyStrategy")
    if (
        not _exact(body, _START_TYPES)
        or "name" not in body
        or not body.keys().isdisjoint(_SELDOM)
        or not 0 <= body.get("priority", 0) <= MOST_URGENT
        or (strategy is not None and strategy not in _STRATEGIES)
        or (domains is not None and not _texts_only(domains))
    ):
        return None
    return StartRequest(
        name=body["name"],
        version=body.get("version"),
        input=body.get("input", {}),
        external_input=body.get("externalInputPayloadStoragePath"),
        correlation_id=body.get("correlationId"),
        priority=body.get("priority", 0),
        task_to_domain=domains or {},
        idempotency_key=body.get("idempotencyKey"),
        idempotency_strategy=strategy or "FAIL",
        created_by=body.get("createdBy"),
    )


def _texts_only(value: object) -> bool:
    return type(value) is dict and all(type(inner) is str for inner in value.values())


# ---------------------------------------------------------------------------------------- result


def _log(log: str = "", created_time: int = 0, task_id: str = "") -> TaskLog:  # noqa: ARG001
    in_seconds = 0 < created_time < _SECONDS_END
    return TaskLog(line=log, created_at=created_time * 1000 if in_seconds else created_time)


class TaskExecLogForm(WireSchema):
    """One line of a task's log."""

    model = staticmethod(_log)

    log = Text()
    task_id = Text()
    created_time = Whole()


TASK_LOG: WireSchema = TaskExecLogForm()


class TaskResultForm(WireSchema):
    """What a worker reports of a task."""

    workflow_instance_id = Text(required=True)
    task_id = Text(required=True)
    status = Choice(RESULT_STATUSES, make=TaskStatus)
    output_data = Payload()
    reason_for_incompletion = Text()
    callback_after_seconds = Whole()
    worker_id = Text()
    logs = Many(lambda: TASK_LOG)
    external_output_payload_storage_path = Text()
    sub_workflow_id = Text()
    extend_lease = Flag()
    claim_token = Whole(least=0)


_RESULT = TaskResultForm()
_RESULT_TYPES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "workflowInstanceId": (str,),
        "taskId": (str,),
        "status": (str,),
        "outputData": (dict, NoneType),
        "reasonForIncompletion": _OPTIONAL_TEXT,
        "callbackAfterSeconds": (int, NoneType),
        "workerId": _OPTIONAL_TEXT,
        "externalOutputPayloadStoragePath": _OPTIONAL_TEXT,
        "subWorkflowId": _OPTIONAL_TEXT,
        "extendLease": (bool,),
        "claimToken": (int, NoneType),
    }
)


def read_result(body: object) -> TaskResult | ExtendRequest:
    """Read a worker's report; ``extendLease`` makes it a request to keep the claim."""
    members = _short_result(body) if isinstance(body, dict) else None
    if members is None:
        members = load(_RESULT, body)
    workflow_id, task_id = members["workflow_instance_id"], members["task_id"]
    if not workflow_id or not task_id:
        empty = "taskId" if workflow_id else "workflowInstanceId"
        raise _wrong(f"$.{empty}", "must not be empty", "")
    if members.get("extend_lease"):
        return ExtendRequest(
            task_id=task_id,
            claim=members.get("claim_token") or 0,
            worker=members.get("worker_id") or "",
        )
    if "status" not in members:
        raise _wrong("$.status", f"must be one of {', '.join(RESULT_STATUSES)}")
    reason = members.get("reason_for_incompletion")
    return TaskResult(
        workflow_id=workflow_id,
        task_id=task_id,
        status=members["status"],
        output=members.get("output_data") or {},
        external_output=members.get("external_output_payload_storage_path") or None,
        claim=members.get("claim_token") or 0,
        worker=members.get("worker_id") or "",
        reason=reason[:MAX_REASON] if reason else reason,
        callback_after_s=put_off_s(members.get("callback_after_seconds")),
        logs=members.get("logs") or (),
    )


def put_off_s(seconds: int | None) -> int:
    """Read for how long a result puts its task off: as good as for ever at most."""
    return min(max(0, seconds or 0), FOR_EVER_S)


def _short_result(body: dict[str, Any]) -> dict[str, Any] | None:
    status = body.get("status")
    if (
        not _exact(body, _RESULT_TYPES)
        or body.get("logs") not in (None, [])
        or status not in RESULT_STATUSES
        or "workflowInstanceId" not in body
        or "taskId" not in body
        or (body.get("claimToken") or 0) < 0
    ):
        return None
    return {
        "workflow_instance_id": body["workflowInstanceId"],
        "task_id": body["taskId"],
        "status": TaskStatus(status),
        "output_data": body.get("outputData"),
        "reason_for_incompletion": body.get("reasonForIncompletion"),
        "callback_after_seconds": body.get("callbackAfterSeconds"),
        "worker_id": body.get("workerId"),
        "external_output_payload_storage_path": body.get("externalOutputPayloadStoragePath"),
        "extend_lease": body.get("extendLease"),
        "claim_token": body.get("claimToken"),
    }


# ---------------------------------------------------------------------------------------- extend


class ExtendTaskRequestForm(WireSchema):
    """Keep a claim for ``leaseSeconds`` from now, and say how far the work is."""

    claim_token = Whole(required=True, least=1)
    lease_seconds = Whole(least=0, most=86_400)
    worker_id = Text()
    progress = Payload()


_EXTEND = ExtendTaskRequestForm()


def read_extend(task_id: str, body: object) -> ExtendRequest:
    """Read the request to keep a claim."""
    members = load(_EXTEND, body)
    return ExtendRequest(
        task_id=task_id,
        claim=members["claim_token"],
        worker=members.get("worker_id", ""),
        lease_s=members.get("lease_seconds", 0),
        progress=members.get("progress"),
    )


FORMS: tuple[WireSchema, ...] = (_START, _RESULT, TASK_LOG, _EXTEND)
"""The forms of this module, for the published schemas."""


def _exact(body: dict[str, Any], types: Mapping[str, tuple[type, ...]]) -> bool:
    for name, value in body.items():
        expected = types.get(name)
        if expected is None:
            continue
        if type(value) not in expected or (type(value) is int and not -INT64 <= value < INT64):
            return False
    return True


def _wrong(path: str, message: str, value: str | None = None) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message, invalid_value=value),))
