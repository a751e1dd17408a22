"""Requeue: what a dead worker has is offered to others, and no retry is used."""

from typing import Any

import pytest

from conductor_py.decider.decide import decide
from conductor_py.engine.decisions import deliberation
from conductor_py.errors import Conflict, NotFound
from conductor_py.model.status import TaskStatus
from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    do_while,
    fork,
    join,
    pass_time,
    simple,
    status_of,
    tasks_of,
    typed,
    workflow,
)

UNKNOWN = "00000000-0000-0000-0000-000000000000"


def one(**definition: object) -> Json:
    task = simple("a", retryCount=0)
    task["taskDefinition"] = {"name": "a", "retryCount": 0, "timeoutSeconds": 0, **definition}
    return workflow("w", task, simple("b"))


def requeue(engine: MemoryEngine, task: Json) -> None:
    engine.engine.open_tasks.requeue(task["taskId"])


def test_same_attempt_is_offered_again(engine: MemoryEngine) -> None:
    started = engine.start(one())
    (dead,) = engine.poll("a", worker="dead")
    requeue(engine, dead)
    (shown,) = tasks_of(engine, started, "a")
    assert (shown["status"], shown.get("workerId"), shown["retryCount"]) == ("SCHEDULED", None, 0)
    (again,) = engine.poll("a", worker="alive")
    assert (again["taskId"], again["pollCount"]) == (dead["taskId"], 2)
    engine.complete(dead, {"by": "dead"}, worker="dead")
    assert status_of(engine, started) == "RUNNING"
    engine.complete(again, {"by": "alive"}, worker="alive")
    (done,) = tasks_of(engine, started, "a")
    assert (done["status"], done["outputData"]) == ("COMPLETED", {"by": "alive"})


def test_late_result_with_its_claim_is_refused(engine: MemoryEngine) -> None:
    engine.start(one())
    (dead,) = engine.poll("a", worker="dead")
    requeue(engine, dead)
    with pytest.raises(Conflict, match="not held any more"):
        engine.complete(dead, worker="dead", claim=dead["claimToken"])


def test_late_result_by_reference_is_ignored_as_one_by_its_id_is(engine: MemoryEngine) -> None:
    started = engine.start(one())
    (dead,) = engine.poll("a", worker="dead")
    requeue(engine, dead)

    def report(worker: str) -> str | None:
        tasks = engine.engine.tasks
        return tasks.update_by_ref(started, "a", TaskStatus.COMPLETED, {"by": worker}, worker)

    assert report("dead") == dead["taskId"]
    assert tasks_of(engine, started, "a")[0]["status"] == "SCHEDULED"
    engine.poll("a", worker="alive")
    report("dead")
    assert report("alive") == dead["taskId"]
    assert tasks_of(engine, started, "a")[0]["outputData"] == {"by": "alive"}


def test_timeout_of_the_task_runs_on(engine: MemoryEngine) -> None:
    started = engine.start(one(timeoutSeconds=100, timeoutPolicy="RETRY", responseTimeoutSeconds=5))
    (dead,) = engine.poll("a")
    pass_time(engine, seconds=4)
    requeue(engine, dead)
    pass_time(engine, seconds=50)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=50)
    (shown,) = tasks_of(engine, started, "a")
    assert shown["status"] == "TIMED_OUT"


def test_paused_execution_offers_it_when_it_is_resumed(engine: MemoryEngine) -> None:
    started = engine.start(one())
    (dead,) = engine.poll("a")
    engine.engine.steering.pause(started)
    requeue(engine, dead)
    assert not engine.poll("a")
    engine.engine.steering.resume(started)
    assert [task["taskId"] for task in engine.poll("a")] == [dead["taskId"]]


def test_iteration_of_a_loop_is_offered_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", do_while("l", "$.l['iteration'] < 2", simple("a"))))
    engine.run("a")
    (dead,) = engine.poll("a")
    requeue(engine, dead)
    assert engine.run("a")["taskId"] == dead["taskId"]
    assert status_of(engine, started) == "COMPLETED"


def test_what_no_worker_has_is_refused_with_the_reason(engine: MemoryEngine) -> None:
    started = engine.start(one())
    (waiting,) = tasks_of(engine, started, "a")
    with pytest.raises(Conflict, match=r"Task a \(a\) is held by no worker"):
        requeue(engine, waiting)
    done = engine.run("a")
    with pytest.raises(Conflict, match=r"Task a \(a\) is COMPLETED; only an open task"):
        requeue(engine, done)
    with pytest.raises(NotFound):
        engine.engine.open_tasks.requeue(f"{UNKNOWN}-1")
    with pytest.raises(NotFound):
        engine.engine.open_tasks.requeue(f"{started}-9")
    engine.run("b")
    pass_time(engine, seconds=120)
    with pytest.raises(Conflict, match="COMPLETED and archived"):
        requeue(engine, done)


def test_what_a_server_carries_out_is_refused(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", typed("HTTP", "h", inputParameters={"uri": "http://127.0.0.1:9/"}))
    )
    assert engine.poll("HTTP")
    (shown,) = tasks_of(engine, started, "h")
    with pytest.raises(Conflict, match=r"Task h \(HTTP\) has no worker"):
        requeue(engine, shown)


@pytest.mark.parametrize("branches", [5, 50])
def test_all_tasks_that_a_worker_has_of_an_execution_are_looked_at_together(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, branches: int
) -> None:
    asked: list[int] = []

    def counted(*known: Any) -> Any:
        asked.append(1)
        return decide(*known)

    refs = [f"x{number}" for number in range(branches)]
    forked = fork("f", *[[simple(ref) | {"name": "x"}] for ref in refs])
    engine.start(workflow("w", forked, join("j", *refs)))
    assert len(engine.poll("x", branches, worker="dead")) == branches
    monkeypatch.setattr(deliberation, "decide", counted)
    assert engine.engine.open_tasks.requeue_all("x") == branches
    assert len(asked) == 2  # what it lacks is told once
    assert len(engine.poll("x", branches, worker="alive")) == branches
