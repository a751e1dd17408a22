"""Wide executions are read by pages, or whole one at a time, and of their tasks one at a time."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import orjson
import pytest

from conductor_py.codec.execution import dump_header
from conductor_py.engine.decisions import encoding
from conductor_py.engine.reading import reading, views
from conductor_py.errors import NotFound, Overloaded, PayloadTooLarge
from conductor_py.model.afresh import Afresh
from conductor_py.model.ids import ExecutionId
from conductor_py.model.search import ExecutionDocument, SearchRequest
from conductor_py.testing import MemoryEngine
from conductor_py.wire.outside import PLACE
from tests.builders import pass_time, simple, tasks_of, times, workflow
from tests.heavy import another_has, few_are_many, wide_execution

_BRANCHES = 30


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    few_are_many(monkeypatch)


@pytest.fixture
def wide(engine: MemoryEngine) -> str:
    return wide_execution(engine, _BRANCHES)


def _pages(engine: MemoryEngine, execution: str, size: int, **more: Any) -> list[Any]:
    found: list[Any] = []
    for start in itertools.count(0, size):
        page = engine.engine.executions.tasks(execution, start=start, count=size, **more)
        found += page.results
        if not page.results:
            assert page.total_hits == len(found)
            return found
    raise AssertionError


def _whole_reads(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[ExecutionId]:
    asked: list[ExecutionId] = []
    snapshot = engine.ports.reader.snapshot

    def noted(execution: ExecutionId, **more: Any) -> Any:
        asked.append(execution)
        return snapshot(execution, **more)

    monkeypatch.setattr(engine.ports.reader, "snapshot", noted)
    return asked


def test_pages_are_the_list_of_tasks_and_read_no_more_of_it(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = engine.workflow(wide)["tasks"]
    asked = _whole_reads(engine, monkeypatch)
    assert _pages(engine, wide, 7) == listed
    assert asked == []


def test_pages_of_a_status_are_those_of_the_list(engine: MemoryEngine, wide: str) -> None:
    listed = engine.workflow(wide)["tasks"]
    for status in ("COMPLETED", "SCHEDULED", "FAILED"):
        expected = [task for task in listed if task["status"] == status]
        assert _pages(engine, wide, 7, statuses={status}) == expected


def test_pages_of_a_loop_that_forgets_its_turns_are_the_list(engine: MemoryEngine) -> None:
    loop = times("l", 9, simple("a"), simple("b"))
    loop["inputParameters"] = {"keepLastN": 2}
    started = engine.start(workflow("w", loop))
    for _ in range(5):
        engine.run("a")
        engine.run("b")
    listed = engine.workflow(started)["tasks"]
    assert len(tasks_of(engine, started, "a__5")) == 1
    assert _pages(engine, started, 2) == listed


def test_pages_after_a_restart_are_those_of_the_new_tasks(engine: MemoryEngine, wide: str) -> None:
    engine.run(f"b{_BRANCHES - 1}")
    engine.engine.recovery.restart(wide)
    listed = engine.workflow(wide)["tasks"]
    assert len(listed) == _BRANCHES + 2
    assert _pages(engine, wide, 7) == listed


def test_pages_of_an_archived_execution_are_the_list(engine: MemoryEngine, wide: str) -> None:
    listed = engine.workflow(wide)["tasks"]
    engine.run(f"b{_BRANCHES - 1}")
    pass_time(engine, seconds=5)
    found = engine.ports.reader.snapshot(ExecutionId(wide))
    assert found is not None
    engine.ports.reader.remove(ExecutionId(wide), found[0])
    assert engine.ports.reader.snapshot(ExecutionId(wide)) is None
    pages = _pages(engine, wide, 7)
    assert [task["taskId"] for task in pages] == [task["taskId"] for task in listed]


def test_pages_of_nobody_are_not_found(engine: MemoryEngine) -> None:
    with pytest.raises(NotFound):
        engine.engine.executions.tasks("000" + "0" * 29, start=0, count=5)


def test_what_is_written_is_the_document(engine: MemoryEngine, wide: str) -> None:
    document = engine.engine.executions.document(wide)
    assert engine.engine.executions.json(wide) == orjson.dumps(document, default=dict)
    assert b"4111" not in engine.engine.executions.json(wide)
    without = engine.engine.executions.document(wide, include_tasks=False)
    assert engine.engine.executions.json(wide, include_tasks=False) == orjson.dumps(
        without, default=dict
    )


def test_one_in_which_nothing_failed_is_read_without_its_tasks_when_nobody_wants_them(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.run(f"b{_BRANCHES - 1}")
    asked = _whole_reads(engine, monkeypatch)
    found = engine.engine.executions.document(wide, include_tasks=False)
    assert (found["status"], found["failedReferenceTaskNames"]) == ("COMPLETED", [])
    assert asked == []


def test_what_failed_is_named_though_it_was_done_again_and_went_well(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a", status="FAILED")
    failed = engine.engine.executions.document(started, include_tasks=False)
    assert failed["failedReferenceTaskNames"] == ["a"]
    engine.engine.recovery.retry(started)
    engine.run("a")
    engine.run("b", status="FAILED_WITH_TERMINAL_ERROR")
    again = engine.engine.executions.document(started, include_tasks=False)
    assert again["failedReferenceTaskNames"] == ["b"]
    assert again["failedReferenceTaskNames"] == engine.workflow(started)["failedReferenceTaskNames"]


def test_one_that_an_older_server_began_is_looked_through_for_what_failed(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(
            encoding, "dump_header", lambda header: dump_header(replace(header, sound=False))
        )
        started = engine.start(workflow("w", simple("a")))
        engine.run("a", status="FAILED")
    found = engine.engine.executions.document(started, include_tasks=False)
    assert found["failedReferenceTaskNames"] == ["a"]


def test_wide_executions_are_read_one_at_a_time(engine: MemoryEngine, wide: str) -> None:
    narrow = engine.start(workflow("n", simple("a")))
    with another_has(PLACE):
        for read in (
            lambda: engine.engine.executions.json(wide, patient=False),
            lambda: engine.engine.executions.tasks(
                wide, start=0, count=5, statuses={"FAILED"}, patient=False
            ),
        ):
            with pytest.raises(Overloaded, match="large execution"):
                read()
        assert orjson.loads(engine.engine.executions.json(narrow, patient=False))["tasks"]
        assert len(engine.engine.executions.tasks(wide, start=3, count=5).results) == 5
    assert not PLACE.is_own
    assert len(orjson.loads(engine.engine.executions.json(wide, patient=False))["tasks"]) == 32
    assert not PLACE.is_own


def test_a_wide_execution_goes_into_index_and_archive_with_its_tasks_one_at_a_time(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[Collection[Any]] = []
    own = engine.ports.search.put

    def noted(documents: list[ExecutionDocument]) -> None:
        put.extend(document.tasks for document in documents if document.archive is not None)
        own(documents)

    monkeypatch.setattr(engine.ports.search, "put", noted)
    engine.run(f"b{_BRANCHES - 1}")
    listed = engine.workflow(wide)
    pass_time(engine, seconds=5)
    assert [type(tasks) for tasks in put] == [Afresh]
    page = engine.ports.search.search_tasks(SearchRequest(size=100))
    assert {task.status for task in page.results} == {"COMPLETED"}
    assert page.total_hits == _BRANCHES + 2
    kept = engine.ports.search.archived(wide)
    assert kept is not None
    assert orjson.loads(kept.document) == orjson.loads(orjson.dumps(listed, default=dict))


def test_a_wide_execution_waits_with_its_archive_for_what_is_heavy(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor_py.engine.effects.indexing._HEAVY_S", 0)
    engine.run(f"b{_BRANCHES - 1}")
    with another_has(PLACE):
        pass_time(engine, seconds=5)
        assert engine.ports.search.archived(wide) is None
    pass_time(engine, seconds=31)
    assert engine.ports.search.archived(wide) is not None


def _tasks(engine: MemoryEngine, execution: str) -> Collection[Any]:
    view = engine.engine.executions.view(execution)
    assert view is not None
    return view.tasks


def test_tasks_with_large_documents_are_one_at_a_time_though_they_are_few(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MANY", 1_000)
    monkeypatch.setattr(views, "_MUCH", 10_000)
    started = engine.start(workflow("w", simple("a"), simple("b"), simple("c")))
    engine.run("a", {"list": [[]] * 2_000})
    assert isinstance(_tasks(engine, started), tuple)
    engine.run("b", {"list": [[]] * 2_000})
    assert isinstance(_tasks(engine, started), Afresh)
    written = orjson.loads(engine.engine.executions.json(started))
    assert [task["outputData"] for task in written["tasks"]] == [{"list": [[]] * 2_000}] * 2 + [{}]


def test_what_is_too_large_to_be_read_whole_is_refused_and_read_by_pages(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(engine.engine.executions.json(wide))
    for most in (1_000, size - 1):
        monkeypatch.setattr(reading, "_MOST_BYTES", most)
        with pytest.raises(PayloadTooLarge, match="includeTasks=false"):
            engine.engine.executions.json(wide)
    assert orjson.loads(engine.engine.executions.json(wide, include_tasks=False))["tasks"] == []
    assert len(_pages(engine, wide, 7)) == _BRANCHES + 2
