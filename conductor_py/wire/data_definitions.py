"""Definitions that come as data while an execution runs: dynamic tasks, inline sub-workflows.

They are as lenient and as strict as those that are registered: the same forms read them, and what
is wrong is refused with its JSON path. A dynamic fork may bring a hundred thousand tasks, most of
them a few members of the right type: these are built by hand, some twenty times faster than by the
form. A test holds both to the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import eq
from typing import Any

import orjson

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.definition_form import camel_case
from conductor_py.model.definitions import (
    SubWorkflowParams,
    TaskDef,
    WorkflowDef,
    WorkflowTask,
    children_of,
)
from conductor_py.model.json import JsonObject
from conductor_py.wire.definition_reader import moved
from conductor_py.wire.definitions import SUB_WORKFLOW_PARAMS, TASK_DEF, WORKFLOW_DEF, WORKFLOW_TASK
from conductor_py.wire.fields import INT64, Cases, Flag, Many, Payload, Text, Texts, Whole, load
from conductor_py.wire.validation import Limits

_REMEMBERED = 256
_LARGEST_REMEMBERED = 64 * 1024

_Exact = Callable[[Any], bool]
"""Whether a value has the type of its member already."""


def read_tasks(tasks: Sequence[JsonObject]) -> tuple[WorkflowTask, ...]:
    """Read tasks of a workflow; ``InvalidInput`` lists what is wrong with the first bad one."""
    return tuple(_short(task) or _by_form(task, f"$[{index}]") for index, task in enumerate(tasks))


def read_workflow(body: JsonObject) -> WorkflowDef:
    """Read a workflow definition (``InvalidInput``); the same one when the same text comes
    again.
    """
    text = _text(body)
    if len(text) <= _LARGEST_REMEMBERED:
        return _remembered_workflow(text)
    return _read_workflow(text)


def _read_workflow(text: bytes) -> WorkflowDef:
    definition: WorkflowDef = load(WORKFLOW_DEF, orjson.loads(text))
    return definition


_remembered_workflow = lru_cache(maxsize=_REMEMBERED)(_read_workflow)


def _read_task_def(text: bytes) -> TaskDef:
    definition: TaskDef = load(TASK_DEF, orjson.loads(text))
    return definition


def _read_sub_workflow(text: bytes) -> SubWorkflowParams:
    params: SubWorkflowParams = load(SUB_WORKFLOW_PARAMS, orjson.loads(text))
    return params


_SHARED: Mapping[str, tuple[str, Callable[[bytes], Any]]] = {
    "taskDefinition": ("task_definition", lru_cache(maxsize=_REMEMBERED)(_read_task_def)),
    "subWorkflowParam": ("sub_workflow_param", lru_cache(maxsize=_REMEMBERED)(_read_sub_workflow)),
}
"""Members that many branches have alike: read once for each text."""


def _by_form(value: JsonObject, root: str) -> WorkflowTask:
    try:
        task: WorkflowTask = load(WORKFLOW_TASK, orjson.loads(_text(value)))
    except InvalidInput as error:
        if not error.violations:
            raise
        raise type(error)(violations=moved(error.violations, root)) from error
    level, most = [task], Limits().max_depth
    for _ in range(most):
        level = [inner for outer in level for _, body in children_of(outer) for inner in body]
        if not level:
            return task
    message = f"must not be nested more than {most} tasks deep"
    raise InvalidInput(violations=(Violation(path=root, message=message),))


def _short(value: JsonObject) -> WorkflowTask | None:
    """Build a task whose members all have their type; ``None``: the form is to read it."""
    members = _plain_members(value)
    if members is None or "name" not in members or "task_reference_name" not in members:
        return None
    for name, (attribute, read) in _SHARED.items():
        inline = value.get(name)
        if inline is None:
            continue
        shared = _shared(name, inline, members["name"], read)
        if shared is None:
            return None
        members[attribute] = shared
    return WorkflowTask(**members)


def _plain_members(value: JsonObject) -> dict[str, Any] | None:
    members: dict[str, Any] = {}
    for name, present in value.items():
        attribute, exact = _MEMBERS.get(name, _UNKNOWN)
        if present is None:
            if name == "type":
                return None
        elif not exact(present):
            return None
        elif attribute:
            members[attribute] = tuple(present) if type(present) is list else present
    return members


def _shared(name: str, value: object, of: str, read: Callable[[bytes], Any]) -> Any:  # noqa: ANN401
    if not isinstance(value, Mapping):
        return None
    if name == "taskDefinition" and value.get("name") is None:
        value = {**value, "name": of}
    text = _text(value)
    if len(text) > _LARGEST_REMEMBERED:
        return None
    try:
        return read(text)
    except InvalidInput:
        return None  # the form says what is wrong, and where


def _text(value: object) -> bytes:
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError as error:
        raise InvalidInput(f"A definition is not JSON: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return list(value)
    raise TypeError


def _exact(field: object) -> _Exact | None:
    """How to see that a member of a form needs no reading; ``None`` when that is not simple."""
    if type(field) is Whole:
        least = -INT64 if field.least is None else field.least
        most = INT64 - 1 if field.most is None else field.most
        return lambda value: type(value) is int and least <= value <= most
    return _SIMPLE.get(type(field))


_SIMPLE: Mapping[type, _Exact] = {
    Text: lambda value: type(value) is str,
    Flag: lambda value: type(value) is bool,
    Payload: lambda value: type(value) is dict,
    Texts: lambda value: type(value) is list and all(type(one) is str for one in value),
}


def _members() -> Iterator[tuple[str, tuple[str, _Exact]]]:
    for attribute, field in WORKFLOW_TASK.fields.items():
        name = camel_case(attribute)
        exact = _exact(field)
        if name in _SHARED:
            yield name, _UNKNOWN
        elif exact is not None:
            yield name, (attribute, exact)
        elif isinstance(field, Many):
            # An empty list or object is what it is anyway; all else is left to the form.
            yield name, ("", partial(eq, {} if isinstance(field, Cases) else []))
        else:
            yield name, ("", lambda _: False)


_UNKNOWN: tuple[str, _Exact] = ("", lambda _: True)
_MEMBERS: Mapping[str, tuple[str, _Exact]] = {
    **dict(_members()),
    "workflowTaskType": ("", lambda _: False),
}
"""By JSON name: the attribute that takes a value as it is (empty: none does), and whether it may.
"""
