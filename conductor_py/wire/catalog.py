"""The catalog as users see it: whole workflows in and out, and what is told of their versions.

A workflow is sent and answered as a whole, as it would be registered; taken apart it is only in the
store. Codes are texts of digits: beyond 2^53 a number loses digits in many readers of JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.catalog import Draft, Edge, Entry, Head, Pin, Saved
from conductor_py.model.catalog_diff import Difference, TaskChange, WorkflowDiff
from conductor_py.model.definitions import LABELS, Relation, WorkflowDef, WorkflowTask
from conductor_py.model.json import JsonObject
from conductor_py.wire.codes import read_code
from conductor_py.wire.data_definitions import read_tasks
from conductor_py.wire.definition_reader import moved
from conductor_py.wire.definitions import WORKFLOW_DEF
from conductor_py.wire.fields import load

_GIVEN: Final = ("version", "createTime", "updateTime")
"""Members of a workflow that the catalog itself gives."""
_RELATION: Final = {
    "preTask": "pre_task",
    "postTask": "post_task",
    "label": "label",
    "case": "case",
}
_USES = "uses"


def read_draft(body: JsonObject) -> Draft:
    """Read a whole workflow as far as it is taken apart; its members are read by ``read_header``
    and ``read_task``. ``InvalidInput`` lists everything that is wrong.
    """
    found = [
        Violation(path=f"$.{name}", message="must not be given: it is the catalog's own")
        for name in _GIVEN
        if body.get(name) is not None
    ]
    tasks = body.get("tasks")
    entries: list[Entry] = []
    if isinstance(tasks, list) and tasks:
        for at, task in enumerate(tasks):
            try:
                entries.append(_entry(task, at))
            except InvalidInput as error:
                found += error.violations
    else:
        found.append(Violation(path="$.tasks", message="must be a list of at least one task"))
    header = {name: value for name, value in body.items() if name != "tasks"}
    if not isinstance(header.get("name"), str) or not str(header["name"]).strip():
        found.append(Violation(path="$.name", message="must be given"))
    if found:
        raise InvalidInput(violations=tuple(found))
    return Draft(header=header, entries=tuple(entries))


def read_content(body: JsonObject) -> JsonObject:
    """Read a task that stands by itself, without its code."""
    (entry,) = (_entry(body, None),)
    if entry.is_use:
        raise _wrong(f"$.{_USES}", "must not be given: a task that stands by itself uses no other")
    if entry.code:
        raise _wrong("$.code", "must not be given: the path says which task it is")
    return entry.content


def _entry(task: Any, at: int | None) -> Entry:  # noqa: ANN401 - any JSON value
    path = "$" if at is None else f"$.tasks[{at}]"
    if not isinstance(task, dict):
        raise _wrong(path, "must be an object")
    used = task.get(_USES)
    if used is not None:
        content = {name: value for name, value in task.items() if name != _USES}
        _check_reference(content, path)
        return _use(used, content, path)
    content = {name: value for name, value in task.items() if name != "code"}
    _check_reference(content, path)
    if "code" not in task:
        return Entry(content=content)
    code = task["code"]
    if not isinstance(code, str):
        raise _wrong(f"{path}.code", "must be a text of digits")
    return Entry(content=content, code=read_code(code, f"{path}.code"))


def _check_reference(content: JsonObject, path: str) -> None:
    """Tasks are known again by their references, so these are what they are and not made texts."""
    reference = content.get("taskReferenceName")
    if reference is not None and not isinstance(reference, str):
        raise _wrong(f"{path}.taskReferenceName", "must be a text")


def _use(used: Any, content: JsonObject, path: str) -> Entry:  # noqa: ANN401 - any JSON value
    path = f"{path}.{_USES}"
    if "code" in content:
        raise _wrong(path, "must not stand beside code: a task is this workflow's own or used")
    if not isinstance(used, dict) or set(used) != {"code", "version"}:
        raise _wrong(path, "must have the members code and version, and no others")
    code, version = used["code"], used["version"]
    if not isinstance(code, str):
        raise _wrong(f"{path}.code", "must be a text of digits")
    if type(version) is not int or not 0 < version < 2**31:
        raise _wrong(f"{path}.version", "must be a whole number from 1 on")
    return Entry(content=content, code=read_code(code, f"{path}.code"), version=version)


def read_header(header: JsonObject) -> WorkflowDef:
    """Read all of a workflow but its tasks (``InvalidInput``)."""
    relations = header.get("relations")
    quick = _relations(relations) if isinstance(relations, list) else None
    if quick is not None:
        header = {name: value for name, value in header.items() if name != "relations"}
    definition: WorkflowDef = load(WORKFLOW_DEF, dict(header))
    return definition if quick is None else replace(definition, relations=quick)


def _relations(relations: Sequence[Any]) -> tuple[Relation, ...] | None:
    """Read relations whose members have their types; ``None``: the form is to read them."""
    found: list[Relation] = []
    for each in relations:
        if not isinstance(each, dict) or not each.keys() <= _RELATION.keys():
            return None
        if not all(isinstance(value, str) for value in each.values()):
            return None
        if "postTask" not in each or each.get("label", "ok") not in LABELS:
            return None
        found.append(Relation(**{_RELATION[name]: value for name, value in each.items()}))
    return tuple(found)


def read_task(content: JsonObject, path: str) -> WorkflowTask:
    """Read a task (``InvalidInput``, below ``path``)."""
    try:
        return read_tasks((content,))[0]
    except InvalidInput as error:
        found = tuple(
            replace(each, path="$" + each.path.removeprefix("$[0]")) for each in error.violations
        )
        raise type(error)(error.message, violations=moved(found, path)) from error


# -- what is answered ------------------------------------------------------------------------------


def entry_body(pin: Pin, content: JsonObject | None) -> JsonObject:
    """Write a task of a workflow as it was given; ``content`` is that of a task of its own."""
    if pin.changes is not None:
        return {_USES: {"code": str(pin.code), "version": pin.version}, **pin.changes}
    named = {"code": str(pin.code)} if pin.with_code else {}
    return named | dict(content or {})


def head_body(head: Head) -> JsonObject:
    """Write what can be changed of a definition."""
    body: dict[str, Any] = {
        "code": str(head.code),
        "name": head.name,
        "etag": head.etag,
        "version": head.version,
        "latestVersion": head.latest,
        "createTime": head.created_ms,
        "updateTime": head.changed_ms,
    }
    if head.owner:
        body["ownerCode"] = str(head.owner)
    if head.published:
        body["publishedVersion"] = head.published
        body["startableVersions"] = list(head.startable)
    if head.deleted:
        body["deleted"] = True
    return body


def saved_body(saved: Saved, head: Head) -> JsonObject:
    """Write a row of the list of versions."""
    return {
        "version": saved.version,
        "saveTime": saved.at_ms,
        "tasks": saved.tasks,
        "digest": saved.digest,
        "published": saved.version == head.published,
        "startable": saved.version in head.startable,
        "current": saved.version == head.version and not head.deleted,
    }


def split_body(code: int, version: int, pins: Iterable[Pin], edges: Iterable[Edge]) -> JsonObject:
    """Write a version as it is stored: codes and versions; a root comes after code 0, version 0."""
    return {
        "code": str(code),
        "version": version,
        "tasks": [
            {
                "taskReferenceName": pin.reference,
                "taskCode": str(pin.code),
                "taskVersion": pin.version,
                "shared": pin.changes is not None,
            }
            for pin in pins
        ],
        "relations": list(_edges(edges)),
    }


def diff_body(was: int, now: int, found: WorkflowDiff) -> JsonObject:
    """Write what differs between two versions."""
    return {
        "fromVersion": was,
        "toVersion": now,
        "workflow": [_difference(each) for each in found.header],
        "tasks": [_task_change(each) for each in found.tasks],
        "relations": [
            {"change": each.change, "relation": each.relation} for each in found.relations
        ],
    }


def _task_change(found: TaskChange) -> JsonObject:
    pin = found.after or found.before
    assert pin is not None
    body: dict[str, Any] = {
        "change": found.change,
        "taskReferenceName": pin.reference,
        "taskCode": str(pin.code),
    }
    if found.before is not None:
        body["fromVersion"] = found.before.version
    if found.after is not None:
        body["toVersion"] = found.after.version
    if found.members:
        body["members"] = [_difference(each) for each in found.members]
    return body


def _difference(found: Difference) -> JsonObject:
    return {"path": found.path, "before": found.before, "after": found.after}


def _edges(edges: Iterable[Edge]) -> Iterator[Mapping[str, Any]]:
    for edge in edges:
        before = edge.before
        yield {
            "preTaskCode": str(before.code if before else 0),
            "preTaskVersion": before.version if before else 0,
            "postTaskCode": str(edge.after.code),
            "postTaskVersion": edge.after.version,
            **edge.relation,
        }


def _wrong(path: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message),))
