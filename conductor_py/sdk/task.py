"""The polled task and its result, as a worker author sees them, with their wire forms.

Replies are read tolerantly: unknown fields are ignored, absent ones get the wire's defaults; only
the two ids must be there. What this module writes has exactly the names of the HTTP dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from conductor_py.errors import InvalidInput
from conductor_py.records import dataclass, field

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject, JsonValue

#: The server keeps no more of a reason than this.
_REASON_CHARACTERS = 500


class OutputRefused(InvalidInput):
    """What a function gave as the output of its task cannot be one: trying again is of no use."""


class ResultStatus(StrEnum):
    """What a worker may say about its task."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    FAILED_WITH_TERMINAL_ERROR = "FAILED_WITH_TERMINAL_ERROR"
    CANCELED = "CANCELED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One attempt handed to this worker.

    ``claim_token`` says that the attempt is ours; it is None where the server issues none. The two
    timeouts are in seconds, 0 meaning none. ``json`` is the whole object as polled.
    """

    task_id: str
    workflow_id: str
    task_type: str
    definition_name: str
    reference_name: str
    workflow_name: str
    input: JsonObject
    output: JsonObject
    external_input_path: str | None
    external_output_path: str | None
    claim_token: int | None
    response_timeout_s: int
    retry_count: int
    poll_count: int
    iteration: int
    seq: int
    priority: int
    domain: str | None
    correlation_id: str | None
    json: JsonObject = field(repr=False)

    @classmethod
    def from_json(cls, polled: JsonObject) -> Task:
        """Read a polled task; raises ``InvalidInput`` when it has no id."""
        task_type = _text(polled, "taskType") or ""
        claim = polled.get("claimToken")
        return cls(
            task_id=_required(polled, "taskId"),
            workflow_id=_required(polled, "workflowInstanceId"),
            task_type=task_type,
            definition_name=_text(polled, "taskDefName") or task_type,
            reference_name=_text(polled, "referenceTaskName") or "",
            workflow_name=_text(polled, "workflowType") or "",
            input=_object(polled, "inputData"),
            output=_object(polled, "outputData"),
            external_input_path=_text(polled, "externalInputPayloadStoragePath"),
            external_output_path=_text(polled, "externalOutputPayloadStoragePath"),
            claim_token=claim if isinstance(claim, int) else None,
            response_timeout_s=_number(polled, "responseTimeoutSeconds"),
            retry_count=_number(polled, "retryCount"),
            poll_count=_number(polled, "pollCount"),
            iteration=_number(polled, "iteration"),
            seq=_number(polled, "seq"),
            priority=_number(polled, "workflowPriority"),
            domain=_text(polled, "domain"),
            correlation_id=_text(polled, "correlationId"),
            json=polled,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLog:
    """One line of a task's log; ``created_ms`` is wall-clock time."""

    line: str
    created_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What happened to a task.

    A worker's function may return one for full control; the runner fills in the ids, the worker and
    the claim. ``callback_after_s`` matters only while IN_PROGRESS: the same attempt is offered
    again after so many seconds.
    """

    status: ResultStatus
    output: JsonObject = field(default_factory=dict)
    reason: str | None = None
    callback_after_s: int = 0
    logs: tuple[TaskLog, ...] = ()
    external_output_path: str | None = None
    task_id: str = ""
    workflow_id: str = ""
    worker_id: str | None = None
    claim_token: int | None = None

    def __post_init__(self) -> None:
        """Take a status by its name too; raises ``ValueError`` for one no worker may give, and
        ``InvalidInput`` for an output that is no object.
        """
        object.__setattr__(self, "status", ResultStatus(self.status))
        _refuse_output(self.output)

    @classmethod
    def completed(cls, output: JsonObject) -> TaskResult:
        """The work is done."""
        return cls(status=ResultStatus.COMPLETED, output=output)

    @classmethod
    def failed(cls, reason: str, *, terminal: bool = False) -> TaskResult:
        """The work failed; ``terminal`` says that trying again is of no use."""
        status = ResultStatus.FAILED_WITH_TERMINAL_ERROR if terminal else ResultStatus.FAILED
        return cls(status=status, reason=reason)

    def answering(self, task: Task, worker_id: str | None) -> TaskResult:
        """Return this result addressed to the task, under its claim."""
        return replace(
            self,
            task_id=task.task_id,
            workflow_id=task.workflow_id,
            worker_id=self.worker_id or worker_id,
            claim_token=task.claim_token,
        )

    def to_json(self) -> dict[str, object]:
        """Return the wire form."""
        wire: dict[str, object] = {
            "workflowInstanceId": self.workflow_id,
            "taskId": self.task_id,
            "status": self.status.value,
            "outputData": self.output,
        }
        optional: Mapping[str, object] = {
            "reasonForIncompletion": self.reason and self.reason[:_REASON_CHARACTERS],
            "callbackAfterSeconds": self.callback_after_s or None,
            "externalOutputPayloadStoragePath": self.external_output_path,
            "workerId": self.worker_id,
            "claimToken": self.claim_token,
            "logs": [
                {"log": log.line, "taskId": self.task_id, "createdTime": log.created_ms}
                for log in self.logs
            ]
            or None,
        }
        wire.update({name: value for name, value in optional.items() if value is not None})
        return wire


@dataclass(frozen=True, slots=True)
class TaskInProgress:
    """Returned by a worker's function: not done; offer the same task again after
    ``callback_after_s`` seconds; 0: at once, again and again as fast as it goes.

    ``output`` replaces what the task has put out so far.
    """

    callback_after_s: int
    output: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a time that has passed, and an output that is no object; raises
        ``InvalidInput``.
        """
        _refuse_output(self.output)
        if self.callback_after_s < 0:
            message = f"callback_after_s is {self.callback_after_s}, and must be 0 or more"
            raise InvalidInput(message)


def _refuse_output(output: object) -> None:
    if output is not None and not isinstance(output, Mapping) and not is_dataclass(output):
        message = (
            "the output of a task is a JSON object, and this is a"
            f' {type(output).__name__}: give it a name, such as {{"result": ...}}'
        )
        raise OutputRefused(message)


def _required(polled: JsonObject, name: str) -> str:
    value = _text(polled, name)
    if not value:
        message = f"the server handed out a task without {name}"
        raise InvalidInput(message)
    return value


def _text(polled: JsonObject, name: str) -> str | None:
    value = polled.get(name)
    return value if isinstance(value, str) else None


def _number(polled: JsonObject, name: str) -> int:
    value = polled.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _object(polled: JsonObject, name: str) -> JsonObject:
    value = polled.get(name)
    return value if isinstance(value, dict) else {}
