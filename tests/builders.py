"""Definitions as JSON objects, and engines to run them: short words for tests.

Every builder gives what a user would write; whatever is passed by keyword is taken as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conductor_py.model.requests import ExtendRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.testing import MemoryEngine

Json = dict[str, Any]


def workflow(name: str, *tasks: Json, **more: Any) -> Json:
    return {"name": name, "version": 1, "tasks": list(tasks), **more}


def simple(ref: str, **more: Any) -> Json:
    """A worker task named after its reference; it fails for good at its first failure."""
    return {
        "name": ref,
        "taskReferenceName": ref,
        "type": "SIMPLE",
        "inputParameters": {},
        "retryCount": 0,
        **more,
    }


def policy(ref: str, **facts: Any) -> Json:
    """A worker task whose definition is given with it."""
    task = simple(ref, taskDefinition={"name": ref, "retryDelaySeconds": 0, **facts})
    del task["retryCount"]
    return task


def typed(type_: str, ref: str, **more: Any) -> Json:
    return {"name": ref, "taskReferenceName": ref, "type": type_, "inputParameters": {}, **more}


def fork(ref: str, *branches: Iterable[Json], **more: Any) -> Json:
    return typed("FORK_JOIN", ref, forkTasks=[list(branch) for branch in branches], **more)


def join(ref: str, *on: str, **more: Any) -> Json:
    return typed("JOIN", ref, joinOn=list(on), **more)


def switch(
    ref: str, value: Any, cases: Mapping[str, list[Json]], default: Iterable[Json] = (), **more: Any
) -> Json:
    return {
        **typed("SWITCH", ref, **more),
        "inputParameters": {"case": value},
        "evaluatorType": "value-param",
        "expression": "case",
        "decisionCases": dict(cases),
        "defaultCase": list(default),
    }


def set_variable(ref: str, **values: Any) -> Json:
    return typed("SET_VARIABLE", ref, inputParameters=values)


def terminate(ref: str, status: str = "COMPLETED", **more: Any) -> Json:
    return typed("TERMINATE", ref, inputParameters={"terminationStatus": status, **more})


def inline(ref: str, expression: str, **inputs: Any) -> Json:
    parameters = {"evaluatorType": "javascript", "expression": expression, **inputs}
    return typed("INLINE", ref, inputParameters=parameters)


def wait(ref: str, **inputs: Any) -> Json:
    return typed("WAIT", ref, inputParameters=inputs)


def do_while(ref: str, condition: str, *body: Json, **more: Any) -> Json:
    return typed("DO_WHILE", ref, loopCondition=condition, loopOver=list(body), **more)


def times(ref: str, count: int, *body: Json, **more: Any) -> Json:
    """A loop that repeats its body so many times, by a condition."""
    return do_while(ref, f"$.{ref}['iteration'] < {count}", *body, **more)


def for_each(ref: str, items: list[Any], *body: Json, **more: Any) -> Json:
    return do_while(ref, "", *body, inputParameters={"_items": items}, **more)


def sub_workflow(ref: str, child: Json | str, **more: Any) -> Json:
    if isinstance(child, str):
        params: Json = {"name": child}
    else:
        params = {"name": child["name"], "workflowDefinition": child}
    return typed("SUB_WORKFLOW", ref, subWorkflowParam=params, **more)


def dynamic_fork(ref: str, **more: Any) -> Json:
    """A dynamic fork whose branches and inputs come from the workflow's input."""
    return typed(
        "FORK_JOIN_DYNAMIC",
        ref,
        dynamicForkTasksParam="branches",
        dynamicForkTasksInputParamName="inputs",
        inputParameters={
            "branches": "${workflow.input.branches}",
            "inputs": "${workflow.input.inputs}",
        },
        **more,
    )


def fork_inputs(ref: str, inputs: Any, **parameters: Any) -> Json:
    """A dynamic fork over a list of inputs for one task."""
    return typed("FORK_JOIN_DYNAMIC", ref, inputParameters={"forkTaskInputs": inputs, **parameters})


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
