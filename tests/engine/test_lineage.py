"""Lineage: who starts what, in which versions, and which tasks are shared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conductor_py.engine.catalog import lineage
from conductor_py.errors import NotFound
from conductor_py.model.catalog import Head, Kind
from conductor_py.model.lineage import Lineage, LineageEdge
from conductor_py.model.schedules import Schedule
from conductor_py.testing import MemoryEngine
from conductor_py.wire.catalog import read_content, read_draft
from conductor_py.wire.definition_reader import DefinitionReader
from tests.builders import Json, simple, sub_workflow, typed

_READER = DefinitionReader()


def _save(
    engine: MemoryEngine, name: str, *tasks: Json, head: Head | None = None, **more: Any
) -> Head:
    document: Json = {"name": name, "tasks": [*tasks] or [simple("a")], **more}
    code = head.code if head else 0
    return engine.engine.catalog.save(read_draft(document), _READER.check, code=code, as_draft=True)


def _publish(engine: MemoryEngine, name: str, *tasks: Json, **more: Any) -> Head:
    return engine.engine.publishing.publish(_save(engine, name, *tasks, **more).code)


def _started(name: str, **more: Any) -> Json:
    return typed("START_WORKFLOW", "start") | {
        "inputParameters": {"startWorkflow": {"name": name, **more}}
    }


def _levels(found: Lineage) -> Mapping[str, int]:
    return {node.id: node.level for node in found.nodes}


def _edge(found: Lineage, source: str, target: str) -> LineageEdge:
    (edge,) = (each for each in found.edges if (each.source, each.target) == (source, target))
    return edge


def _chain(engine: MemoryEngine) -> dict[str, Head]:
    """d, which c starts, which b starts, which a starts."""
    heads = {"d": _publish(engine, "d")}
    heads["c"] = _publish(engine, "c", sub_workflow("s", "d"))
    heads["b"] = _publish(engine, "b", _started("c"))
    heads["a"] = _publish(engine, "a", simple("x"), failureWorkflow="b")
    return heads


def test_a_workflow_is_told_with_those_that_it_starts_and_that_start_it(
    engine: MemoryEngine,
) -> None:
    heads = _chain(engine)
    found = engine.engine.lineages.of(heads["b"].code, 1)
    assert _levels(found) == {"workflow:a": -1, "workflow:b": 0, "workflow:c": 1}
    assert [(edge.source, edge.link, edge.target) for edge in found.edges] == [
        ("workflow:a", "FAILURE_WORKFLOW", "workflow:b"),
        ("workflow:b", "START_WORKFLOW", "workflow:c"),
    ]
    node = next(node for node in found.nodes if node.name == "c")
    assert (node.code, node.place, node.version, node.published) == (
        heads["c"].code,
        "catalog",
        1,
        1,
    )
    assert not found.truncated


def test_calls_are_followed_as_far_as_is_asked_for(engine: MemoryEngine) -> None:
    heads = _chain(engine)
    levels = {f"workflow:{name}": level for level, name in enumerate("abcd")}
    assert _levels(engine.engine.lineages.of(heads["a"].code, 3)) == levels
    assert _levels(engine.engine.lineages.of(heads["a"].code, 2)) == {
        name: level for name, level in levels.items() if level <= 2
    }
    upwards = {name: level - 3 for name, level in levels.items()}
    assert _levels(engine.engine.lineages.of(heads["d"].code, 20)) == upwards


def test_an_edge_tells_which_versions_have_it(engine: MemoryEngine) -> None:
    child = _publish(engine, "child")
    parent = _publish(engine, "parent", sub_workflow("s", "child"))
    _save(engine, "parent", simple("b"), head=parent)
    edge = _edge(engine.engine.lineages.of(child.code, 1), "workflow:parent", "workflow:child")
    assert (edge.versions, edge.edited, edge.published) == ((1,), False, True)
    named = sub_workflow("s", "child")
    named["subWorkflowParam"]["version"] = 1
    _save(engine, "parent", named, head=parent)
    edge = _edge(engine.engine.lineages.of(child.code, 1), "workflow:parent", "workflow:child")
    assert (edge.versions, edge.called) == ((1, 3), (1,))
    assert (edge.edited, edge.published) == (True, True)
    engine.engine.publishing.withdraw(parent.code)
    edge = _edge(engine.engine.lineages.of(child.code, 1), "workflow:parent", "workflow:child")
    assert (edge.versions, edge.edited, edge.published) == ((3,), True, False)
    _save(engine, "parent", simple("b"), head=parent)
    assert _levels(engine.engine.lineages.of(child.code, 1)) == {"workflow:child": 0}


def test_workflows_that_call_each_other_are_told_once(engine: MemoryEngine) -> None:
    first = _save(engine, "first", _started("second"))
    _save(engine, "second", _started("first"), _started("second") | {"taskReferenceName": "own"})
    found = engine.engine.lineages.of(first.code, 20)
    assert {node.name for node in found.nodes} == {"first", "second"}
    assert sorted((edge.source, edge.target) for edge in found.edges) == [
        ("workflow:first", "workflow:second"),
        ("workflow:second", "workflow:first"),
        ("workflow:second", "workflow:second"),
    ]


def test_what_is_called_is_found_wherever_it_stands(engine: MemoryEngine) -> None:
    for name, tasks in (("deep", [simple("x")]), ("beside", [sub_workflow("s", "deep")])):
        definition = _READER.workflow({"name": name, "version": 4, "tasks": tasks})
        engine.engine.definitions.register(definition, overwrite=False)
    head = _save(engine, "w", _started("beside"), _started("nobody") | {"taskReferenceName": "n"})
    found = engine.engine.lineages.of(head.code, 2)
    told = {node.name: (node.place, node.version, node.level) for node in found.nodes}
    assert told == {
        "w": ("catalog", 1, 0),
        "beside": ("registered", 4, 1),
        "nobody": ("nowhere", 0, 1),
        "deep": ("registered", 4, 2),
    }


def test_shared_tasks_are_told_with_all_who_have_them(engine: MemoryEngine) -> None:
    task = engine.engine.catalog.save_task(read_content({"name": "load"}))
    used = {"uses": {"code": str(task.code), "version": 1}, "taskReferenceName": "l"}
    head = _save(engine, "w", used, simple("own"), simple("alone"))
    split, _ = engine.engine.catalog.split(head.code, 1)
    own = next(pin for pin in split.pins if pin.reference == "own")
    _publish(engine, "other", used)
    _save(engine, "third", {"uses": {"code": str(own.code), "version": 1}})
    found = engine.engine.lineages.of(head.code, 1)
    edges = {(edge.source, edge.target, edge.versions, edge.called) for edge in found.edges}
    assert edges == {
        ("workflow:w", f"task:{task.code}", (1,), (1,)),
        ("workflow:other", f"task:{task.code}", (1,), ()),
        ("workflow:w", f"task:{own.code}", (1,), (1,)),
        ("workflow:third", f"task:{own.code}", (1,), ()),
    }
    assert {node.name for node in found.nodes} == {"w", "other", "third", "load", "own"}


def test_schedules_that_lead_to_a_workflow_are_told_paused_or_not(engine: MemoryEngine) -> None:
    heads = _chain(engine)
    schedules: tuple[tuple[str, Json, bool], ...] = (
        ("direct", {"name": "b", "version": 1}, False),
        ("above", {"name": "a"}, True),
        ("below", {"name": "c"}, False),
    )
    for name, request, paused in schedules:
        engine.engine.schedules.save(
            Schedule(
                name=name,
                start_workflow_request=request,
                cron_expression="0 0 3 * * *",
                paused=paused,
            )
        )
    found = engine.engine.lineages.of(heads["b"].code, 1)
    told = {node.name: (node.level, node.paused) for node in found.nodes if node.kind == "schedule"}
    assert told == {"direct": (-1, False), "above": (-2, True)}
    assert _edge(found, "schedule:direct", "workflow:b").called == (1,)


def test_deleted_and_unknown_workflows_have_no_lineage(engine: MemoryEngine) -> None:
    child = _save(engine, "child")
    parent = _save(engine, "parent", _started("child"))
    engine.engine.catalog.delete(Kind.WORKFLOW, parent.code)
    for code in (parent.code, 5):
        with pytest.raises(NotFound):
            engine.engine.lineages.of(code, 1)
    assert _levels(engine.engine.lineages.of(child.code, 1)) == {"workflow:child": 0}


def test_more_than_one_answer_holds_is_said(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lineage, "MOST_NODES", 4)
    child = _save(engine, "child")
    for number in range(6):
        _save(engine, f"parent{number}", _started("child"))
    found = engine.engine.lineages.of(child.code, 3)
    assert (len(found.nodes), found.truncated) == (4, True)
    known = {node.id for node in found.nodes}
    assert {end for edge in found.edges for end in (edge.source, edge.target)} <= known
