"""Definitions as canonical bytes: the same definition always gives the same bytes.

Members are sorted by name. ``sparse`` leaves out what equals its default; such bytes are hashed and
stored in plans, and a default that is changed in the model would change what they mean: give the
member another name instead.
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


def dump_workflow(definition: WorkflowDef, *, sparse: bool = False) -> bytes:
    """Write a workflow definition."""
    return _dump(workflow_to_json(definition, sparse=sparse))


def load_workflow(stored: bytes) -> WorkflowDef:
    """Read what ``dump_workflow`` wrote, sparse or not."""
    return workflow_from_json(orjson.loads(stored))


def dump_task_def(definition: TaskDef, *, sparse: bool = False) -> bytes:
    """Write a task definition."""
    return _dump(task_def_to_json(definition, sparse=sparse))


def load_task_def(stored: bytes) -> TaskDef:
    """Read what ``dump_task_def`` wrote, sparse or not."""
    return task_def_from_json(orjson.loads(stored))


def _dump(form: Json) -> bytes:
    return orjson.dumps(form, option=orjson.OPT_SORT_KEYS)
