"""Definitions as plain JSON objects under Conductor's names, and back.

The names are derived from the attributes (snake case to camel case), so that a new attribute needs
nothing here. Absent and ``null`` members take the attribute's default, unknown members are ignored,
``None`` is never written. Nothing is checked: what users send goes through ``wire``, what comes in
here was written by these functions. Objects are shared with the value they were made of and must
not be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from conductor_py.model.definitions import (
    Relation,
    SubWorkflowParams,
    TaskDef,
    WorkflowDef,
    WorkflowTask,
)
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass, made

Json = dict[str, Any]
"""A JSON object that was made here."""


def camel_case(attribute: str) -> str:
    """Give the JSON name of an attribute."""
    first, *rest = attribute.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def workflow_to_json(definition: WorkflowDef, *, sparse: bool = False) -> Json:
    """Write a workflow definition; ``sparse`` leaves out what equals its default."""
    return _write(definition, _WORKFLOW, sparse)


def workflow_from_json(stored: JsonObject) -> WorkflowDef:
    """Read a workflow definition."""
    return WorkflowDef(**_read(stored, _WORKFLOW))


def task_to_json(task: WorkflowTask, *, sparse: bool = False) -> Json:
    """Write a task of a workflow definition."""
    return _write(task, _TASK, sparse)


def task_from_json(stored: JsonObject) -> WorkflowTask:
    """Read a task of a workflow definition."""
    return made(WorkflowTask, **_read(stored, _TASK))


def task_def_to_json(definition: TaskDef, *, sparse: bool = False) -> Json:
    """Write a task definition."""
    return _write(definition, _TASK_DEF, sparse)


def task_def_from_json(stored: JsonObject) -> TaskDef:
    """Read a task definition."""
    return made(TaskDef, **_read(stored, _TASK_DEF))


# -------------------------------------------------------------------------------- derivation

_Write = Callable[[Any, bool], Any]
_Read = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    attribute: str
    name: str
    default: Any
    write: _Write | None
    read: _Read | None
    own: bool


_Form = dict[str, _Member]
"""The members of a type by JSON name."""


def _write(value: object, form: _Form, sparse: bool) -> Json:  # noqa: FBT001 - private, hot
    written: Json = {}
    for name, member in form.items():
        present = getattr(value, member.attribute)
        if present is None or ((sparse or member.own) and present == member.default):
            continue
        written[name] = present if member.write is None else member.write(present, sparse)
    return written


def _read(stored: JsonObject, form: _Form, known: dict[str, object] | None = None) -> Json:
    """Read the members. What is small is shared with the siblings that had the same: of ten
    thousand branches of a fork most have one task definition. ``known`` is what they had, by name
    and text (by value a 1 would be the same as a true).
    """
    values: Json = {}
    for name, present in stored.items():
        member = form.get(name)
        if member is None or present is None:
            continue
        if member.read is None:
            values[member.attribute] = present
        elif known is None or not _is_flat(present):
            values[member.attribute] = member.read(present)
        else:
            text = f"{name} {present}"
            if text not in known:
                known[text] = member.read(present)
            values[member.attribute] = known[text]
    return values


def _is_flat(stored: object) -> bool:
    return isinstance(stored, dict) and not any(
        isinstance(inner, (dict, list)) for inner in stored.values()
    )


def _write_tasks(tasks: tuple[WorkflowTask, ...], sparse: bool) -> list[Json]:  # noqa: FBT001
    return [_write(task, _TASK, sparse) for task in tasks]


def _read_tasks(stored: list[Json]) -> tuple[WorkflowTask, ...]:
    known: dict[str, object] = {}
    return tuple(made(WorkflowTask, **_read(task, _TASK, known)) for task in stored)


def _read_inline(stored: Json | str) -> WorkflowDef | str:
    return stored if isinstance(stored, str) else workflow_from_json(stored)


_PLAIN_OBJECT: tuple[_Write, _Read | None] = (lambda value, _: dict(value), None)
_KINDS: Mapping[str, tuple[_Write, _Read | None]] = {
    "JsonObject": _PLAIN_OBJECT,
    "JsonObject | None": _PLAIN_OBJECT,
    "Mapping[str, str] | None": _PLAIN_OBJECT,
    "tuple[str, ...]": (lambda value, _: list(value), tuple),
    "tuple[WorkflowTask, ...]": (_write_tasks, _read_tasks),
    "tuple[tuple[WorkflowTask, ...], ...]": (
        lambda value, sparse: [_write_tasks(branch, sparse) for branch in value],
        lambda stored: tuple(_read_tasks(branch) for branch in stored),
    ),
    "Mapping[str, tuple[WorkflowTask, ...]]": (
        lambda value, sparse: {name: _write_tasks(body, sparse) for name, body in value.items()},
        lambda stored: {name: _read_tasks(body) for name, body in stored.items()},
    ),
    "tuple[Relation, ...]": (
        lambda value, sparse: [_write(relation, _RELATION, sparse) for relation in value],
        lambda stored: tuple(made(Relation, **_read(each, _RELATION)) for each in stored),
    ),
    "TaskDef | None": (lambda value, sparse: _write(value, _TASK_DEF, sparse), task_def_from_json),
    "SubWorkflowParams | None": (
        lambda value, sparse: _write(value, _SUB_WORKFLOW, sparse),
        lambda stored: SubWorkflowParams(**_read(stored, _SUB_WORKFLOW)),
    ),
    "WorkflowDef | str | None": (
        lambda value, sparse: value if isinstance(value, str) else _write(value, _WORKFLOW, sparse),
        _read_inline,
    ),
}
"""How the annotations that are not scalars are written and read."""


_OWN = frozenset(
    {
        "relations",
        "failureStrategy",
        "triggerRule",
        "prohibited",
        "taskPriority",
        "parameters",
        "outParameters",
    }
)
"""Members that Conductor does not have: its clients see them only where they say something."""


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    # A required member has no default: MISSING equals no value, so it is always written.
    return field.default


def _form(kind: type) -> _Form:
    form: _Form = {}
    for field in fields(kind):
        write, read = _KINDS.get(str(field.type), (None, None))
        name = camel_case(field.name)
        form[name] = _Member(
            attribute=field.name,
            name=name,
            default=_default(field),
            write=write,
            read=read,
            own=name in _OWN,
        )
    return form


_RELATION: _Form = _form(Relation)
_WORKFLOW: _Form = _form(WorkflowDef)
_TASK: _Form = _form(WorkflowTask)
_TASK_DEF: _Form = _form(TaskDef)
_SUB_WORKFLOW: _Form = _form(SubWorkflowParams)
