"""What a read of the store leaves out is read again, and never taken for what is absent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from conductor_py.adapters.memory import reader, store
from conductor_py.engine.decisions import deliberation, needs
from conductor_py.engine.reading import reading, task_index
from conductor_py.engine.reading.loading import Piece, load_all, load_tasks
from conductor_py.errors import Overloaded, PayloadTooLarge, StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.model.search import TASK_FIELDS, ExecutionDocument, SearchRequest
from conductor_py.ports.search import DocumentRefused
from conductor_py.testing import MemoryEngine
from conductor_py.wire.outside import PLACE
from conductor_py.wire.search_query import parse_query
from tests.builders import fork, join, pass_time, simple, workflow
from tests.heavy import another_has

_BRANCHES = 12
_SIZE = 20_000


@pytest.fixture(autouse=True)
def _reads_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "READ_BYTES", 4 * _SIZE)
    monkeypatch.setattr(reader, "PAGE_FIELDS", 10)


@pytest.fixture
def large(engine: MemoryEngine) -> ExecutionId:
    """An execution whose outputs are more than a read brings; a branch of it is open."""
    refs = [f"b{number}" for number in range(_BRANCHES)]
    forked = fork("f", *[[simple(ref)] for ref in refs])
    started = engine.start(workflow("w", forked, join("j", *refs)), input={"of": "w"})
    for ref in refs[:-1]:
        engine.run(ref, {"of": ref, "x": "y" * _SIZE})
    return ExecutionId(started)


def _page(engine: MemoryEngine, execution: str, count: int = 100) -> list[Any]:
    return list(engine.engine.executions.tasks(execution, start=0, count=count).results)


def _pieces(engine: MemoryEngine, execution: ExecutionId, **more: Any) -> list[Piece]:
    return list(load_tasks(engine.ports.store, execution, range(1, _BRANCHES + 1), **more))


def test_a_page_has_the_outputs_of_all_its_tasks(engine: MemoryEngine, large: ExecutionId) -> None:
    listed = engine.workflow(large)["tasks"]
    assert _page(engine, large) == listed
    assert [task["outputData"]["of"] for task in listed if "x" in task["outputData"]] == [
        f"b{number}" for number in range(_BRANCHES - 1)
    ]


def test_a_task_larger_than_a_read_is_whole(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")), input={"z": "i" * 9 * _SIZE})
    (task,) = engine.poll("a")
    engine.complete(task, {"x": "y" * 5 * _SIZE})
    assert _page(engine, started) == engine.workflow(started)["tasks"]
    shown = dict(engine.engine.tasks.document(task["taskId"]))
    assert shown["outputData"] == {"x": "y" * 5 * _SIZE}
    without = engine.engine.executions.document(started, include_tasks=False)
    assert without["input"] == {"z": "i" * 9 * _SIZE}


def test_a_page_that_is_too_large_says_that_fewer_tasks_are_to_be_asked_for(
    engine: MemoryEngine, large: ExecutionId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MOST_BYTES", 8 * _SIZE)
    with pytest.raises(PayloadTooLarge, match="fewer tasks at a time"):
        _page(engine, large)
    assert len(_page(engine, large, count=3)) == 3


def test_a_page_of_more_than_one_read_is_heavy(engine: MemoryEngine, large: ExecutionId) -> None:
    with another_has(PLACE):
        with pytest.raises(Overloaded):
            engine.engine.executions.tasks(large, start=0, count=100, patient=False)
        assert len(_page(engine, large, count=3)) == 3
    assert len(_page(engine, large)) == _BRANCHES + 2


def test_tasks_come_in_order_and_whole_each_once(engine: MemoryEngine, large: ExecutionId) -> None:
    pieces = _pieces(engine, large, also=("h", "input"))
    assert len(pieces) > 3
    assert [seq for piece in pieces for seq in piece.seqs] == list(range(1, _BRANCHES + 1))
    for piece in pieces:
        assert {"h", "input"} <= piece.fields.keys()
        assert {int(n[2:]) for n in piece.fields if ":" in n} == set(piece.seqs)
        assert all(len(piece.fields[f"o:{seq}"]) > _SIZE for seq in piece.seqs if seq > 1)


def test_of_an_execution_that_goes_meanwhile_no_more_tasks_come(
    engine: MemoryEngine, large: ExecutionId
) -> None:
    pieces = load_tasks(engine.ports.store, large, range(1, _BRANCHES + 1))
    first = next(pieces)
    engine.engine.executions.terminate(large, reason="enough")
    found = engine.ports.reader.snapshot(large)
    assert found is not None
    engine.ports.reader.remove(large, found[0])
    assert (len(first.seqs) < _BRANCHES, list(pieces)) == (True, [])


def test_fields_of_several_reads_are_of_one_version(
    engine: MemoryEngine, large: ExecutionId, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"o:{seq}" for seq in range(2, _BRANCHES + 1)]
    load = engine.ports.store.load
    between: list[str] = [f"b{_BRANCHES - 1}"]

    def changing(execution: ExecutionId, reads: Any) -> Any:
        if len(reads) < len(names) and between:
            engine.run(between.pop(), {})
        return load(execution, reads)

    monkeypatch.setattr(engine.ports.store, "load", changing)
    found = load_all(engine.ports.store, large, names)
    assert found is not None
    assert between == []
    assert found[0] == load(large, ["h"])[0]  # type: ignore[index]
    assert len(found[1]) == len(names)


def test_fields_that_never_stay_the_same_are_to_be_read_later(
    engine: MemoryEngine, large: ExecutionId, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = engine.ports.store.load
    calls = iter(range(1_000))

    def moving(execution: ExecutionId, reads: Any) -> Any:
        found = load(execution, reads)
        assert found is not None
        return next(calls), found[1]

    monkeypatch.setattr(engine.ports.store, "load", moving)
    with pytest.raises(StoreUnavailable, match="changes while it is read"):
        load_all(engine.ports.store, large, [f"o:{seq}" for seq in range(2, _BRANCHES + 1)])


def _branches_done(engine: MemoryEngine) -> list[str]:
    """Have an execution whose tasks change at once, all but one; returns their references."""
    refs = [f"b{number}" for number in range(_BRANCHES)]
    engine.start(workflow("w", fork("f", *[[simple(ref)] for ref in refs]), join("j", *refs)))
    for task in [each for ref in refs[:-1] for each in engine.poll(ref)]:
        engine.complete(task, {"x": "y" * _SIZE})
    return refs[:-1]


def _done(engine: MemoryEngine) -> list[str]:
    query = parse_query("status=COMPLETED AND taskType!=FORK", TASK_FIELDS)
    results = engine.ports.search.search_tasks(SearchRequest(query=query)).results
    return sorted(str(found.reference) for found in results)


def test_a_task_whose_fields_were_left_out_stays_in_the_index(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_index, "_MUCH", 6 * _SIZE)
    refs = _branches_done(engine)
    pass_time(engine, seconds=1)
    assert _done(engine) == sorted(refs)


@pytest.mark.parametrize("raised", [DocumentRefused("no"), StoreUnavailable("away"), ValueError()])
def test_what_the_index_does_not_take_is_told_again(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    monkeypatch.setattr(task_index, "_MUCH", 2 * _SIZE)
    refs, put, refusals = _branches_done(engine), engine.ports.search.put, [raised]

    def refusing(documents: Sequence[ExecutionDocument]) -> None:
        if refusals and any(document.tasks for document in documents):
            raise refusals.pop()
        put(documents)

    monkeypatch.setattr(engine.ports.search, "put", refusing)
    engine.clock.advance(seconds=1)
    with suppress(StoreUnavailable):
        engine.settle()
    pass_time(engine, seconds=1_300)
    assert refusals == []
    assert _done(engine) == sorted(refs)


def test_a_join_has_the_outputs_of_all_its_branches(
    engine: MemoryEngine, large: ExecutionId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliberation, "_MUCH", 6 * _SIZE)
    renewed: list[str] = []
    renew = engine.ports.store.renew

    def noted(execution: ExecutionId, *of: Any) -> Any:
        renewed.append(execution)
        return renew(execution, *of)

    monkeypatch.setattr(engine.ports.store, "renew", noted)
    engine.run(f"b{_BRANCHES - 1}", {"of": "b11"})
    (joined,) = (task for task in engine.workflow(large)["tasks"] if task["taskType"] == "JOIN")
    assert {ref: output["of"] for ref, output in joined["outputData"].items()} == {
        f"b{number}": f"b{number}" for number in range(_BRANCHES)
    }
    assert set(renewed) == {large}


def test_a_decision_that_needs_too_much_at_once_ends_its_execution(
    engine: MemoryEngine, large: ExecutionId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needs, "_MOST_BYTES", 8 * _SIZE)
    engine.run(f"b{_BRANCHES - 1}", {"of": "b11"})
    found = engine.workflow(large)
    assert found["status"] == "FAILED"
    assert "needs more than 0 MB at once" in found["reasonForIncompletion"]
