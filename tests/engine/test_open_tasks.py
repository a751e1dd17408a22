"""Open tasks of a type: as they are now, and all put back at once."""

from functools import partial

import pytest

from conductor_py.errors import Conflict, StoreUnavailable
from conductor_py.testing import MemoryEngine
from tests.builders import simple, tasks_of, typed, workflow


def started(engine: MemoryEngine, count: int, *tasks: str) -> list[str]:
    found = []
    for number in range(count):
        engine.clock.advance(seconds=1)
        definition = workflow(f"w{number % 3}", *map(simple, tasks))
        found.append(engine.start(definition))
    return found


def ids(engine: MemoryEngine, task_type: str, start: int = 0, count: int = 10_000) -> list[str]:
    page = engine.engine.open_tasks.page(task_type, start=start, count=count)
    return [str(task["workflowInstanceId"]) for task in page]


def test_every_one_is_listed_at_once_oldest_first(engine: MemoryEngine) -> None:
    known = started(engine, 1_100, "a", "b")  # more than a page of any store
    assert ids(engine, "a") == known
    assert ids(engine, "a", 120, 7) == known[120:127]
    assert ids(engine, "a", 995, 10) == known[995:1_005]
    assert ids(engine, "b") == []
    task = engine.run("a")
    changed = str(task["workflowInstanceId"])
    assert ids(engine, "b") == [changed]
    assert ids(engine, "a") == [one for one in known if one != changed]


def test_status_is_that_of_now(engine: MemoryEngine) -> None:
    started(engine, 1, "a")
    listed = partial(engine.engine.open_tasks.page, "a", start=0, count=10)
    assert [task["status"] for task in listed()] == ["SCHEDULED"]
    engine.poll("a")
    assert [task["status"] for task in listed()] == ["IN_PROGRESS"]


def test_all_that_workers_have_is_put_back_and_what_waits_stays(engine: MemoryEngine) -> None:
    known = started(engine, 5, "a")
    started(engine, 2, "other")
    engine.poll("other", count=2)
    dead = engine.poll("a", count=3, worker="dead")
    assert engine.engine.open_tasks.requeue_all("a") == 5
    assert not engine.poll("other", count=2)
    again = engine.poll("a", count=10, worker="alive")
    assert sorted(str(task["workflowInstanceId"]) for task in again) == sorted(known)
    for task in dead:
        engine.complete(task, {"by": "dead"}, worker="dead")
    for task in again:
        engine.complete(task, {"by": "alive"}, worker="alive")
    for one in known:
        (task,) = tasks_of(engine, one, "a")
        assert (task["outputData"], task["retryCount"]) == ({"by": "alive"}, 0)
    assert engine.engine.open_tasks.requeue_all("a") == 0


def test_one_that_cannot_be_put_back_keeps_no_other_from_it(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = started(engine, 3, "a")
    engine.poll("a", count=3)
    operations = engine.engine.open_tasks._operations
    carry_out = operations.carry_out

    def failing(execution: str, *rest: object) -> bool:
        if execution == known[0]:
            raise StoreUnavailable("not now")
        return bool(carry_out(execution, *rest))  # type: ignore[arg-type]

    monkeypatch.setattr(operations, "carry_out", failing)
    with pytest.raises(StoreUnavailable, match="not now"):
        engine.engine.open_tasks.requeue_all("a")
    again = engine.poll("a", count=10)
    assert {str(task["workflowInstanceId"]) for task in again} == set(known[1:])


def test_what_is_in_no_queue_is_not_counted(engine: MemoryEngine) -> None:
    engine.start(workflow("w", typed("HUMAN", "h")))
    assert len(engine.engine.open_tasks.page("HUMAN", start=0, count=10)) == 1
    assert engine.engine.open_tasks.requeue_all("HUMAN") == 0


def _requeued(engine: MemoryEngine) -> dict[str, object]:
    """The task as its first worker has it, before it was put back."""
    started(engine, 1, "a")
    (former,) = engine.poll("a", worker="one")
    assert engine.engine.open_tasks.requeue_all("a") == 1
    return former


def _output(engine: MemoryEngine, task: dict[str, object]) -> object:
    (shown,) = tasks_of(engine, str(task["workflowInstanceId"]), "a")
    return shown["outputData"] if shown["status"] == "COMPLETED" else None


def test_a_late_result_is_taken_where_nothing_tells_whose_it_is(engine: MemoryEngine) -> None:
    former = _requeued(engine)
    engine.complete(former, {"by": "nobody"}, worker="")
    assert _output(engine, former) == {"by": "nobody"}


def test_workers_of_one_name_are_told_apart_by_the_claim(engine: MemoryEngine) -> None:
    former = _requeued(engine)
    (now,) = engine.poll("a", worker="one")
    with pytest.raises(Conflict):
        engine.complete(former, {"by": "former"}, worker="one", claim=former["claimToken"])
    engine.complete(now, {"by": "now"}, worker="one", claim=now["claimToken"])
    assert _output(engine, now) == {"by": "now"}


def test_workers_of_one_name_without_claims_are_one_worker(engine: MemoryEngine) -> None:
    former = _requeued(engine)
    engine.poll("a", worker="one")
    engine.complete(former, {"by": "former"}, worker="one")
    assert _output(engine, former) == {"by": "former"}
