"""Bundles: what is exported is the same wherever it was imported, all of it or nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from conductor_py.engine.catalog import exporting, import_checks, importing
from conductor_py.engine.definitions.composing import Composer
from conductor_py.errors import Conflict, InvalidInput, NotFound, PayloadTooLarge
from conductor_py.model.bundle import Imported, ImportReport, OnExisting
from conductor_py.model.catalog import Head, Kind, SplitWorkflow
from conductor_py.model.json import JsonObject
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.bundles import bundle_body, read_bundle
from conductor_py.wire.catalog import read_content, read_draft
from conductor_py.wire.definition_reader import DefinitionReader
from tests.builders import Json, dag, simple, status_of, sub_workflow

_CHECK = DefinitionReader().check
Make = Callable[[], MemoryEngine]


@pytest.fixture
def make() -> Make:
    """Engines in other places, which are younger than what comes from this one."""

    def made() -> MemoryEngine:
        other = memory_engine()
        other.clock.advance(seconds=3_600)
        return other

    return made


def _etl(name: str = "etl", **more: Any) -> Json:
    document = dag(name, [simple("a"), simple("b")], "a > b", **more)
    return {member: value for member, value in document.items() if member != "version"}


def _save(engine: MemoryEngine, document: Json, code: int = 0) -> Head:
    return engine.engine.catalog.save(
        read_draft(copy.deepcopy(document)), _CHECK, code=code, as_draft=True
    )


def _publish(engine: MemoryEngine, document: Json, code: int = 0) -> Head:
    return engine.engine.publishing.publish(_save(engine, document, code).code)


def _save_task(engine: MemoryEngine, content: Json, code: int = 0) -> Head:
    return engine.engine.catalog.save_task(read_content(content), code=code, as_draft=True)


def _used(task: Head, version: int = 1, reference: str = "l") -> Json:
    return {"uses": {"code": str(task.code), "version": version}, "taskReferenceName": reference}


def _export(engine: MemoryEngine, *names: str, callees: bool = False, every: bool = False) -> Json:
    bundle = engine.engine.exporting.bundle(names, callees=callees, every_version=every)
    document: Json = orjson.loads(orjson.dumps(bundle_body(bundle), default=dict))
    return document


def _import(
    engine: MemoryEngine, document: Json, mode: str = "FAIL", *, dry_run: bool = False
) -> ImportReport:
    return engine.engine.importing.load(
        read_bundle(document), _CHECK, on_existing=OnExisting(mode), dry_run=dry_run
    )


def _told(report: ImportReport) -> dict[str, str]:
    return {each.name: each.action for each in report.outcomes}


def _outcome(report: ImportReport, name: str) -> Imported:
    return next(each for each in report.outcomes if each.name == name)


def _kept(engine: MemoryEngine) -> object:
    space = engine.ports.metadata._space  # type: ignore[attr-defined]
    filled = {row: of for row, of in space.catalog.items() if of}
    return copy.deepcopy((filled, space.workflows, space.published))


def _findings(document: Json, engine: MemoryEngine) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        _import(engine, document)
    return [each.path for each in refused.value.violations]


def _stocked(engine: MemoryEngine) -> Json:
    """A shared task in two versions, a workflow that is published and has a draft, its child."""
    task = _save_task(engine, {"name": "load", "inputParameters": {"table": "t"}})
    _save_task(engine, {"name": "load", "inputParameters": {"table": "u"}}, task.code)
    _publish(engine, {"name": "child", "tasks": [_used(task, 2)]})
    tasks = [simple("a"), _used(task), sub_workflow("s", "child")]
    relations = [{"preTask": "a", "postTask": "l"}, {"preTask": "l", "postTask": "s"}]
    document: Json = {"name": "night", "tasks": tasks, "relations": relations}
    head = _publish(engine, document)
    _save(engine, {**document, "description": "draft"}, head.code)
    return document


# -- export ----------------------------------------------------------------------------------------


def test_an_export_holds_what_is_edited_and_what_is_published_and_all_that_is_used(
    engine: MemoryEngine,
) -> None:
    document = _stocked(engine)
    found = _export(engine, "night")
    assert found["format"] == 1
    told = [(one["version"], one["published"], one["edited"]) for one in found["workflows"]]
    assert told == [(1, True, False), (2, False, True)]
    assert found["workflows"][0]["definition"] == document
    assert found["workflows"][1]["definition"] == {**document, "description": "draft"}
    assert [(one["name"], one["version"], one["definition"]) for one in found["tasks"]] == [
        ("load", 1, {"name": "load", "inputParameters": {"table": "t"}})
    ]


def test_callees_and_older_versions_come_along_when_they_are_asked_for(
    engine: MemoryEngine,
) -> None:
    _stocked(engine)
    head = engine.engine.catalog.named("night")
    assert head is not None
    _save(engine, _etl("night"), head.code)
    assert [one["version"] for one in _export(engine, "night")["workflows"]] == [1, 3]
    found = _export(engine, "night", callees=True, every=True)
    assert [(one["name"], one["version"]) for one in found["workflows"]] == [
        ("child", 1),
        ("night", 1),
        ("night", 2),
        ("night", 3),
    ]
    assert [(one["name"], one["version"]) for one in found["tasks"]] == [("load", 1), ("load", 2)]


def test_exporting_twice_gives_the_same_bytes(engine: MemoryEngine) -> None:
    _stocked(engine)
    first, second = (
        json.dumps(_export(engine, *names, callees=True))
        for names in (("night", "child"), ("child", "night", "night"))
    )
    assert first == second


def test_unknown_names_are_named_and_workflows_that_call_each_other_come_once(
    engine: MemoryEngine,
) -> None:
    _save(engine, {"name": "x", "tasks": [sub_workflow("s", "y")]})
    _save(engine, {"name": "y", "tasks": [sub_workflow("s", "x"), sub_workflow("z", "gone")]})
    assert [one["name"] for one in _export(engine, "y", callees=True)["workflows"]] == ["x", "y"]
    with pytest.raises(NotFound, match="nobody, nothing"):
        _export(engine, "x", "nothing", "nobody")


@pytest.mark.parametrize(("bound", "most"), [("MOST_ENTRIES", 1), ("MOST_PLACED", 5)])
def test_more_than_one_bundle_holds_is_refused(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    _stocked(engine)
    monkeypatch.setattr(exporting, bound, most)
    with pytest.raises(InvalidInput, match=f"more than {most}"):
        _export(engine, "night")
    assert _export(engine, "child")["workflows"]


# -- round trip ------------------------------------------------------------------------------------


def test_what_was_imported_is_exported_the_same_but_for_what_is_published(
    engine: MemoryEngine, make: Make
) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True)
    other = make()
    report = _import(other, document)
    assert _told(report) == {"load": "CREATED", "child": "CREATED", "night": "CREATED"}
    again = _export(other, "night", callees=True, every=True)
    unpublished = copy.deepcopy(document)
    for each in unpublished["workflows"]:
        each["published"] = False
    assert json.dumps(again) == json.dumps(unpublished)
    for name in ("child", "night"):
        other.engine.publishing.publish(_outcome(report, name).code, version=1)
    assert json.dumps(_export(other, "night", callees=True)) == json.dumps(document)


def test_an_imported_dag_is_published_and_runs(engine: MemoryEngine, make: Make) -> None:
    _stocked(engine)
    other = make()
    report = _import(other, _export(engine, "night", callees=True))
    with pytest.raises(NotFound):
        other.start("night")
    for name in ("child", "night"):
        other.engine.publishing.publish(_outcome(report, name).code)
    execution = other.start("night")
    other.run("a")
    assert other.run("load")["inputData"] == {"table": "t"}
    assert other.run("load")["inputData"] == {"table": "u"}
    assert status_of(other, execution) == "COMPLETED"


def test_a_whole_history_is_imported_with_its_numbers_and_gone_on_with(
    engine: MemoryEngine, make: Make
) -> None:
    head = _save(engine, _etl("old"))
    for description in ("two", "three"):
        _save(engine, _etl(description=description), head.code)
    engine.engine.catalog.purge(Kind.WORKFLOW, head.code, 1)
    engine.engine.catalog.switch(Kind.WORKFLOW, head.code, 2)
    document = _export(engine, "etl", every=True)
    other = make()
    report = _import(other, document)
    assert _outcome(report, "etl").versions == ((2, 2), (3, 3))
    catalog = other.engine.catalog
    here = catalog.named("etl")
    assert here is not None
    assert (here.code, here.version, here.latest) == (head.code, 2, 3)
    assert [one.version for one in catalog.log(Kind.WORKFLOW, here.code)[1]] == [3, 2]
    assert _export(other, "etl", every=True) == document
    assert _save(other, _etl(description="four"), here.code).version == 4
    # One task of its own, in one version: its content never changed.
    split, _ = catalog.split(here.code, 4)
    assert {pin.version for pin in split.pins} == {1}


def test_older_names_of_a_workflow_stay_free(engine: MemoryEngine, make: Make) -> None:
    head = _save(engine, _etl("before"))
    _save(engine, _etl("after"), head.code)
    other = make()
    taken = _save(other, _etl("before"))
    report = _import(other, _export(engine, "after", every=True))
    assert _told(report) == {"after": "CREATED"}
    assert other.engine.catalog.named("before") == taken


def test_importing_again_changes_nothing(engine: MemoryEngine, make: Make) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True, every=True)
    other = make()
    _import(other, document)
    before = _kept(other)
    for mode in OnExisting:
        assert set(_told(_import(other, document, mode)).values()) == {"UNCHANGED"}
        assert set(_told(_import(engine, document, mode)).values()) == {"UNCHANGED"}
    assert _kept(other) == before


# -- codes -----------------------------------------------------------------------------------------


def test_codes_that_somebody_has_are_minted_anew_and_known_again(
    engine: MemoryEngine, make: Make
) -> None:
    task = _save_task(engine, {"name": "load"})
    named = {**simple("a"), "code": str(engine.engine.codes.codes()[0])}
    head = _save(engine, {"name": "etl", "tasks": [named, _used(task)]})
    document = _export(engine, "etl")
    other = make()
    # The same codes name other things there.
    moved = copy.deepcopy(document)
    moved["workflows"][0]["code"], moved["tasks"][0]["code"] = str(task.code), named["code"]
    moved["workflows"][0]["definition"] = {
        "name": "other",
        "tasks": [{**simple("x"), "code": str(head.code)}],
    }
    moved["tasks"][0]["definition"] = {"name": "unlike"}
    _import(other, moved)
    before = _export(other, "other")
    report = _import(other, document)
    assert _told(report) == {"load": "CREATED", "etl": "CREATED"}
    codes = {each.code for each in report.outcomes}
    assert not codes & {task.code, head.code, int(named["code"])}
    found = _export(other, "etl")
    (workflow,) = found["workflows"]
    own, used = workflow["definition"]["tasks"]
    assert used["uses"] == {"code": str(_outcome(report, "load").code), "version": 1}
    assert own["code"] not in {str(task.code), str(head.code), named["code"]}
    assert _export(other, "other") == before
    assert set(_told(_import(other, document)).values()) == {"UNCHANGED"}
    changed = copy.deepcopy(document)
    changed["workflows"][0]["definition"]["tasks"][0]["optional"] = True
    _import(other, changed, "NEW_VERSION")
    after = _export(other, "etl")["workflows"][0]["definition"]["tasks"][0]
    assert (after["code"], after["optional"]) == (own["code"], True)


def test_a_code_that_is_not_minted_yet_is_not_kept(engine: MemoryEngine) -> None:
    head = _save(engine, _etl())
    other = memory_engine()  # whose clock shows the very time of that code
    report = _import(other, _export(engine, "etl"))
    assert _outcome(report, "etl").code != head.code
    for number in range(20):
        _save(other, _etl(f"w{number}"))


def test_a_task_of_its_own_that_another_workflow_uses_becomes_one_by_itself(
    engine: MemoryEngine, make: Make
) -> None:
    head = _save(engine, _etl())
    split, _ = engine.engine.catalog.split(head.code, 1)
    _save(
        engine,
        {"name": "user", "tasks": [{"uses": {"code": str(split.pins[0].code), "version": 1}}]},
    )
    document = _export(engine, "user")
    assert set(_told(_import(engine, document)).values()) == {"UNCHANGED"}
    other = make()
    report = _import(other, document)
    assert other.engine.catalog.head(Kind.TASK, _outcome(report, "a").code).owner == 0


# -- what is there already -------------------------------------------------------------------------


def _changed(document: Json) -> Json:
    document = copy.deepcopy(document)
    for each in document["workflows"]:
        each["definition"]["description"] = "changed"
    for each in document["tasks"]:
        each["definition"]["description"] = "changed"
    return document


def test_everything_that_is_there_with_other_content_is_named_and_nothing_is_saved(
    engine: MemoryEngine, make: Make
) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True)
    other = make()
    _import(other, document)
    document = _changed(document)
    document["workflows"].append(
        {"code": "5", "version": 1, "edited": True, "definition": _etl("new")}
    )
    before = _kept(other)
    with pytest.raises(Conflict) as refused:
        _import(other, document)
    for name in ("task load", "workflow night", "workflow child"):
        assert name in refused.value.message
    assert "new" not in refused.value.message
    assert _kept(other) == before
    told = _told(_import(other, document, dry_run=True))
    assert told == {"load": "CONFLICT", "child": "CONFLICT", "night": "CONFLICT", "new": "CREATED"}
    assert _kept(other) == before


def test_what_is_there_can_be_left_as_it_is(engine: MemoryEngine, make: Make) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True)
    other = make()
    _import(other, document)
    changed = _changed(document)
    changed["workflows"].append(
        {
            "code": "5",
            "version": 1,
            "definition": {
                "name": "new",
                "tasks": [{"uses": {"code": changed["tasks"][0]["code"], "version": 1}}],
            },
        }
    )
    report = _import(other, changed, "SKIP")
    assert _told(report) == {
        "load": "SKIPPED",
        "child": "SKIPPED",
        "night": "SKIPPED",
        "new": "CREATED",
    }
    assert _export(other, "night", "child")["workflows"] == [
        {**each, "published": False} for each in document["workflows"] if each["edited"]
    ]
    # What is new uses the task as it is there.
    (task,) = _export(other, "new")["tasks"]
    assert "description" not in task["definition"]


def test_what_is_there_gets_new_versions_as_drafts(engine: MemoryEngine, make: Make) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True)
    other = make()
    report = _import(other, document)
    for name in ("child", "night"):
        other.engine.publishing.publish(_outcome(report, name).code, version=1)
    changed = _changed(document)
    report = _import(other, changed, "NEW_VERSION")
    assert set(_told(report).values()) == {"NEW_VERSION"}
    assert _outcome(report, "load").versions == ((1, 3), (2, 4))
    # Its two versions have become the same.
    assert _outcome(report, "night").versions == ((1, 3), (2, 3))
    found = _export(other, "night", "child")["workflows"]
    assert [(one["name"], one["version"], one["published"]) for one in found] == [
        ("child", 1, True),
        ("child", 2, False),
        ("night", 1, True),
        ("night", 3, False),
    ]
    assert found[1]["definition"]["tasks"][0]["uses"]["version"] == 4
    assert found[3]["definition"]["description"] == "changed"
    other.start("night")
    other.run("a")
    assert "description" not in other.run("load")["workflowTask"]
    assert set(_told(_import(other, changed)).values()) == {"UNCHANGED"}


def test_an_older_version_that_is_imported_again_is_the_one_that_is_edited(
    engine: MemoryEngine, make: Make
) -> None:
    head = _save(engine, _etl())
    first = _export(engine, "etl")
    _save(engine, _etl(description="x"), head.code)
    other = make()
    _import(other, first)
    _import(other, _export(engine, "etl"), "NEW_VERSION")
    with pytest.raises(Conflict):
        _import(other, first)
    report = _import(other, first, "NEW_VERSION")
    assert _outcome(report, "etl").versions == ((1, 1),)
    here = other.engine.catalog.named("etl")
    assert here is not None
    assert (here.version, here.latest) == (1, 2)


def test_a_task_of_the_same_name_and_content_is_reused_and_several_unlike_ones_are_a_conflict(
    engine: MemoryEngine, make: Make
) -> None:
    task = _save_task(engine, {"name": "load", "optional": True})
    _save(engine, {"name": "w", "tasks": [_used(task)]})
    document = _export(engine, "w")
    other = make()
    same = _save_task(other, {"name": "load", "optional": True})
    report = _import(other, document)
    assert (_outcome(report, "load").action, _outcome(report, "load").code) == (
        "UNCHANGED",
        same.code,
    )
    third = make()
    for size in ("small", "large"):
        _save_task(third, {"name": "load", "description": size})
    for mode in OnExisting:
        with pytest.raises(Conflict, match="several tasks"):
            _import(third, document, mode)
    assert third.engine.catalog.named("w") is None


def test_several_tasks_of_one_name_stay_several(engine: MemoryEngine, make: Make) -> None:
    tasks = [_save_task(engine, {"name": "load", "description": size}) for size in ("s", "l")]
    uses = [_used(task, 1, f"r{at}") for at, task in enumerate(tasks)]
    _save(engine, {"name": "w", "tasks": uses})
    document = _export(engine, "w")
    other = make()
    _import(other, document)
    assert _export(other, "w") == document
    for mode in OnExisting:
        assert set(_told(_import(other, document, mode)).values()) == {"UNCHANGED"}
    # Where there is one, it cannot become both.
    third = make()
    _save_task(third, {"name": "load"})
    before = _kept(third)
    for mode in OnExisting:
        with pytest.raises(Conflict, match="several tasks"):
            _import(third, document, mode)
    assert _kept(third) == before


def test_a_task_that_is_deleted_or_has_another_name_now_is_not_the_one(
    engine: MemoryEngine, make: Make
) -> None:
    task = _save_task(engine, {"name": "load"})
    _save(engine, {"name": "w", "tasks": [_used(task)]})
    other = make()
    deleted = _save_task(other, {"name": "load"})
    other.engine.catalog.delete(Kind.TASK, deleted.code)
    renamed = _save_task(other, {"name": "load", "optional": True})
    _save_task(other, {"name": "unload"}, renamed.code)
    report = _import(other, _export(engine, "w"))
    assert (_outcome(report, "load").action, _outcome(report, "load").code) == (
        "CREATED",
        task.code,
    )


def test_a_name_goes_on_counting_when_it_is_imported(engine: MemoryEngine, make: Make) -> None:
    _save(engine, _etl())
    other = make()
    head = _save(other, _etl(description="1"))
    _save(other, _etl(description="2"), head.code)
    other.engine.catalog.delete(Kind.WORKFLOW, head.code)
    report = _import(other, _export(engine, "etl"))
    assert _outcome(report, "etl").versions == ((1, 3),)


# -- all or nothing --------------------------------------------------------------------------------


def test_a_dry_run_tells_the_same_and_changes_nothing(engine: MemoryEngine, make: Make) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True)
    other = make()
    before = _kept(other)
    dry = _import(other, document, dry_run=True)
    assert _kept(other) == before
    real = _import(other, document)
    assert dry.outcomes == real.outcomes
    assert (dry.dry_run, real.dry_run) == (True, False)


def test_what_is_wrong_is_told_all_at_once_with_its_paths(engine: MemoryEngine, make: Make) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True)
    child, first, second = (each["definition"] for each in document["workflows"])
    child["tasks"][0]["uses"]["version"] = 9
    first["tasks"][0]["retryCount"] = "many"
    first["tasks"][2]["startDelay"] = "soon"
    second["relations"] = [{"preTask": "a", "postTask": "nobody"}]
    document["tasks"][1]["definition"]["optional"] = "perhaps"
    assert sorted(_findings(document, make())) == [
        "$.tasks[1].definition.optional",
        "$.workflows[0].definition.tasks[0].uses",
        "$.workflows[1].definition.tasks[0].retryCount",
        "$.workflows[1].definition.tasks[2].startDelay",
        "$.workflows[2].definition.relations[0].postTask",
    ]


def test_entries_that_do_not_fit_each_other_are_refused(engine: MemoryEngine, make: Make) -> None:
    task = _save_task(engine, {"name": "load"})
    _save(engine, {"name": "w", "tasks": [_used(task)]})
    document = _export(engine, "w")
    (workflow,), (used,) = document["workflows"], document["tasks"]
    again = {**workflow, "version": 2}
    namesake = {**workflow, "code": "7"}
    for more, path in (
        ({"workflows": [workflow, again]}, "$.workflows[1].edited"),
        ({"workflows": [workflow, namesake]}, "$.workflows[1].definition.name"),
        ({"workflows": [{**workflow, "code": used["code"]}]}, "$.workflows[0].code"),
        ({"workflows": [workflow, workflow]}, "$.workflows[1].version"),
        ({"tasks": [used, used]}, "$.tasks[1].version"),
        ({"tasks": []}, "$.workflows[0].definition.tasks[0].uses"),
    ):
        assert path in _findings({**document, **more}, make())


def test_more_than_one_step_should_write_is_refused(
    engine: MemoryEngine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True)
    other = make()
    before = _kept(other)
    monkeypatch.setattr(importing, "MOST_WRITES", 10)
    with pytest.raises(PayloadTooLarge):
        _import(other, document)
    assert _kept(other) == before


class _Killed(BaseException):
    """The process is no more."""


class _Dying:
    """A catalog store whose process dies at its n-th call, before it or behind it."""

    def __init__(self, store: Any, at: int, *, behind: bool) -> None:
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


@pytest.mark.parametrize("behind", [False, True])
def test_whoever_dies_in_an_import_leaves_all_of_it_or_nothing(
    engine: MemoryEngine, make: Make, *, behind: bool
) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True)
    other = make()
    before, deaths = _kept(other), 0
    for at in range(1, 200):
        dying = memory_engine(
            clock=other.clock,
            space=other.ports.metadata._space,  # type: ignore[attr-defined]
            catalog=_Dying(other.ports.catalog, at, behind=behind),
        )
        try:
            _import(dying, document)
        except _Killed:
            deaths += 1
            if _kept(other) == before:
                continue
        break
    assert deaths > 5
    assert set(_told(_import(other, document)).values()) == {"UNCHANGED"}


def test_an_import_that_is_overtaken_is_refused_whole(engine: MemoryEngine, make: Make) -> None:
    _stocked(engine)
    document = _export(engine, "night", callees=True)
    other = make()

    class Overtaken:
        def change(self, writes: Any) -> bool:
            _save(other, _etl("child"))
            return other.ports.catalog.change(writes)

        def __getattr__(self, name: str) -> Any:
            return getattr(other.ports.catalog, name)

    slow = memory_engine(
        clock=other.clock,
        space=other.ports.metadata._space,  # type: ignore[attr-defined]
        catalog=Overtaken(),
    )
    with pytest.raises(Conflict, match="meanwhile"):
        _import(slow, document)
    assert other.engine.catalog.named("night") is None


def test_a_large_task_that_a_bundle_uses_again_and_again_is_refused_before_it_is_put_together(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = {"name": "large", "inputParameters": {"b": "x" * (1 << 20)}}
    used = {"uses": {"code": "7", "version": 1}}
    workflows = [
        {
            "code": f"{10 + at}",
            "version": 1,
            "definition": {
                "name": f"w{at}",
                "tasks": [{**used, "taskReferenceName": f"t{each}"} for each in range(4)],
            },
        }
        for at in range(10)
    ]
    monkeypatch.setattr(import_checks, "read_task", lambda *_: pytest.fail("put together"))
    tasks = [{"code": "7", "version": 1, "definition": large}]
    with pytest.raises(InvalidInput) as refused:
        _import(engine, {"format": 1, "workflows": workflows, "tasks": tasks}, dry_run=True)
    (found,) = refused.value.violations
    assert found.path == "$.workflows"


@pytest.mark.parametrize(
    ("bound", "most"), [("MOST_BYTES", 3_000), ("MAX_VALUES", 500)], ids=["bytes", "values"]
)
def test_an_export_of_many_large_versions_ends_before_all_of_them_are_read(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(exporting, bound, most)
    head: Head | None = None
    for at in range(8):
        large = {"name": "a", "taskReferenceName": "a", "inputParameters": {"b": [at] * 250}}
        head = _save(engine, {"name": "w", "tasks": [large]}, head.code if head else 0)
    assert _export(engine, "w")["workflows"]
    read: list[object] = []
    document = Composer.document

    def counted(composer: Composer, split: SplitWorkflow) -> JsonObject:
        read.append(split)
        return document(composer, split)

    monkeypatch.setattr(Composer, "document", counted)
    with pytest.raises(InvalidInput):
        _export(engine, "w", every=True)
    assert len(read) < 8
