# ruff: noqa: ANN401 - a definition is JSON, and any of its attributes may be given
"""Definitions as JSON objects: short words for tests.

Every builder gives what a user would write; whatever is passed by keyword is taken as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]


def workflow(name: str, *tasks: Json, **more: Any) -> Json:
    """A definition, version 1."""
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
    """A task of any type."""
    return {"name": ref, "taskReferenceName": ref, "type": type_, "inputParameters": {}, **more}


def fork(ref: str, *branches: Iterable[Json], **more: Any) -> Json:
    """A fork of branches; what waits for them is a task of its own."""
    return typed("FORK_JOIN", ref, forkTasks=[list(branch) for branch in branches], **more)


def join(ref: str, *on: str, **more: Any) -> Json:
    """What waits for references."""
    return typed("JOIN", ref, joinOn=list(on), **more)


def switch(
    ref: str, value: Any, cases: Mapping[str, list[Json]], default: Iterable[Json] = (), **more: Any
) -> Json:
    """A choice by value."""
    return {
        **typed("SWITCH", ref, **more),
        "inputParameters": {"case": value},
        "evaluatorType": "value-param",
        "expression": "case",
        "decisionCases": dict(cases),
        "defaultCase": list(default),
    }


def set_variable(ref: str, **values: Any) -> Json:
    """Sets workflow variables."""
    return typed("SET_VARIABLE", ref, inputParameters=values)


def terminate(ref: str, status: str = "COMPLETED", **more: Any) -> Json:
    """Ends the execution."""
    return typed("TERMINATE", ref, inputParameters={"terminationStatus": status, **more})


def inline(ref: str, expression: str, **inputs: Any) -> Json:
    """Evaluates JavaScript."""
    parameters = {"evaluatorType": "javascript", "expression": expression, **inputs}
    return typed("INLINE", ref, inputParameters=parameters)


def wait(ref: str, **inputs: Any) -> Json:
    """Waits for a time, or for somebody."""
    return typed("WAIT", ref, inputParameters=inputs)


def do_while(ref: str, condition: str, *body: Json, **more: Any) -> Json:
    """A loop by condition."""
    return typed("DO_WHILE", ref, loopCondition=condition, loopOver=list(body), **more)


def times(ref: str, count: int, *body: Json, **more: Any) -> Json:
    """A loop that repeats its body so many times, by a condition."""
    return do_while(ref, f"$.{ref}['iteration'] < {count}", *body, **more)


def for_each(ref: str, items: list[Any], *body: Json, **more: Any) -> Json:
    """A loop over a list."""
    return do_while(ref, "", *body, inputParameters={"_items": items}, **more)


def sub_workflow(ref: str, child: Json | str, **more: Any) -> Json:
    """Starts another workflow, inline or registered, and waits for it."""
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


def dag(name: str, tasks: Iterable[Json], *edges: str, **more: Any) -> Json:
    """A DAG. Edges are ``a > b``, or ``a -label> b``; the label may be ``case:value``."""
    relations = [_relation(edge) for edge in edges]
    if not relations:
        relations = [{"postTask": task["taskReferenceName"]} for task in tasks]
    return workflow(name, *tasks, relations=relations, **more)


def _relation(edge: str) -> Json:
    before, after = edge.rsplit(">", 1)
    before, _, label = before.partition(" -")
    label, _, case = label.partition(":")
    found = {"preTask": before.strip(), "postTask": after.strip(), "label": label.strip() or "ok"}
    return found | ({"case": case.strip()} if case else {})


def conditions(ref: str, condition: Json | None = None, **more: Any) -> Json:
    """A judgement over the tasks before it."""
    return typed("CONDITIONS", ref, **more) | {
        "inputParameters": {"condition": condition} if condition else {}
    }
