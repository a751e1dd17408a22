"""Masked fields: members whose values nobody who reads an execution gets to see.

A workflow definition lists their names (``maskedFields``); they are masked wherever they stand in
its input, output and variables and in the input, output and progress of its tasks. What stands
there is masked as well where it comes back in another member, in a reason or in a log line of the
same task, or is a value of the execution itself. A document in payload storage is not shown.
Workers and expressions get the values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from conductor_py.model.afresh import mapped
from conductor_py.model.execution import Document, External
from conductor_py.model.json import JsonObject
from conductor_py.model.masking import Masker, masked, values_in
from conductor_py.model.view import ExecutionView, TaskView

_PAYLOADS: Final = ("input", "output", "variables")
_TASK_PAYLOADS: Final = ("inputData", "outputData", "progress")


def hidden_execution(view: ExecutionView) -> ExecutionView:
    """Give what readers see of an execution: with masked fields, not their values."""
    names = frozenset(view.definition.masked_fields)
    if not names:
        return view
    masker = _execution_masker(view)
    reason = view.ending.reason
    return replace(
        view,
        input=_hidden(view.input, names, masker),
        output=_hidden(view.output, names, masker),
        variables=_hidden(view.variables, names, masker),
        ending=replace(view.ending, reason=masker.reason(reason) if reason else reason),
        tasks=mapped(lambda task: hidden_task(task, masker), view.tasks),
    )


def hidden_task(view: TaskView, beside: Masker | None = None) -> TaskView:
    """Give what readers see of a task; one that is handed out masks nothing. ``beside`` has the
    values of the execution.
    """
    names = view.masked
    if not names:
        return view
    masker, attempt, task = task_masker(view, beside), view.attempt, view.task
    if not view.authored:
        task = replace(task, input_parameters=_hidden(task.input_parameters, names, masker))
    if attempt.reason:
        attempt = replace(attempt, reason=masker.reason(attempt.reason))
    return replace(
        view,
        attempt=attempt,
        task=task,
        input=_hidden(view.input, names, masker),
        output=_hidden(view.output, names, masker),
        progress=None if view.progress is None else _hidden(view.progress, names, masker),
        masked=frozenset(),
    )


def task_masker(view: TaskView, beside: Masker | None = None) -> Masker:
    """What takes the values out of texts that a task has written; ``beside`` as above."""
    documents = (view.input, view.output, view.progress or {})
    own = (value for each in documents for value in values_in(_inline(each), view.masked))
    known = view.hidden if beside is None else beside
    return (Masker(()) if known is None else known).joined(own)


def log_maskers(view: ExecutionView, seqs: Collection[int]) -> Mapping[int, Masker]:
    """What takes the values out of the log lines of these attempts, by number; of an execution
    without masked fields there are none.
    """
    if not view.definition.masked_fields:
        return {}
    masker = _execution_masker(view)
    seen = (task for task in view.tasks if task.attempt.seq in seqs)
    return {task.attempt.seq: task_masker(task, masker) for task in seen}


def masked_execution(document: Mapping[str, Any]) -> dict[str, Any]:
    """Mask an archived execution by what its own definition says: one that was archived before
    archives were masked.
    """
    names = frozenset(document.get("workflowDefinition", {}).get("maskedFields") or ())
    shown = dict(document)
    if names:
        shown |= {name: masked(shown[name], names) for name in _PAYLOADS if name in shown}
        shown["tasks"] = [_masked_task(task, names) for task in shown.get("tasks", ())]
    return shown


def _masked_task(task: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {**task, **{name: masked(task[name], names) for name in _TASK_PAYLOADS if name in task}}


def _execution_masker(view: ExecutionView) -> Masker:
    names = frozenset(view.definition.masked_fields)
    documents = view.input, view.output, view.variables
    return Masker(value for each in documents for value in values_in(_inline(each), names))


def _hidden(document: Document, names: Collection[str], masker: Masker) -> JsonObject:
    return cast("JsonObject", masker.document(masked(_inline(document), names)))


def _inline(document: Document) -> JsonObject:
    return {} if isinstance(document, External) else document
