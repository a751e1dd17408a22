"""A version of a shared task, given to every workflow that has it."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.errors import Conflict, DefinitionError, NotFound
from conductor_py.model.catalog import Head, Kind
from conductor_py.model.definitions import WorkflowDef
from conductor_py.testing import MemoryEngine
from conductor_py.wire.catalog import read_content, read_draft
from conductor_py.wire.definition_reader import DefinitionReader

_CHECK = DefinitionReader().check


def _task(engine: MemoryEngine, head: Head | None = None, **more: Any) -> Head:
    content = {"name": "load", "type": "SIMPLE", **more}
    code = head.code if head else 0
    return engine.engine.catalog.save_task(read_content(content), code=code, as_draft=True)


def _user(engine: MemoryEngine, name: str, task: Head, *, version: int = 1, times: int = 1) -> Head:
    uses = {"code": str(task.code), "version": version}
    tasks: list[Any] = [
        {"uses": uses, "taskReferenceName": f"l{n}", "startDelay": n} for n in range(times)
    ]
    tasks.append({"name": "own", "taskReferenceName": "own", "type": "SIMPLE"})
    draft = read_draft({"name": name, "tasks": tasks})
    return engine.engine.catalog.save(draft, _CHECK)


def _pinned(engine: MemoryEngine, head: Head) -> dict[str, int]:
    split, _ = engine.engine.catalog.split(head.code, head.version)
    return {pin.reference: pin.version for pin in split.pins}


def _tasks(engine: MemoryEngine, head: Head, version: int) -> Any:
    _, document = engine.engine.catalog.workflow(head.code, version)
    return document["tasks"]


def _apply(engine: MemoryEngine, task: Head, **how: Any) -> tuple[Head, ...]:
    return engine.engine.applying.apply(task.code, _CHECK, **how)


def test_every_user_gets_a_draft_and_what_is_published_stays(engine: MemoryEngine) -> None:
    task = _task(engine)
    one, two = _user(engine, "one", task, times=2), _user(engine, "two", task)
    engine.engine.publishing.publish(one.code)
    task = _task(engine, task, description="better")
    drafts = _apply(engine, task)
    assert {(each.code, each.version) for each in drafts} == {(one.code, 2), (two.code, 2)}
    assert _pinned(engine, drafts[0]) == {"l0": 2, "l1": 2, "own": 1}
    head = engine.engine.catalog.head(Kind.WORKFLOW, one.code)
    assert (head.published, head.version) == (1, 2)
    assert [each.get("startDelay") for each in _tasks(engine, one, 2)] == [0, 1, None]
    assert _tasks(engine, one, 1)[0]["uses"]["version"] == 1


def test_who_has_it_already_is_left_alone(engine: MemoryEngine) -> None:
    task = _task(engine)
    _user(engine, "one", task)
    task = _task(engine, task, description="better")
    two = _user(engine, "two", task, version=2)
    assert [each.name for each in _apply(engine, task)] == ["one"]
    assert _apply(engine, task) == ()
    assert engine.engine.catalog.head(Kind.WORKFLOW, two.code) == two


def test_an_older_version_can_be_taken_up_again(engine: MemoryEngine) -> None:
    task = _task(engine)
    task = _task(engine, task, description="worse")
    _user(engine, "one", task, version=2)
    (draft,) = _apply(engine, task, version=1)
    assert _pinned(engine, draft)["l0"] == 1


def test_one_whose_edited_version_has_it_no_more_is_no_user(engine: MemoryEngine) -> None:
    task = _task(engine)
    one = _user(engine, "one", task)
    engine.engine.publishing.publish(one.code)
    own = {"name": "own", "taskReferenceName": "own", "type": "SIMPLE"}
    draft = read_draft({"name": "one", "tasks": [own]})
    engine.engine.catalog.save(draft, _CHECK, code=one.code, as_draft=True)
    task = _task(engine, task, description="better")
    assert _apply(engine, task) == ()


def test_a_dry_run_only_tells(engine: MemoryEngine) -> None:
    task = _task(engine)
    one = _user(engine, "one", task)
    task = _task(engine, task, description="better")
    (told,) = _apply(engine, task, dry_run=True)
    assert (told.code, told.version) == (one.code, 2)
    assert engine.engine.catalog.head(Kind.WORKFLOW, one.code) == one


def test_where_one_would_be_no_workflow_nothing_is_changed(engine: MemoryEngine) -> None:
    task = _task(engine)
    one, two = _user(engine, "one", task), _user(engine, "two", task)
    task = _task(engine, task, description="better")

    def check(definition: WorkflowDef) -> None:
        if definition.name == "two":
            raise DefinitionError("it has no place for that")

    with pytest.raises(Conflict, match="two: it has no place"):
        engine.engine.applying.apply(task.code, check)
    for head in (one, two):
        assert engine.engine.catalog.head(Kind.WORKFLOW, head.code) == head


def test_a_change_meanwhile_is_seen(engine: MemoryEngine) -> None:
    task = _task(engine)
    one = _user(engine, "one", task)
    task = _task(engine, task, description="better")

    def meanwhile(_: WorkflowDef) -> None:
        own = {"name": "own", "taskReferenceName": "own", "type": "SIMPLE"}
        engine.engine.catalog.save(
            read_draft({"name": "one", "tasks": [own]}), _CHECK, code=one.code
        )

    with pytest.raises(Conflict, match="changed meanwhile"):
        engine.engine.applying.apply(task.code, meanwhile)


def test_a_task_of_one_workflow_is_saved_there(engine: MemoryEngine) -> None:
    one = _user(engine, "one", _task(engine))
    split, _ = engine.engine.catalog.split(one.code, 1)
    (own,) = [pin for pin in split.pins if pin.reference == "own"]
    with pytest.raises(Conflict, match="save it there"):
        engine.engine.applying.apply(own.code, _CHECK)


def test_a_version_that_is_not_there_is_not_found(engine: MemoryEngine) -> None:
    task = _task(engine)
    with pytest.raises(NotFound, match="no version 7"):
        _apply(engine, task, version=7)
    with pytest.raises(NotFound):
        engine.engine.applying.apply(task.code + 1, _CHECK)
