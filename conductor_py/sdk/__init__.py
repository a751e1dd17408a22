"""What the author of a worker or of a client program imports.

It works with threads, and with one event loop for ``async`` functions. It needs the standard
library and orjson, talks to the server over HTTP only and knows nothing of its engine or stores.
Who builds a DAG or a workflow has it held to the rules that the server reads definitions by; they
are loaded then, and need marshmallow.
"""

from __future__ import annotations

from conductor_py.errors import (
    ClaimLost,
    ConductorError,
    ConfigurationError,
    Conflict,
    DefinitionError,
    EpochConflict,
    InvalidInput,
    LimitExceeded,
    NotesConflict,
    NotFound,
    Overloaded,
    PayloadTooLarge,
    StoreUnavailable,
    Violation,
)
from conductor_py.sdk.backoff import Backoff
from conductor_py.sdk.checkpoints import Checkpoint, Checkpoints, StartingPoint, TaskRequest
from conductor_py.sdk.client import Client
from conductor_py.sdk.clock import Clock, SystemClock
from conductor_py.sdk.context import TaskContext, task_context
from conductor_py.sdk.dag import Dag
from conductor_py.sdk.dag_tasks import (
    Condition,
    ConditionsTask,
    DagTask,
    SwitchTask,
    all_of,
    any_of,
)
from conductor_py.sdk.errors import (
    AnswerTooLarge,
    CancelRequested,
    NonRetryableError,
    ServerFailure,
    StopRequested,
    TaskCancelled,
    UnexpectedAnswer,
)
from conductor_py.sdk.payloads import PayloadKind
from conductor_py.sdk.runner import Worker
from conductor_py.sdk.task import ResultStatus, Task, TaskInProgress, TaskLog, TaskResult
from conductor_py.sdk.worker import WorkerOptions, WorkerTask, worker_task
from conductor_py.sdk.workflow import Workflow
from conductor_py.sdk.workflow_run import WaitTimeout, WorkflowFailed, WorkflowRun
from conductor_py.sdk.workflow_tasks import (
    ChoiceTask,
    DynamicForkTask,
    ForkTask,
    LoopTask,
    TaskSequence,
    WorkflowTask,
)

__all__ = [
    "AnswerTooLarge",
    "Backoff",
    "CancelRequested",
    "Checkpoint",
    "Checkpoints",
    "ChoiceTask",
    "ClaimLost",
    "Client",
    "Clock",
    "Condition",
    "ConditionsTask",
    "ConductorError",
    "ConfigurationError",
    "Conflict",
    "Dag",
    "DagTask",
    "DefinitionError",
    "DynamicForkTask",
    "EpochConflict",
    "ForkTask",
    "InvalidInput",
    "LimitExceeded",
    "LoopTask",
    "NonRetryableError",
    "NotFound",
    "NotesConflict",
    "Overloaded",
    "PayloadKind",
    "PayloadTooLarge",
    "ResultStatus",
    "ServerFailure",
    "StartingPoint",
    "StopRequested",
    "StoreUnavailable",
    "SwitchTask",
    "SystemClock",
    "Task",
    "TaskCancelled",
    "TaskContext",
    "TaskInProgress",
    "TaskLog",
    "TaskRequest",
    "TaskResult",
    "TaskSequence",
    "UnexpectedAnswer",
    "Violation",
    "WaitTimeout",
    "Worker",
    "WorkerOptions",
    "WorkerTask",
    "Workflow",
    "WorkflowFailed",
    "WorkflowRun",
    "WorkflowTask",
    "all_of",
    "any_of",
    "task_context",
    "worker_task",
]
