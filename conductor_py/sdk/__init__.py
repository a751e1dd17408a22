"""What the author of a worker or of a client program imports.

Synchronous, with threads; it needs the standard library and orjson. It talks to the server over
HTTP only and knows nothing of its engine or stores.
"""

from __future__ import annotations

from conductor_py.errors import (
    ConductorError,
    ConfigurationError,
    Conflict,
    DefinitionError,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PayloadTooLarge,
    StoreUnavailable,
    Violation,
)
from conductor_py.sdk.backoff import Backoff
from conductor_py.sdk.client import Client
from conductor_py.sdk.clock import Clock, SystemClock
from conductor_py.sdk.context import TaskContext, task_context
from conductor_py.sdk.errors import (
    NonRetryableError,
    ServerFailure,
    TaskCancelled,
    UnexpectedAnswer,
)
from conductor_py.sdk.payloads import PayloadKind
from conductor_py.sdk.runner import Worker
from conductor_py.sdk.task import ResultStatus, Task, TaskInProgress, TaskLog, TaskResult
from conductor_py.sdk.worker import WorkerOptions, WorkerTask, worker_task

__all__ = [
    "Backoff",
    "Client",
    "Clock",
    "ConductorError",
    "ConfigurationError",
    "Conflict",
    "DefinitionError",
    "InvalidInput",
    "LimitExceeded",
    "NonRetryableError",
    "NotFound",
    "PayloadKind",
    "PayloadTooLarge",
    "ResultStatus",
    "ServerFailure",
    "StoreUnavailable",
    "SystemClock",
    "Task",
    "TaskCancelled",
    "TaskContext",
    "TaskInProgress",
    "TaskLog",
    "TaskResult",
    "UnexpectedAnswer",
    "Violation",
    "Worker",
    "WorkerOptions",
    "WorkerTask",
    "task_context",
    "worker_task",
]
