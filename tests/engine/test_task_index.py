"""Tasks of executions that run are found by a search, a moment after they changed."""

from collections.abc import Sequence

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.errors import StoreUnavailable
from conductor_py.model.search import TASK_FIELDS, ExecutionDocument, SearchRequest
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.search_query import parse_query
from tests.builders import fork, join, pass_time, simple, times, typed, workflow


def _found(engine: MemoryEngine, query: str) -> list[str]:
    request = SearchRequest(query=parse_query(query, TASK_FIELDS))
    results = engine.ports.search.search_tasks(request).results
    return sorted(str(found.reference) for found in results)


def _counted(engine: MemoryEngine) -> list[int]:
    """Grows by the number of documents with each call of the index."""
    sizes: list[int] = []
    put = engine.ports.search.put

    def counting(documents: Sequence[ExecutionDocument]) -> None:
        sizes.append(sum(len(each.tasks) for each in documents))
        put(documents)

    engine.ports.search.put = counting  # type: ignore[method-assign]
    return sizes


def test_each_state_of_a_task_is_found_while_its_execution_runs(engine: MemoryEngine) -> None:
    engine.start(workflow("w", simple("a"), simple("b")))
    pass_time(engine, milliseconds=500)
    assert _found(engine, "status=SCHEDULED AND taskType=a") == ["a"]
    (task,) = engine.poll("a")
    pass_time(engine, milliseconds=500)
    assert (_found(engine, "status=SCHEDULED"), _found(engine, "status=IN_PROGRESS")) == ([], ["a"])
    engine.complete(task)
    pass_time(engine, milliseconds=500)
    assert _found(engine, "status=COMPLETED") == ["a"]
    assert _found(engine, "status=SCHEDULED") == ["b"]


def test_a_human_task_is_found_in_its_inbox_until_somebody_has_done_it(
    engine: MemoryEngine,
) -> None:
    engine.start(workflow("w", typed("HUMAN", "h"), simple("a")))
    pass_time(engine, milliseconds=500)
    inbox = "taskType=HUMAN AND status=IN_PROGRESS"
    assert _found(engine, inbox) == ["h"]
    (found,) = engine.ports.search.search_tasks(SearchRequest()).results
    engine.complete({"workflowInstanceId": found.execution_id, "taskId": found.task_id})
    pass_time(engine, milliseconds=500)
    assert _found(engine, inbox) == []


def test_changes_of_a_moment_are_put_together_and_once(engine: MemoryEngine) -> None:
    sizes = _counted(engine)
    for _ in range(3):
        engine.start(workflow("w", simple("a"), simple("b")))
    for _ in range(3):
        engine.run("a")
    pass_time(engine, milliseconds=500)
    assert sizes == [6]
    pass_time(engine, seconds=5)
    assert sum(sizes) == 6


def test_an_execution_that_ends_in_a_moment_is_put_once(engine: MemoryEngine) -> None:
    sizes = _counted(engine)
    engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a")
    engine.run("b")
    engine.settle()
    pass_time(engine, seconds=5)
    assert [size for size in sizes if size] == [2]
    assert engine.ports.touched.size(0) == 0


def test_tasks_that_a_loop_does_not_keep_leave_the_index(engine: MemoryEngine) -> None:
    loop = times("l", 4, simple("a"))
    loop["inputParameters"] = {"keepLastN": 1}
    engine.start(workflow("w", loop, simple("b")))
    for _ in range(4):
        engine.run("a")
        pass_time(engine, seconds=1)
    assert _found(engine, "taskType=a") == ["a__4"]


def test_more_than_one_look_takes_is_told_in_pieces() -> None:
    engine = memory_engine(limits=Limits(attempts=100))
    branches = [[simple(f"b{n}")] for n in range(450)]
    engine.start(workflow("w", fork("f", *branches), join("j", "b0")))
    pass_time(engine, seconds=1)
    page = engine.ports.search.search_tasks(SearchRequest(size=1))
    assert page.total_hits == 452
    assert engine.ports.touched.size(0) == 0


def test_an_index_that_is_away_is_told_later(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise StoreUnavailable("away")

    engine.start(workflow("w", simple("a")))
    with monkeypatch.context() as patch:
        patch.setattr(engine.ports.search, "put", away)
        engine.clock.advance(seconds=1)
        with pytest.raises(StoreUnavailable):
            engine.settle()
    pass_time(engine, seconds=31)
    assert _found(engine, "status=SCHEDULED") == ["a"]


def test_nothing_is_noted_where_tasks_are_not_indexed() -> None:
    engine = memory_engine(gather_tasks_ms=None)
    engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a")
    assert engine.ports.touched.size(0) == 0
    pass_time(engine, seconds=5)
    assert _found(engine, "status=COMPLETED") == []
