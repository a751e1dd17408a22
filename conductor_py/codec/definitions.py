"""Definitions as canonical bytes: the same definition always gives the same bytes, with members
sorted by name.
"""

from __future__ import annotations

import orjson

from conductor_py.model.definition_form import (
    Json,
    task_def_from_json,
    task_def_to_json,
    task_from_json,
    task_to_json,
    workflow_from_json,
    workflow_to_json,
)
from conductor_py.model.definitions import TaskDef, WorkflowDef

__all__ = [
    "Json",
    "dump_task_def",
    "dump_workflow",
    "load_task_def",
    "load_workflow",
    "task_def_from_json",
    "task_def_to_json",
    "task_from_json",
    "task_to_json",
    "workflow_from_json",
    "workflow_to_json",
]


def dump_workflow(definition: WorkflowDef) -> bytes:
    """Write a workflow definition."""
    return _dump(workflow_to_json(definition))


def load_workflow(stored: bytes) -> WorkflowDef:
    """Read what ``dump_workflow`` wrote."""
    return workflow_from_json(orjson.loads(stored))


def dump_task_def(definition: TaskDef) -> bytes:
    """Write a task definition."""
    return _dump(task_def_to_json(definition))


def load_task_def(stored: bytes) -> TaskDef:
    """Read what ``dump_task_def`` wrote."""
    return task_def_from_json(orjson.loads(stored))


def _dump(form: Json) -> bytes:
    return orjson.dumps(form, option=orjson.OPT_SORT_KEYS)
