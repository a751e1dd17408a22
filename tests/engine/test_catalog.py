"""The catalog: what a save writes, what it refuses, and what runs when something is published."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from conductor_py.engine.catalog import pinning as catalog_pinning
from conductor_py.engine.catalog.catalog import Catalog
from conductor_py.engine.definitions import composing
from conductor_py.errors import Conflict, DefinitionError, InvalidInput, NotFound
from conductor_py.model.catalog import Head, Kind
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest
from conductor_py.ports.catalog import CatalogStore, Table, Write
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.catalog import read_content, read_draft, read_task
from conductor_py.wire.definition_reader import DefinitionReader
from tests.builders import Json, dag, simple, status_of, sub_workflow, typed

_CHECK = DefinitionReader().check


def _etl(**more: Any) -> Json:
    """a and b, then c after both."""
    tasks = [_plain(simple(ref)) for ref in "abc"]
    return _plain(dag("etl", tasks, "a > c", "b > c", **more))


def _plain(definition: Mapping[str, Any]) -> Json:
    return {name: value for name, value in definition.items() if name != "version"}


def _save(engine: MemoryEngine, document: Json, head: Head | None = None, **more: Any) -> Head:
    known = {"code": head.code, "etag": head.etag} if head else {}
    return engine.engine.catalog.save(read_draft(document), _CHECK, **known | more)


def _save_task(engine: MemoryEngine, content: Json, head: Head | None = None, **more: Any) -> Head:
    known = {"code": head.code, "etag": head.etag} if head else {}
    return engine.engine.catalog.save_task(read_content(content), **known | more)


def _edited(document: Json, ref: str, **changes: Any) -> Json:
    tasks = [
        {**task, **changes} if task.get("taskReferenceName") == ref else task
        for task in document["tasks"]
    ]
    return {**document, "tasks": tasks}


def _pins(engine: MemoryEngine, head: Head, version: int = 0) -> dict[str, tuple[int, int]]:
    split, _ = engine.engine.catalog.split(head.code, version or head.version)
    return {pin.reference: (pin.code, pin.version) for pin in split.pins}


class _Watched:
    """A catalog store that remembers what was written."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._store = engine.ports.catalog
        self.written: list[Write] = []

    def change(self, writes: list[Write]) -> bool:
        self.written += writes
        return self._store.change(writes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def documents(self) -> list[str]:
        return [
            f"{each.cell.row.partition(' ')[0]} v{each.cell.field}"
            for each in self.written
            if each.cell.table is Table.DOCUMENT
        ]


def _watch(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> _Watched:
    watched = _Watched(engine)
    catalog = engine.engine.catalog
    for owner in (catalog._heads, catalog._pinning):
        monkeypatch.setattr(owner, "_store", watched)
    return watched


# -- saving ----------------------------------------------------------------------------------------


def test_what_was_saved_is_read_back_as_it_was(engine: MemoryEngine) -> None:
    document = _etl(description="x", variables={"deep": [{"a": None, "b": 1.5}]})
    document = _edited(document, "b", optional=False, inputParameters={"z": 1, "a": [None]})
    head = _save(engine, document)
    assert engine.engine.catalog.workflow(head.code, None) == (head, document)
    _, read = engine.engine.catalog.workflow(head.code, 1)
    assert json.dumps(read["tasks"]) == json.dumps(document["tasks"])


def test_each_task_gets_a_code_and_its_first_version(engine: MemoryEngine) -> None:
    head = _save(engine, _etl())
    pins = _pins(engine, head)
    assert len({code for code, _ in pins.values()} | {head.code}) == 4
    assert {version for _, version in pins.values()} == {1}
    split, edges = engine.engine.catalog.split(head.code, 1)
    told = [
        (edge.before and edge.before.reference, edge.after.reference, edge.relation)
        for edge in edges
    ]
    assert told[:2] == [(None, "a", {}), (None, "b", {})]
    assert told[2:] == [("a", "c", {"label": "ok"}), ("b", "c", {"label": "ok"})]
    assert split.name == "etl"


def test_an_edit_of_one_task_of_a_thousand_writes_one_task_and_one_workflow(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = [f"t{number}" for number in range(1_000)]
    document = _plain(
        dag("wide", [simple(ref) for ref in refs], *(f"t0 > {ref}" for ref in refs[1:]))
    )
    head = _save(engine, document)
    engine.engine.publishing.publish(head.code)
    execution = engine.start("wide")
    watched = _watch(engine, monkeypatch)
    read: list[object] = []

    def counted(content: JsonObject, path: str) -> WorkflowTask:
        read.append(content)
        return read_task(content, path)

    monkeypatch.setattr(composing, "read_task", counted)

    changed = {"inputParameters": {"new": True}}
    after = _save(engine, _edited(document, "t500", **changed), head, etag=0, as_draft=True)
    engine.engine.publishing.publish(after.code)
    second = engine.start("wide")

    assert watched.documents() == ["task v2", "workflow v2"]
    assert len(watched.written) < 12
    before, now = _pins(engine, head, 1), _pins(engine, after, 2)
    assert {ref for ref in refs if before[ref] != now[ref]} == {"t500"}
    assert now["t500"] == (before["t500"][0], 2)
    # One is read when it is judged, and once more from the store, where it stands for good then.
    assert len(read) <= 2
    assert engine.workflow(execution)["workflowDefinition"]["version"] == 1
    assert engine.workflow(second)["workflowDefinition"]["version"] == 2


def test_saving_the_same_again_writes_nothing(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = _save(engine, _etl())
    watched = _watch(engine, monkeypatch)
    reordered = {name: _etl()[name] for name in reversed(_etl())}
    assert _save(engine, reordered, head) == head
    assert watched.written == []


def test_a_change_of_relations_makes_a_version_of_the_workflow_alone(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = _save(engine, _etl())
    watched = _watch(engine, monkeypatch)
    document = _etl()
    document["relations"] = document["relations"][:1]
    assert _save(engine, document, head).version == 2
    assert watched.documents() == ["workflow v2"]


def test_a_task_is_known_again_by_its_reference_or_its_code(engine: MemoryEngine) -> None:
    head = _save(engine, _etl())
    code = _pins(engine, head)["a"][0]
    renamed = _edited(_etl(), "a", taskReferenceName="first", code=str(code))
    renamed["relations"] = [
        {"preTask": "first", "postTask": "c"},
        {"preTask": "b", "postTask": "c"},
    ]
    after = _save(engine, renamed, head)
    assert _pins(engine, after)["first"] == (code, 2)
    assert _pins(engine, after)["b"] == _pins(engine, head, 1)["b"]
    # Without the code it would have been another task.
    assert engine.engine.catalog.workflow(after.code, None)[1] == renamed


def test_going_back_to_what_a_task_was_is_a_version_of_its_own(engine: MemoryEngine) -> None:
    head = _save(engine, _etl())
    second = _save(engine, _edited(_etl(), "a", optional=True), head)
    third = _save(engine, _etl(), second)
    assert [_pins(engine, third, version)["a"][1] for version in (1, 2, 3)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"name": "x", "tasks": []}, "$.tasks"),
        ({"name": " ", "tasks": [simple("a")]}, "$.name"),
        ({"name": "x", "tasks": ["a"]}, "$.tasks[0]"),
        ({"name": "x", "version": 1, "tasks": [simple("a")]}, "$.version"),
        ({"name": "x", "tasks": [simple("a") | {"code": 1}]}, "$.tasks[0].code"),
        ({"name": "x", "tasks": [simple("a") | {"code": "0"}]}, "$.tasks[0].code"),
        ({"name": "x", "tasks": [{"uses": {"code": "1"}}]}, "$.tasks[0].uses"),
        ({"name": "x", "tasks": [{"uses": {"code": "7", "version": 1}}]}, "$.tasks[0].uses"),
        (
            {"name": "x", "tasks": [simple("a"), simple("b") | {"retryCount": "x"}]},
            "$.tasks[1].retryCount",
        ),
        ({"name": "x", "tasks": [simple("a"), simple("a")]}, "$.tasks[1].taskReferenceName"),
        (
            {"name": "x", "tasks": [simple("a") | {"code": "5"}, simple("b") | {"code": "5"}]},
            "$.tasks[1].code",
        ),
        (dag("x", [simple("a"), simple("b")], "a > b", "b > a"), "$.relations"),
        (dag("x", [simple("a")], "a > b"), "$.relations[0].postTask"),
    ],
)
def test_what_is_no_workflow_is_refused_with_its_path_and_nothing_is_kept(
    engine: MemoryEngine, document: Json, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = _watch(engine, monkeypatch)
    if path != "$.version":
        document = _plain(document)
    with pytest.raises(InvalidInput) as refused:
        _save(engine, document)
    assert [found.path for found in refused.value.violations] == [path]
    assert watched.written == []


def test_of_two_who_save_what_they_read_at_once_one_is_refused(engine: MemoryEngine) -> None:
    head = _save(engine, _etl())
    now = _save(engine, _edited(_etl(), "a", optional=True), head)
    assert now.etag > head.etag
    with pytest.raises(Conflict, match=f'its etag is "{now.etag}", not "{head.etag}"'):
        _save(engine, _edited(_etl(), "b", optional=True), head)
    assert engine.engine.catalog.head(Kind.WORKFLOW, head.code).version == 2


def test_a_save_that_is_overtaken_between_reading_and_writing_is_refused(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = _save(engine, _etl())
    other = memory_engine(catalog=engine.ports.catalog, metadata=engine.ports.metadata)
    mint = catalog_pinning.Pinning.pin

    def overtaken(*given: Any) -> Any:
        monkeypatch.setattr(catalog_pinning.Pinning, "pin", mint)
        _save(other, _edited(_etl(), "b", optional=True), head, etag=0)
        return mint(*given)

    monkeypatch.setattr(catalog_pinning.Pinning, "pin", overtaken)
    with pytest.raises(Conflict, match="changed meanwhile"):
        _save(engine, _edited(_etl(), "a", optional=True), head)
    assert _pins(engine, engine.engine.catalog.head(Kind.WORKFLOW, head.code))["a"][1] == 1


def test_a_name_belongs_to_one_workflow(engine: MemoryEngine) -> None:
    head = _save(engine, _etl())
    with pytest.raises(Conflict):
        _save(engine, _etl())
    renamed = _save(engine, _etl() | {"name": "elt"}, head)
    assert renamed.name == "elt"
    assert _save(engine, _etl()).name == "etl"


# -- publishing ------------------------------------------------------------------------------------


def test_nothing_starts_before_it_is_published(engine: MemoryEngine) -> None:
    head = _save(engine, _etl())
    with pytest.raises(NotFound):
        engine.start("etl")
    engine.engine.publishing.publish(head.code)
    execution = engine.start("etl")
    for task in ("a", "b", "c"):
        engine.run(task)
    assert status_of(engine, execution) == "COMPLETED"


def test_a_published_workflow_changes_as_a_draft_only_and_runs_as_it_was(
    engine: MemoryEngine,
) -> None:
    head = engine.engine.publishing.publish(_save(engine, _etl()).code)
    edited = _edited(_etl(), "c", name="other")
    with pytest.raises(Conflict, match="as a draft"):
        _save(engine, edited, head)
    draft = _save(engine, edited, head, as_draft=True)
    assert (draft.version, draft.published) == (2, 1)
    before = engine.start("etl")
    published = engine.engine.publishing.publish(draft.code)
    assert (published.published, published.startable) == (2, (1, 2))
    after = engine.start("etl")
    for execution, last in ((before, "c"), (after, "other")):
        assert engine.workflow(execution)["workflowDefinition"]["tasks"][2]["name"] == last


def test_a_version_that_was_published_still_starts_when_it_is_named(engine: MemoryEngine) -> None:
    head = engine.engine.publishing.publish(_save(engine, _etl()).code)
    head = _save(engine, _edited(_etl(), "a", optional=True), head, as_draft=True)
    head = _save(engine, _edited(_etl(), "b", optional=True), head, as_draft=True)
    engine.engine.publishing.publish(head.code)
    started = engine.engine.executions.start(StartRequest(name="etl", version=1))
    assert engine.workflow(started)["workflowDefinition"]["version"] == 1
    with pytest.raises(NotFound):
        engine.engine.executions.start(StartRequest(name="etl", version=2))
    back = engine.engine.publishing.publish(head.code, version=1)
    assert (back.published, back.version, back.startable) == (1, 3, (1, 3))
    assert engine.workflow(engine.start("etl"))["workflowDefinition"]["version"] == 1


def test_a_withdrawn_workflow_starts_no_more_and_what_runs_goes_on(engine: MemoryEngine) -> None:
    head = engine.engine.publishing.publish(_save(engine, _etl()).code)
    execution = engine.start("etl")
    engine.engine.publishing.withdraw(head.code)
    with pytest.raises(NotFound):
        engine.start("etl")
    for task in ("a", "b", "c"):
        engine.run(task)
    assert status_of(engine, execution) == "COMPLETED"


def test_a_child_of_either_kind_is_found_and_its_version_is_that_of_the_start(
    engine: MemoryEngine,
) -> None:
    child = _save(engine, _plain(dag("child", [simple("x")])))
    parent = _plain(dag("parent", [sub_workflow("s", "child")]))
    saved = _save(engine, parent)
    with pytest.raises(DefinitionError) as refused:
        engine.engine.publishing.publish(saved.code)
    assert refused.value.violations[0].path == "$.tasks[0].subWorkflowParam.name"
    child = engine.engine.publishing.publish(child.code)
    engine.engine.publishing.publish(saved.code)
    execution = engine.start("parent")
    draft = _save(engine, _plain(dag("child", [simple("y")])), child, as_draft=True)
    engine.engine.publishing.publish(draft.code)
    engine.run("x")
    assert status_of(engine, execution) == "COMPLETED"
    with pytest.raises(Conflict, match="parent"):
        engine.engine.publishing.withdraw(child.code)


def _starting(name: str) -> Json:
    return typed("START_WORKFLOW", "s") | {"inputParameters": {"startWorkflow": {"name": name}}}


@pytest.mark.parametrize(
    ("workflow", "path"),
    [
        (dag("w", [simple("a")], failureWorkflow="nobody"), "$.failureWorkflow"),
        (dag("w", [_starting("nobody")]), "$.tasks[0].inputParameters.startWorkflow.name"),
    ],
)
def test_what_starts_a_workflow_that_nobody_has_is_not_published(
    engine: MemoryEngine, workflow: Json, path: str
) -> None:
    saved = _save(engine, _plain(workflow))
    with pytest.raises(DefinitionError) as refused:
        engine.engine.publishing.publish(saved.code)
    assert [each.path for each in refused.value.violations] == [path]
    with pytest.raises(NotFound):
        engine.start("w")


def test_a_name_is_not_both_registered_and_in_the_catalog(engine: MemoryEngine) -> None:
    definitions = engine.engine.definitions
    registered = DefinitionReader().workflow(dag("etl", [simple("x")]))
    definitions.register(registered, overwrite=False)
    head = _save(engine, _etl())
    with pytest.raises(Conflict, match="/api/metadata"):
        engine.engine.publishing.publish(head.code)
    definitions.delete("etl", 1)
    engine.engine.publishing.publish(head.code)
    for refused in (
        lambda: definitions.register(registered, overwrite=True),
        lambda: definitions.update((registered,)),
        lambda: definitions.delete("etl", 1),
    ):
        with pytest.raises(Conflict, match="in the catalog under code"):
            refused()
    assert [one["name"] for one in definitions.workflows(dict)] == ["etl"]


# -- tasks of their own ----------------------------------------------------------------------------


def test_a_task_that_stands_by_itself_is_used_in_the_version_that_is_pinned(
    engine: MemoryEngine,
) -> None:
    catalog = engine.engine.catalog
    task = _save_task(engine, {"name": "load", "inputParameters": {"table": "t", "mode": "all"}})
    used = {"uses": {"code": str(task.code), "version": 1}, "taskReferenceName": "flights"}
    document: Json = {
        "name": "night",
        "tasks": [used, {**used, "taskReferenceName": "planes", "inputParameters": {"table": "p"}}],
        "relations": [{"preTask": "flights", "postTask": "planes"}],
    }
    head = _save(engine, document)
    assert catalog.workflow(head.code, None)[1] == document
    engine.engine.publishing.publish(head.code)
    with pytest.raises(Conflict, match="night"):
        _save_task(engine, {"name": "load", "optional": True}, task)
    newer = _save_task(engine, {"name": "load", "optional": True}, task, as_draft=True)
    assert newer.version == 2
    engine.start("night")
    assert engine.run("load")["inputData"] == {"table": "t", "mode": "all"}
    assert engine.run("load")["inputData"] == {"table": "p"}
    (found,) = catalog.uses(task.code)
    assert (found[0].name, found[1]) == ("night", (1,))


def test_a_task_of_a_published_workflow_is_changed_by_another_one_as_a_draft_only(
    engine: MemoryEngine,
) -> None:
    first = _save(engine, _etl())
    code, version = _pins(engine, first)["a"]
    other = {"name": "other", "tasks": [{"uses": {"code": str(code), "version": version}}]}
    engine.engine.publishing.publish(_save(engine, other).code)
    edited = _edited(_etl(), "a", optional=True)
    with pytest.raises(Conflict, match="other"):
        _save(engine, edited, first)
    assert _save(engine, edited, first, as_draft=True).version == 2


# -- versions --------------------------------------------------------------------------------------


def test_versions_are_listed_and_one_can_be_edited_again(engine: MemoryEngine) -> None:
    catalog = engine.engine.catalog
    head = _save(engine, _etl())
    engine.clock.advance(milliseconds=5)
    head = _save(engine, _edited(_etl(), "a", optional=True), head)
    _, saved = catalog.log(Kind.WORKFLOW, head.code)
    assert [(one.version, one.tasks) for one in saved] == [(2, 3), (1, 3)]
    assert saved[0].at_ms - saved[1].at_ms == 5
    back = catalog.switch(Kind.WORKFLOW, head.code, 1)
    assert (back.version, back.latest) == (1, 2)
    assert catalog.workflow(head.code, None)[1] == _etl()
    assert _save(engine, _etl(), back) == back
    assert _save(engine, _edited(_etl(), "b", optional=True), back).version == 3
    with pytest.raises(NotFound):
        catalog.switch(Kind.WORKFLOW, head.code, 9)


def test_deleting_keeps_the_versions_until_they_are_purged(engine: MemoryEngine) -> None:
    catalog = engine.engine.catalog
    head = engine.engine.publishing.publish(_save(engine, _etl()).code)
    with pytest.raises(Conflict, match="published"):
        catalog.delete(Kind.WORKFLOW, head.code)
    engine.engine.publishing.withdraw(head.code)
    catalog.delete(Kind.WORKFLOW, head.code)
    assert catalog.heads(Kind.WORKFLOW, 1, 2**62, 10) == ()
    assert catalog.workflow(head.code, 1)[1] == _etl()
    with pytest.raises(NotFound):
        engine.engine.publishing.publish(head.code)
    assert _save(engine, _etl()).code != head.code
    catalog.purge(Kind.WORKFLOW, head.code, 1)
    with pytest.raises(NotFound):
        catalog.workflow(head.code, 1)


def test_what_something_needs_is_not_purged(engine: MemoryEngine) -> None:
    catalog = engine.engine.catalog
    head = _save(engine, _etl())
    code = _pins(engine, head)["a"][0]
    second = _save(engine, _edited(_etl(), "a", optional=True), head)
    for kind, of, version in (
        (Kind.WORKFLOW, head.code, 2),
        (Kind.TASK, code, 1),
        (Kind.TASK, code, 2),
    ):
        with pytest.raises(Conflict):
            catalog.purge(kind, of, version)
    catalog.purge(Kind.WORKFLOW, second.code, 1)
    catalog.purge(Kind.TASK, code, 1)
    with pytest.raises(NotFound):
        catalog.task(code, 1)
    assert catalog.task(code, 2)[1]["optional"] is True


def test_an_execution_outlives_the_versions_that_it_was_started_from(engine: MemoryEngine) -> None:
    catalog = engine.engine.catalog
    head = engine.engine.publishing.publish(_save(engine, _etl()).code)
    execution = engine.start("etl")
    engine.engine.publishing.withdraw(head.code)
    catalog.delete(Kind.WORKFLOW, head.code)
    catalog.purge(Kind.WORKFLOW, head.code, 1)
    other = memory_engine(
        clock=engine.clock,
        space=engine.ports.metadata._space,  # type: ignore[attr-defined]
    )
    for task in ("a", "b", "c"):
        other.run(task)
    assert status_of(other, execution) == "COMPLETED"


def test_what_is_queued_and_what_runs_names_a_plan_and_holds_no_definition(
    engine: MemoryEngine,
) -> None:
    sizes = []
    for count in (2, 200):
        refs = [f"t{number}" for number in range(count)]
        document = _plain(dag(f"w{count}", [simple(ref) for ref in refs], "t0 > t1"))
        engine.engine.publishing.publish(_save(engine, document).code)
        execution = engine.start(f"w{count}")
        found = engine.ports.store.load(execution, ["h", "a:1"])  # type: ignore[arg-type]
        assert found is not None
        sizes.append(sum(len(stored or b"") for stored in found[1].values()))
    assert abs(sizes[0] - sizes[1]) < 20


# -- two at once, and stores that lost something ---------------------------------------------------


class _Between:
    """A catalog store before whose next change something else happens."""

    def __init__(self, store: CatalogStore, act: Callable[[], object]) -> None:
        self._store = store
        self._act: Callable[[], object] | None = act

    def change(self, writes: Sequence[Write]) -> bool:
        act, self._act = self._act, None
        if act is not None:
            act()
        return self._store.change(writes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _beside(engine: MemoryEngine, act: Callable[[], object]) -> MemoryEngine:
    """Another server, that is overtaken once between reading and writing."""
    between = _Between(engine.ports.catalog, act)
    return memory_engine(
        clock=engine.clock,
        space=engine.ports.metadata._space,  # type: ignore[attr-defined]
        catalog=between,
    )


def test_a_name_is_registered_or_published_by_one_of_two_at_once(engine: MemoryEngine) -> None:
    registered = DefinitionReader().workflow(dag("etl", [simple("x")]) | {"version": 7})
    head = _save(engine, _etl())
    other = _beside(engine, lambda: engine.engine.definitions.register(registered, overwrite=False))
    with pytest.raises(Conflict):
        other.engine.publishing.publish(head.code)
    engine.engine.definitions.delete("etl", 7)
    engine.engine.publishing.publish(head.code)
    assert not engine.ports.metadata.put_workflow("etl", 1, b"{}", create=False)
    assert not engine.ports.metadata.delete_workflow("etl", 1)
    engine.engine.publishing.withdraw(head.code)
    assert engine.ports.metadata.workflows() == ()


def test_none_of_several_definitions_is_registered_when_one_is_published(
    engine: MemoryEngine,
) -> None:
    engine.engine.publishing.publish(_save(engine, _etl()).code)
    read = DefinitionReader().workflow
    with pytest.raises(Conflict):
        engine.engine.definitions.update([read(dag(name, [simple("x")])) for name in ("o", "etl")])
    assert engine.ports.metadata.workflow("o", None) is None


def test_a_code_that_is_minted_twice_takes_nothing_over(engine: MemoryEngine) -> None:
    first = _save(engine, _etl())
    taken = [first.code, *(code for code, _ in _pins(engine, first).values())]
    catalog = engine.engine.catalog
    codes = iter([*taken, *range(1, 100)])

    def mint(count: int) -> list[int]:
        return [next(codes) for _ in range(count)]

    again = Catalog(
        store=engine.ports.catalog,
        heads=catalog._heads,
        composer=catalog._composer,
        clock=catalog._heads._clock,
        mint=mint,
    )
    second = again.save(read_draft(_etl() | {"name": "second"}), _CHECK)
    assert second.code not in taken
    assert not {*taken} & {code for code, _ in _pins(engine, second).values()}
    assert engine.engine.catalog.workflow(first.code, None)[1] == _etl()
    assert _pins(engine, first)["a"][1] == 1


def test_a_number_that_a_store_lost_and_gave_again_is_read_as_it_is_now(
    engine: MemoryEngine,
) -> None:
    head = _save(engine, _etl())
    space = engine.ports.metadata._space  # type: ignore[attr-defined]
    before = copy.deepcopy(space.catalog)
    lost = engine.engine.publishing.publish(
        _save(engine, _edited(_etl(), "a", description="lost"), head).code
    )
    engine.start("etl")
    space.catalog.clear()
    space.catalog.update(before)
    space.workflows.clear()
    space.published.clear()
    other = memory_engine(clock=engine.clock, space=space)
    engine.clock.advance(seconds=1)
    found = _save(other, _edited(_etl(), "a", description="found"), head)
    assert (found.version, found.etag > lost.etag) == (2, True)
    other.engine.publishing.publish(found.code)
    started = engine.start("etl")
    definition = engine.workflow(started)["workflowDefinition"]
    assert definition["tasks"][0]["description"] == "found"


def test_a_task_that_is_purged_meanwhile_is_not_used(engine: MemoryEngine) -> None:
    task = _save_task(engine, {"name": "load"})
    _save_task(engine, {"name": "load", "optional": True}, task)
    used = {"name": "user", "tasks": [{"uses": {"code": str(task.code), "version": 1}}]}
    other = _beside(engine, lambda: engine.engine.catalog.purge(Kind.TASK, task.code, 1))
    with pytest.raises(Conflict):
        _save(other, used)
    with pytest.raises(InvalidInput):
        _save(engine, used)
    user = {"name": "user", "tasks": [{"uses": {"code": str(task.code), "version": 2}}]}
    head = _save(engine, user)
    third = _save_task(engine, {"name": "load", "optional": False}, as_draft=True, code=task.code)
    moved = {"name": "user", "tasks": [{"uses": {"code": str(task.code), "version": 3}}]}
    head = _save(engine, moved, head)
    engine.engine.catalog.purge(Kind.WORKFLOW, head.code, 1)
    back = _beside(engine, lambda: _save(engine, user, head))
    with pytest.raises(Conflict):
        back.engine.catalog.purge(Kind.TASK, task.code, 2)
    assert third.version == 3


def test_a_child_that_is_withdrawn_meanwhile_keeps_its_parent_from_being_published(
    engine: MemoryEngine,
) -> None:
    child = engine.engine.publishing.publish(
        _save(engine, _plain(dag("child", [simple("x")]))).code
    )
    parent = _save(engine, _plain(dag("parent", [sub_workflow("s", "child")])))
    other = _beside(engine, lambda: engine.engine.publishing.withdraw(child.code))
    with pytest.raises(Conflict):
        other.engine.publishing.publish(parent.code)
    assert engine.engine.catalog.head(Kind.WORKFLOW, parent.code).published == 0


def test_a_name_goes_on_counting_whoever_has_it(engine: MemoryEngine) -> None:
    head = _save(engine, _etl())
    head = _save(engine, _edited(_etl(), "a", optional=True), head)
    engine.engine.catalog.delete(Kind.WORKFLOW, head.code)
    again = _save(engine, _etl())
    assert (again.code != head.code, again.version) == (True, 3)
    renamed = _save(engine, _etl() | {"name": "elt"}, again)
    assert renamed.version == 4
    assert _save(engine, _etl()).version == 4


def test_a_save_of_many_tasks_reads_what_others_have_at_once(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = [f"t{number}" for number in range(200)]
    document = _plain(dag("wide", [simple(ref) for ref in refs], "t0 > t1"))
    head = _save(engine, document)
    watched = _watch(engine, monkeypatch)
    changed = {**document, "tasks": [{**task, "optional": True} for task in document["tasks"]]}
    calls: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            calls.append(name)
            return real(*given)

        return call

    for name in ("read", "rows"):
        real = getattr(watched, name)
        monkeypatch.setattr(watched, name, counted(name, real), raising=False)
    assert _save(engine, changed, head).version == 2
    assert len(calls) < 10


# -- killed on the way -----------------------------------------------------------------------------


class _Killed(BaseException):
    """The process is no more."""


class _Dying:
    """A catalog store whose process dies at its n-th call, before it or behind it."""

    def __init__(self, store: CatalogStore, at: int, *, behind: bool) -> None:
        self._store = store
        self._left = at
        self._behind = behind

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)

        def passed(*given: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._behind:
                raise _Killed
            answer = call(*given)
            if self._left == 0:
                raise _Killed
            return answer

        return passed


def _kept(engine: MemoryEngine) -> object:
    space = engine.ports.metadata._space  # type: ignore[attr-defined]
    return copy.deepcopy((space.catalog, space.workflows, space.published))


@pytest.mark.parametrize("behind", [False, True])
def test_whoever_dies_in_a_save_or_a_publication_leaves_all_of_it_or_nothing(
    engine: MemoryEngine, *, behind: bool
) -> None:
    catalog = engine.engine.catalog
    head = _save(engine, _etl())
    edited = _edited(_edited(_etl(), "a", optional=True), "b", optional=True)

    def save(of: MemoryEngine) -> None:
        _save(of, edited, head, etag=0)

    def publish(of: MemoryEngine) -> None:
        of.engine.publishing.publish(head.code)

    for verb in (save, publish):
        calls = 0
        before = _kept(engine)
        for at in range(1, 40):
            dying = _Dying(engine.ports.catalog, at, behind=behind)
            other = memory_engine(
                clock=engine.clock,
                space=engine.ports.metadata._space,  # type: ignore[attr-defined]
                catalog=dying,
            )
            try:
                verb(other)
            except _Killed:
                calls += 1
                if _kept(engine) == before:
                    continue
            break
        assert calls > 1
        after = _kept(engine)
        assert after != before
        verb(engine)
        assert _kept(engine) == after
    assert catalog.head(Kind.WORKFLOW, head.code).published == 2
    assert _pins(engine, head, 2)["a"][1] == 2


# -- parameters ------------------------------------------------------------------------------------


def test_parameters_are_kept_with_the_workflow_and_with_its_tasks(engine: MemoryEngine) -> None:
    document = _etl(parameters={"dt": "$[yyyyMMdd-1]"})
    own = {"parameters": {"a": "${param.dt}"}, "outParameters": ["rows"]}
    document = _edited(document, "a", **own)
    head = _save(engine, document)
    assert engine.engine.catalog.workflow(head.code, None)[1] == document


def test_a_task_that_stands_by_itself_reads_what_the_workflow_gives_that_takes_it(
    engine: MemoryEngine,
) -> None:
    task = _save_task(engine, {"name": "load", "inputParameters": {"day": "${param.dt}"}})
    used = {"uses": {"code": str(task.code), "version": 1}, "taskReferenceName": "load"}
    document: Json = {"name": "night", "tasks": [used], "relations": [{"postTask": "load"}]}
    with pytest.raises(DefinitionError, match="dt"):
        _save(engine, document)
    head = _save(engine, {**document, "parameters": {"dt": "today"}})
    engine.engine.publishing.publish(head.code)
    engine.start("night")
    assert engine.run("load")["inputData"] == {"day": "today"}


@pytest.mark.parametrize(
    ("content", "uses"),
    [("x" * (1 << 20), 40), ([1] * 60_000, 40)],
    ids=["bytes", "values"],
)
def test_a_large_task_that_is_used_again_and_again_is_refused_before_it_is_put_together(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, content: Any, uses: int
) -> None:
    task = _save_task(engine, {"name": "large", "inputParameters": {"b": content}})
    monkeypatch.setattr(composing, "read_task", lambda *_: pytest.fail("put together"))
    used = {"uses": {"code": str(task.code), "version": 1}}
    tasks = [{**used, "taskReferenceName": f"t{at}"} for at in range(uses)]
    with pytest.raises(InvalidInput) as refused:
        _save(engine, {"name": "wide", "tasks": tasks})
    (found,) = refused.value.violations
    assert found.path == "$.tasks"
    assert "each counted as often as it is used" in found.message


@pytest.mark.thorough(target="fuzz")
def test_large_tasks_that_were_read_are_not_all_remembered(engine: MemoryEngine) -> None:
    composer = engine.engine.lineages._composer
    heads = [
        _save(engine, {"name": f"w{at}", "tasks": [_large(f"t{at}", 90_000)]}) for at in range(8)
    ]
    for head in heads:
        engine.engine.lineages.of(head.code, 1)
    # Each is taken for 21 MB of memory, and 64 MB are for them.
    assert len(composer._tasks) == 3


def _large(reference: str, values: int) -> Json:
    return {"name": "t", "taskReferenceName": reference, "inputParameters": {"b": [[]] * values}}


# -- what there is of a workflow that cannot be started -------------------------------------------


def test_a_workflow_that_is_saved_and_not_published_is_told_from_one_that_is_not_there() -> None:
    engine = memory_engine()
    head = _save(engine, _etl())
    saved = "No such workflow found by name: etl (etl is saved in the catalog, but not published)"
    with pytest.raises(NotFound) as refused:
        engine.start("etl")
    assert refused.value.message == saved
    with pytest.raises(NotFound) as unread:
        engine.engine.definitions.workflow("etl", None)
    assert unread.value.message == saved

    engine.engine.catalog.delete(Kind.WORKFLOW, head.code, etag=head.etag)
    with pytest.raises(NotFound) as gone:
        engine.start("etl")
    assert gone.value.message == "No such workflow found by name: etl"


def test_a_version_that_is_missing_is_told_from_a_workflow_that_is() -> None:
    engine = memory_engine()
    engine.register({"name": "day_job", "version": 1, "tasks": [simple("a")]})
    with pytest.raises(NotFound) as refused:
        engine.engine.definitions.workflow("day_job", 77)
    assert refused.value.message == (
        "No such workflow found by name: day_job.77"
        " (day_job is registered, but not with version 77)"
    )


def test_a_child_that_is_saved_and_not_published_is_told_so() -> None:
    engine = memory_engine()
    _save(engine, _etl())
    parent = {"name": "p", "version": 1, "tasks": [sub_workflow("child", "etl")]}
    with pytest.raises(NotFound, match=r"etl \(task child\) \(etl is saved in the catalog, but"):
        engine.start(parent)
