"""Results: which are taken, which are ignored, which are refused."""

from collections.abc import Sequence
from typing import Any

import pytest

from conductor_py.adapters.memory.store import MemoryExecutionStore
from conductor_py.codec.event import dump_event
from conductor_py.engine.tasks import results
from conductor_py.errors import Conflict, NotFound, StoreUnavailable
from conductor_py.model.event import ResultReported
from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import PollRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.store import Outcome, Report, ReportReply
from conductor_py.testing import MemoryEngine
from tests.builders import (
    fork,
    join,
    pass_time,
    policy,
    report,
    simple,
    status_of,
    task_of,
    tasks_of,
    times,
    wait,
    workflow,
)


@pytest.mark.oracle(33)
def test_repeated_result_changes_nothing(engine: MemoryEngine) -> None:
    """Oracle row 33."""
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    engine.complete(task, {"x": 1})
    before = engine.workflow(started)
    engine.complete(task, {"x": 2}, status="FAILED")
    assert engine.workflow(started) == before


def test_late_result_does_not_revive_an_ended_execution(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a")))
    (late,) = engine.poll("a")
    (task,) = engine.poll("b")
    engine.complete(task, status="FAILED")
    engine.complete(late, {"x": 1})
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    assert engine.statuses(started)["a"] == "CANCELED"


@pytest.mark.anomaly("A-53")
def test_result_of_a_worker_whose_claim_went_to_another_is_refused(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=0)))
    (first,) = engine.poll("a", lease_s=5)
    pass_time(engine, seconds=5)
    engine.poll("a")
    with pytest.raises(Conflict):
        report(engine, first, claim=first["claimToken"], output={"x": 1})
    assert [t["status"] for t in tasks_of(engine, started, "a")] == ["CANCELED", "IN_PROGRESS"]


@pytest.mark.anomaly("A-53")
def test_result_without_a_token_from_a_former_holder_is_ignored(engine: MemoryEngine) -> None:
    """An IN_PROGRESS callback let another worker take the same attempt."""
    started = engine.start(workflow("w", policy("a")))
    (task,) = engine.poll("a")
    report(engine, task, status="IN_PROGRESS", worker="worker")
    engine.engine.tasks.poll(PollRequest(task_type="a", worker="second", timeout_ms=0))
    report(engine, task, output={"by": "first"}, worker="worker")
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}
    report(engine, task, output={"by": "second"}, worker="second")
    assert engine.workflow(started)["output"] == {"by": "second"}


def test_token_of_a_former_claim_changes_nothing(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a")))
    (task,) = engine.poll("a")
    report(engine, task, status="IN_PROGRESS", claim=task["claimToken"])
    (again,) = engine.poll("a")
    assert again["claimToken"] > task["claimToken"]
    report(engine, again, claim=task["claimToken"], output={"x": 1})
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}
    with pytest.raises(Conflict):
        report(engine, again, claim=task["claimToken"] + 10**9)
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}


def test_repeat_of_a_result_with_its_token_is_a_success(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    (task,) = engine.poll("a")
    for _ in range(2):
        report(engine, task, claim=task["claimToken"], output={"x": 1})
    assert engine.workflow(started)["output"] == {"x": 1}


def test_unpolled_task_may_be_completed(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    report(engine, task_of(engine, started, "a"), output={"x": 1})
    assert engine.workflow(started)["output"] == {"x": 1}
    assert not engine.poll("a")


@pytest.mark.anomaly("A-14")
def test_unknown_task_and_execution_are_not_found(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    for execution, task in (
        (started, f"{started}-9"),
        (started, "nobody"),
        ("other", f"{started}-1"),
        ("", "00000000-0000-0000-0000-000000000000-1"),
    ):
        with pytest.raises(NotFound):
            engine.engine.tasks.update(
                TaskResult(workflow_id=execution, task_id=task, status=TaskStatus.COMPLETED)
            )


# -- by reference ----------------------------------------------------------------------------------


def _by_ref(engine: MemoryEngine, started: str, ref: str, **output: int) -> str | None:
    return engine.engine.tasks.update_by_ref(started, ref, TaskStatus.COMPLETED, output, "me")


def test_result_by_reference_completes_the_open_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), wait("t")))
    assert _by_ref(engine, started, "a", x=1)
    assert _by_ref(engine, started, "t", y=2)
    assert status_of(engine, started) == "COMPLETED"


