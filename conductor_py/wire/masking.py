"""Masked fields: members whose values nobody who reads an execution gets to see.

A workflow definition lists their names (``maskedFields``); they are masked wherever they stand in
its input, output and variables and in the input and output of its tasks. Workers get the values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from conductor_py.model.json import JsonObject, JsonValue

MASK: Final = "***"
"""What stands in the place of a value."""

_PAYLOADS: Final = ("input", "output", "variables")
_TASK_PAYLOADS: Final = ("inputData", "outputData")


def masked(document: JsonObject, names: Collection[str]) -> JsonObject:
    """Give a document without the values of the named members, at any depth."""
    if not names:
        return document
    return {
        name: MASK if name in names else _inside(item, names) for name, item in document.items()
    }


def masked_execution(document: Mapping[str, Any]) -> dict[str, Any]:
    """Mask an archived execution by what its own definition says."""
    names = frozenset(document.get("workflowDefinition", {}).get("maskedFields") or ())
    shown = dict(document)
    if names:
        shown |= {name: masked(shown[name], names) for name in _PAYLOADS if name in shown}
        shown["tasks"] = [masked_task(task, names) for task in shown.get("tasks", ())]
    return shown


def masked_task(task: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Mask the input and output of an archived task."""
    return {**task, **{name: masked(task[name], names) for name in _TASK_PAYLOADS if name in task}}


def _inside(value: JsonValue, names: Collection[str]) -> JsonValue:
    if isinstance(value, Mapping):
        return masked(value, names)
    if isinstance(value, list | tuple):
        return [_inside(item, names) for item in value]
    return value
