"""Short words for tests: definitions as JSON objects, and engines to run them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conductor_py.model.requests import ExtendRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.testing import MemoryEngine
from conductor_py.testing.definitions import (
    Json,
    conditions,
    dag,
    do_while,
    dynamic_fork,
    for_each,
    fork,
    fork_inputs,
    inline,
    join,
    policy,
    set_variable,
    simple,
    sub_workflow,
    switch,
    terminate,
    times,
    typed,
    wait,
    workflow,
)

__all__ = [
    "Json",
    "conditions",
    "dag",
    "do_while",
    "dynamic_fork",
    "extend",
    "fail",
    "for_each",
    "fork",
    "fork_inputs",
    "inline",
    "join",
    "pass_time",
    "policy",
    "report",
    "run_failing",
    "set_variable",
    "simple",
    "status_of",
    "sub_workflow",
    "switch",
    "task_of",
    "tasks_of",
    "terminate",
    "times",
    "typed",
    "wait",
    "workflow",
]

# -- what a story does -----------------------------------------------------------------------------


def fail(engine: MemoryEngine, task: Mapping[str, Any], reason: str | None = None) -> None:
    engine.complete(task, status="FAILED", reason=reason)


def run_failing(engine: MemoryEngine, task_type: str, reason: str | None = None) -> Json:
    (task,) = engine.poll(task_type)
    fail(engine, task, reason)
    return task


def report(engine: MemoryEngine, task: Mapping[str, Any], **facts: Any) -> None:
    """Report with every attribute of the result open to the test."""
    status = TaskStatus(facts.pop("status", "COMPLETED"))
    result = TaskResult(
        workflow_id=task["workflowInstanceId"], task_id=task["taskId"], status=status, **facts
    )
    engine.engine.tasks.update(result)


def extend(engine: MemoryEngine, task: Mapping[str, Any], **facts: Any) -> int:
    claim = facts.pop("claim", task.get("claimToken", 0))
    request = ExtendRequest(task_id=task["taskId"], claim=claim, worker="worker", **facts)
    return engine.engine.tasks.extend(request)


def tasks_of(engine: MemoryEngine, workflow_id: str, ref: str) -> list[Json]:
    """Every attempt of a reference, oldest first."""
    tasks = engine.workflow(workflow_id)["tasks"]
    return [task for task in tasks if task["referenceTaskName"] == ref]


def task_of(engine: MemoryEngine, workflow_id: str, ref: str) -> Json:
    """The newest attempt of a reference."""
    return tasks_of(engine, workflow_id, ref)[-1]


def pass_time(engine: MemoryEngine, *, seconds: float = 0, milliseconds: int = 0) -> None:
    """Let time pass and what is due happen."""
    engine.clock.advance(seconds=seconds, milliseconds=milliseconds)
    engine.settle()


def status_of(engine: MemoryEngine, workflow_id: str) -> str:
    status: str = engine.workflow(workflow_id)["status"]
    return status