def test_result_by_reference_adds_to_the_output(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a", {"x": 1, "y": 1}, status="IN_PROGRESS")
    _by_ref(engine, started, "a", y=2)
    assert engine.workflow(started)["output"] == {"x": 1, "y": 2}


def test_result_by_reference_of_nothing_open_does_nothing(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    assert _by_ref(engine, started, "b") is None
    _by_ref(engine, started, "a")
    assert _by_ref(engine, started, "a") is None
    with pytest.raises(NotFound):
        _by_ref(engine, "00000000-0000-0000-0000-000000000000", "a")


def test_result_by_reference_finds_the_task_of_the_present_iteration(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, simple("a"))))
    _by_ref(engine, started, "a", n=1)
    _by_ref(engine, started, "a__2", n=2)
    assert task_of(engine, started, "l")["outputData"]["2"] == {"a": {"n": 2}}


def test_result_by_reference_of_a_task_that_is_named_like_an_iteration(
    engine: MemoryEngine,
) -> None:
    tasks = [simple("a__2"), times("l", 2, simple("a"))]
    started = engine.start(workflow("w", *tasks))
    _by_ref(engine, started, "a__2", n=0)
    _by_ref(engine, started, "a__1", n=1)
    assert tasks_of(engine, started, "a__2")[0]["outputData"] == {"n": 0}
    _by_ref(engine, started, "a__2", n=2)
    assert task_of(engine, started, "l")["outputData"]["2"] == {"a": {"n": 2}}


