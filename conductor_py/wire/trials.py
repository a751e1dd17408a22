"""The body of a trial (on the wire: workflow test): a start, and mocks for its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.status import TaskStatus
from conductor_py.model.trial import Mock, Mocks, Trial
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.fields import (
    TEN_YEARS_S,
    Cases,
    Choice,
    One,
    Payload,
    Whole,
    WireSchema,
    load,
    members,
)
from conductor_py.wire.requests import RESULT_STATUSES, StartWorkflowRequestForm, read_start

_MAX_MOCKS = 20_000
_TEN_YEARS_MS = TEN_YEARS_S * 1000


def _mock(
    status: TaskStatus = TaskStatus.COMPLETED,
    output: Mapping[str, Any] | None = None,
    execution_time: int = 0,
    queue_wait_time: int = 0,
) -> Mock:
    return Mock(
        status=status, output=output or {}, work_ms=execution_time, queue_ms=queue_wait_time
    )


class TaskMockForm(WireSchema):
    """How one attempt of a task goes; both times are in milliseconds."""

    model = staticmethod(_mock)

    status = Choice(RESULT_STATUSES, make=TaskStatus)
    output = Payload()
    execution_time = Whole(least=0, most=_TEN_YEARS_MS)
    queue_wait_time = Whole(least=0, most=_TEN_YEARS_MS)


_MOCK = TaskMockForm()


class _ByReference(One):
    """Objects of another form by the reference of a task."""

    def load(self, value: Any) -> Any:  # noqa: ANN401
        return members(value, super().load)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": super().json_schema()}


def _mocks(
    task_ref_to_mock_output: Mapping[str, tuple[Mock, ...]] | None = None,
    sub_workflow_test_request: Mapping[str, Mocks] | None = None,
    **_: object,
) -> Mocks:
    return Mocks(attempts=task_ref_to_mock_output or {}, inner=sub_workflow_test_request or {})


class SubWorkflowTestRequestForm(WireSchema):
    """Mocks for the tasks of an execution that a SUB_WORKFLOW starts."""

    model = staticmethod(_mocks)

    task_ref_to_mock_output = Cases(lambda: _MOCK)
    sub_workflow_test_request = _ByReference(lambda: _INNER)


_INNER: WireSchema = SubWorkflowTestRequestForm()


class WorkflowTestRequestForm(StartWorkflowRequestForm):
    """Run a workflow apart from all others, its tasks answered by mocks, one for each attempt."""

    model: Callable[..., Any] = staticmethod(_mocks)

    task_ref_to_mock_output = Cases(lambda: _MOCK)
    sub_workflow_test_request = _ByReference(lambda: _INNER)


_TRIAL = WorkflowTestRequestForm()

FORMS: tuple[WireSchema, ...] = (_TRIAL, _INNER, _MOCK)
"""The forms of this module, for the published schemas."""


def read_trial(body: Any, definitions: DefinitionReader) -> Trial:  # noqa: ANN401 - any JSON value
    """Read the request for a trial."""
    start = read_start(body, definitions)
    if start.external_input:
        path = "$.externalInputPayloadStoragePath"
        raise _wrong(path, "must not be given: a test has its input in the request")
    mocks: Mocks = load(_TRIAL, body)
    if _count(mocks) > _MAX_MOCKS:
        message = f"must not hold more than {_MAX_MOCKS} mocks"
        raise _wrong("$.taskRefToMockOutput", message)
    # A key would answer with an execution that is none of this trial.
    return Trial(start=replace(start, idempotency_key=None), mocks=mocks)


def _count(mocks: Mocks) -> int:
    here = sum(len(found) for found in mocks.attempts.values())
    return here + sum(_count(inner) for inner in mocks.inner.values())


def _wrong(path: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message),))