@pytest.mark.parametrize("ask", ["update_by_ref", "open_task"])
def test_result_by_reference_reads_its_task_and_no_other(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    started = engine.start(workflow("w", *(simple(f"a{n}") for n in range(30)), simple("z")))
    for number in range(30):
        engine.run(f"a{number}")
    monkeypatch.setattr(engine.ports.reader, "snapshot", None)
    if ask == "open_task":
        found = engine.engine.tasks.open_task(started, "z")
        assert found is not None
        assert found.attempt.seq == 31
    else:
        assert _by_ref(engine, started, "z") == f"{started}-31"


def test_result_by_reference_of_a_name_that_is_all_iterations_asks_for_few(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a")))
    load, asked = engine.ports.store.load, []

    def counted(execution: ExecutionId, reads: Sequence[str]) -> Any:
        asked.append(len(reads))
        return load(execution, reads)

    monkeypatch.setattr(engine.ports.store, "load", counted)
    assert _by_ref(engine, started, "a" + "__1" * 5000) is None
    assert max(asked) < 200


def test_result_by_reference_whose_answer_is_lost_does_not_end_the_next_iteration(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was taken, the execution goes on, and only then the connection breaks."""
    real = MemoryExecutionStore.report

    def broken(store: MemoryExecutionStore, wanted: Report) -> ReportReply:
        real(store, wanted)
        monkeypatch.setattr(MemoryExecutionStore, "report", real)
        pass_time(engine, seconds=10)
        if wanted.once:
            raise StoreUnavailable("The answer is lost.")
        return real(store, wanted)

    started = engine.start(workflow("w", times("l", 3, simple("a"))))
    monkeypatch.setattr(MemoryExecutionStore, "report", broken)
    with pytest.raises(StoreUnavailable):
        _by_ref(engine, started, "a", n=1)
    found = {task["iteration"]: task["status"] for task in tasks_of(engine, started, "a__1")}
    found |= {task["iteration"]: task["status"] for task in tasks_of(engine, started, "a__2")}
    assert found == {1: "COMPLETED", 2: "SCHEDULED"}


# -- one after the other ---------------------------------------------------------------------------


def _held_up(engine: MemoryEngine, execution: str, seq: int) -> None:
    """Another server takes the lease with a result, and dies."""
    event = ResultReported(seq=seq, status=TaskStatus.COMPLETED)
    engine.ports.store.report(
        Report(
            execution=ExecutionId(execution),
            seq=seq,
            claim=0,
            worker="",
            final=True,
            event=dump_event(event),
            output=b"{}",
            holder="another",
            lease_ms=3_000,
        )
    )


def test_end_of_a_task_follows_its_progress_that_is_not_decided_yet(engine: MemoryEngine) -> None:
    definition = workflow("w", fork("f", [simple("a")], [wait("h")]), join("j", "a", "h"))
    started = engine.start(definition)
    task, held = task_of(engine, started, "h"), task_of(engine, started, "a")
    _held_up(engine, started, held["seq"])
    report(engine, task, status="IN_PROGRESS", output={"x": 1})
    engine.clock.advance(seconds=4)
    report(engine, task, output={"x": 2})
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "h")["outputData"] == {"x": 2}


def test_result_that_cannot_be_told_from_a_repeat_is_to_be_sent_again(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_PAUSES_S", (0.0, 0.0))
    definition = workflow("w", fork("f", [simple("a")], [wait("h")]), join("j", "a", "h"))
    started = engine.start(definition)
    task, held = task_of(engine, started, "h"), task_of(engine, started, "a")
    _held_up(engine, started, held["seq"])
    report(engine, task, status="IN_PROGRESS")
    with pytest.raises(StoreUnavailable) as refused:
        report(engine, task, output={"x": 2})
    assert refused.value.retryable


def test_result_whose_predecessor_is_decided_meanwhile_counts(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t")))
    task = task_of(engine, started, "t")
    replies = [ReportReply(outcome=Outcome.IGNORED, now_ms=engine.clock())]
    store = engine.ports.store
    plain = store.report
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "report", lambda given: replies.pop() if replies else plain(given))
        report(engine, task, output={"x": 1})
    assert task_of(engine, started, "t")["outputData"] == {"x": 1}


def test_of_two_results_by_reference_only_the_first_counts(engine: MemoryEngine) -> None:
    """The second was looking for the task while the first was on its way."""
    started = engine.start(workflow("w", wait("t"), wait("u")))
    store, taken = engine.ports.store, list[Any]()
    plain = store.report

    def slow(given: Report) -> ReportReply:
        if not taken:
            taken.append(True)
            assert _by_ref(engine, started, "t", by=1)
        return plain(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "report", slow)
        assert _by_ref(engine, started, "t", by=2) is None
    assert task_of(engine, started, "t")["outputData"] == {"by": 1}
    assert engine.statuses(started)["u"] == "IN_PROGRESS"


# -- logs ------------------------------------------------------------------------------------------


def test_log_lines_are_kept_in_order(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    task = task_of(engine, started, "a")["taskId"]
    engine.engine.tasks.log(task, "one")
    engine.engine.tasks.log(task, "two")
    assert [line["log"] for line in engine.engine.tasks.logs(task)] == ["one", "two"]
    with pytest.raises(NotFound):
        engine.engine.tasks.log(f"{started}-9", "three")


def test_worker_that_a_result_names_is_kept(engine: MemoryEngine) -> None:
    after = simple("b", inputParameters={"by": "${a.workerId}"})
    started = engine.start(workflow("w", simple("a"), after))
    (task,) = engine.poll("a", worker="poller")
    assert task_of(engine, started, "a")["workerId"] == "poller"
    engine.complete(task, status="IN_PROGRESS", worker="thread-1")
    assert task_of(engine, started, "a")["workerId"] == "thread-1"
    (task,) = engine.poll("a", worker="other")
    assert task_of(engine, started, "a")["workerId"] == "other"
    engine.complete(task, worker="thread-2")
    assert task_of(engine, started, "a")["workerId"] == "thread-2"
    assert engine.run("b")["inputData"] == {"by": "thread-2"}
