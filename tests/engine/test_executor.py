"""The executor: stale holders, unknown formats, invariants of queues and claims."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.decider.decide import decide
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import Commit, Outcome
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    fork,
    join,
    pass_time,
    policy,
    simple,
    status_of,
    sub_workflow,
    tasks_of,
    workflow,
)


def _caught(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, act: Any) -> Commit:
    """Let a server freeze with its commit in its hands; the lease it held ends later."""
    store = type(engine.ports.store)
    caught: list[Commit] = []

    def freeze(_: Any, order: Commit) -> Any:
        caught.append(order)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store, "commit", freeze)
        with pytest.raises(KeyboardInterrupt):
            act()
    return caught[0]


@pytest.mark.anomaly("A-24")
def test_commit_of_a_frozen_holder_changes_nothing(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I1."""
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    frozen = _caught(engine, monkeypatch, lambda: engine.complete(task))
    pass_time(engine, seconds=4)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}
    before = engine.workflow(started)
    assert engine.ports.store.commit(frozen).outcome is Outcome.STALE
    assert engine.workflow(started) == before
    assert len(engine.poll("b", 5)) == 1


def test_without_fencing_a_commit_that_is_behind_the_inbox_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = memory_engine(fencing=False)
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    frozen = _caught(engine, monkeypatch, lambda: engine.complete(task))
    pass_time(engine, seconds=4)
    engine.run("b")
    assert engine.ports.store.commit(frozen).outcome is Outcome.STALE
    assert status_of(engine, started) == "COMPLETED"
    assert [t["seq"] for t in tasks_of(engine, started, "b")] == [2]


@pytest.mark.anomaly("A-6")
def test_commit_that_is_repeated_after_a_lost_answer_counts_once(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    frozen = _caught(engine, monkeypatch, lambda: engine.complete(task))
    assert engine.ports.store.commit(frozen).outcome is Outcome.OK
    assert engine.ports.store.commit(frozen).outcome is Outcome.OK
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}
    assert len(engine.poll("b", 5)) == 1


@pytest.mark.anomaly("A-55")
def test_result_that_was_taken_survives_the_server_that_took_it(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    _caught(engine, monkeypatch, lambda: engine.complete(task, {"x": 1}))
    assert not engine.poll("b")
    pass_time(engine, seconds=3)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


def test_ended_execution_is_not_revived_by_a_commit_of_its_generation(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I2."""
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    frozen = _caught(engine, monkeypatch, lambda: engine.complete(task))
    pass_time(engine, seconds=4)
    engine.engine.executions.terminate(started, reason="over")
    loaded = engine.ports.store.load(ExecutionId(started), ["h"])
    assert loaded is not None
    space: MemorySpace = engine.ports.store._space  # type: ignore[attr-defined]
    first = space.of(ExecutionId(started)).executions[ExecutionId(started)].base
    now = replace(frozen, version=loaded[0], first_event=first, consumed=100)
    assert engine.ports.store.commit(now).outcome is Outcome.STALE
    assert status_of(engine, started) == "TERMINATED"


def test_plan_that_a_commit_needs_is_stored_for_it(engine: MemoryEngine) -> None:
    """I9: the child's plan is in the store from the commit on that starts it."""
    child = workflow("c", simple("x"))
    started = engine.start(workflow("w", simple("a"), sub_workflow("s", child)))
    engine.run("a")
    assert engine.statuses(started)["s"] == "IN_PROGRESS"
    assert engine.ports.plans.count(0) == 2


@pytest.mark.anomaly("A-27")
def test_many_results_are_decided_together_by_whoever_holds_the_lease(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = [f"b{n}" for n in range(10)]
    branches = [[{**simple(ref), "name": "a"}] for ref in refs]
    started = engine.start(workflow("w", fork("f", *branches), join("j", *refs)))
    tasks = engine.poll("a", 10)
    _caught(engine, monkeypatch, lambda: engine.complete(tasks[0]))
    for task in tasks[1:]:
        engine.complete(task)
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    commits: list[int] = []
    store = type(engine.ports.store)
    commit = store.commit

    def counted(self: Any, order: Commit) -> Any:
        commits.append(order.consumed)
        return commit(self, order)

    monkeypatch.setattr(store, "commit", counted)
    pass_time(engine, seconds=3)
    assert status_of(engine, started) == "COMPLETED"
    assert len(commits) == 1


def test_unknown_stored_format_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space)
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    fields = space.partition(0).executions[started].fields
    known = fields["h"]
    fields["h"] = orjson.dumps({**orjson.loads(known), "f": 99})
    stored = {name: value for name, value in fields.items() if name[:2] not in {"c:", "o:"}}
    engine.complete(task, {"x": 1})
    for _ in range(3):
        pass_time(engine, seconds=4)
    assert {name: fields[name] for name in stored} == stored
    assert "unknown stored format" in caplog.text
    fields["h"] = known
    pass_time(engine, seconds=8)  # each wait after a setback is twice as long
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


def test_task_of_an_unknown_format_does_not_take_other_polled_tasks_with_it() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space)
    odd, fine = (engine.start(workflow("w", simple("a"))) for _ in range(2))
    fields = space.partition(0).executions[odd].fields
    fields["h"] = orjson.dumps({**orjson.loads(fields["h"]), "f": 99})
    assert [task["workflowInstanceId"] for task in engine.poll("a", 5)] == [fine]


def test_unknown_format_does_not_stop_the_archive_of_others() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space)
    odd, fine = (engine.start(workflow("w", simple("a"))) for _ in range(2))
    engine.run("a")
    engine.run("a")
    fields = space.partition(0).executions[odd].fields
    known = fields["h"]
    fields["h"] = orjson.dumps({**orjson.loads(known), "f": 99})
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=61)
    assert engine.engine.executions.view(fine) is None
    fields["h"] = known
    pass_time(engine, seconds=31)
    pass_time(engine, seconds=31)
    pass_time(engine, seconds=31)
    assert engine.engine.executions.view(odd) is None
    assert status_of(engine, odd) == "COMPLETED"


def test_execution_that_cannot_be_decided_ends_with_the_reason_and_stops_no_other(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = engine.start(workflow("w", policy("a", pollTimeoutSeconds=5, retryCount=0)))
    fine = engine.start(workflow("w", policy("a", pollTimeoutSeconds=5, retryCount=0)))

    def throwing(plan: Any, execution: Any, *rest: Any) -> Any:
        if execution.id == broken and not execution.header.status.terminal:
            raise ZeroDivisionError("by zero")
        return decide(plan, execution, *rest)

    with monkeypatch.context() as patch:
        patch.setattr("conductor_py.engine.decisions.deliberation.decide", throwing)
        pass_time(engine, seconds=5)
        assert status_of(engine, fine) == "TIMED_OUT"
    found = engine.workflow(broken)
    assert found["status"] == "FAILED"
    assert found["reasonForIncompletion"] == "internal error: ZeroDivisionError: by zero"
    pass_time(engine, seconds=4)
    pass_time(engine, seconds=61)
    assert engine.engine.executions.view(broken) is None


def test_result_that_breaks_the_decision_is_accepted(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conductor_py.engine.decisions import deliberation

    started = engine.start(workflow("w", simple("a"), simple("b")))
    with monkeypatch.context() as patch:
        patch.setattr(deliberation, "decide", lambda *_: 1 // 0)
        engine.run("a", {"x": 1})
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    assert engine.statuses(started) == {"a": "CANCELED"}
    assert not engine.poll("b")


@pytest.mark.anomaly("A-35")
def test_store_that_goes_away_while_deciding_ends_no_execution(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conductor_py.engine.decisions import deliberation

    def away(*_: Any) -> Any:
        raise StoreUnavailable

    started = engine.start(workflow("w", simple("a"), simple("b")))
    with monkeypatch.context() as patch:
        patch.setattr(deliberation, "decide", away)
        engine.run("a")
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=4)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


def test_event_of_an_unknown_kind_leaves_the_execution_alone(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conductor_py.engine.tasks import results

    started = engine.start(workflow("w", simple("a"), simple("b")))
    with monkeypatch.context() as patch:
        patch.setattr(results, "dump_event", lambda _: b'1 {"t":"of a later version"}')
        engine.run("a")
    before = engine.workflow(started)
    pass_time(engine, seconds=4)
    assert engine.workflow(started) == before
    assert before["status"] == "RUNNING"
    assert not engine.poll("b")


# -- what was accepted -----------------------------------------------------------------------------


def test_start_succeeds_when_the_store_goes_away_after_it(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> Any:
        raise StoreUnavailable

    child = sub_workflow("s", workflow("c", simple("x")))
    with monkeypatch.context() as patch:
        patch.setattr(type(engine.ports.store), "acquire", away)
        started = engine.start(workflow("w", child))
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=4)
    assert len(engine.poll("x")) == 1


@pytest.mark.anomaly("A-46")
def test_failure_of_an_execution_that_was_touched_is_logged_and_does_not_reach_the_caller(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    engine.settle()
    acquire = type(engine.ports.store).acquire

    def damaged(store: Any, execution: ExecutionId, *rest: Any) -> Any:
        if execution == started:
            raise ValueError("damaged")
        return acquire(store, execution, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(type(engine.ports.store), "acquire", damaged)
        engine.run("x")
    (told,) = [each for each in caplog.records if each.__dict__.get("action") == "decide_failed"]
    assert told.__dict__["workflow_id"] == started
    pass_time(engine, seconds=4)
    assert status_of(engine, started) == "COMPLETED"


def test_slow_upload_of_a_payload_does_not_keep_an_execution_from_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = PayloadLimits(task_input_soft=2_000)
    engine = memory_engine(payload_limits=limits)
    put, uploads = type(engine.ports.payloads).put, []

    def slow(payloads: Any, *rest: Any) -> Any:
        engine.clock.advance(milliseconds=1_100)
        uploads.append(put(payloads, *rest))
        return uploads[-1]

    monkeypatch.setattr(type(engine.ports.payloads), "put", slow)
    given = {"big": "${workflow.input.big}"}
    engine.start(workflow("w", simple("a", inputParameters=given)), input={"big": "x" * 2_500})
    (task,) = engine.poll("a")
    assert task["inputData"] == {}
    assert [task["externalInputPayloadStoragePath"]] == uploads


# -- I3 and limits ---------------------------------------------------------------------------------


@pytest.mark.oracle(49)
def test_concurrent_limit_is_never_exceeded(engine: MemoryEngine) -> None:
    """I10, oracle row 49."""
    for _ in range(5):
        engine.start(workflow("w", policy("a", concurrentExecLimit=2)))
    held = engine.poll("a", 5)
    assert len(held) == 2
    assert not engine.poll("a", 5)
    engine.complete(held[0])
    assert len(engine.poll("a", 5)) == 1


def test_dead_holder_frees_its_slot_by_its_lease(engine: MemoryEngine) -> None:
    """I10."""
    for _ in range(2):
        engine.start(workflow("w", policy("a", concurrentExecLimit=1, responseTimeoutSeconds=5)))
    assert len(engine.poll("a", 5)) == 1
    pass_time(engine, seconds=5)
    assert len(engine.poll("a", 5)) == 1


def test_rate_limit_holds_over_its_window(engine: MemoryEngine) -> None:
    """I10."""
    limits = {"rateLimitPerFrequency": 2, "rateLimitFrequencyInSeconds": 10}
    for _ in range(5):
        engine.start(workflow("w", policy("a", **limits)))
    assert len(engine.poll("a", 5)) == 2
    engine.clock.advance(seconds=9)
    assert not engine.poll("a", 5)
    engine.clock.advance(seconds=1)
    assert len(engine.poll("a", 5)) == 2


@pytest.mark.anomaly("A-54")
def test_task_of_an_ended_execution_is_not_handed_out(engine: MemoryEngine) -> None:
    """I3: a dead entry is discarded at poll, before anything has drained."""
    branches = [simple("a")], [simple("b")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "b")))
    engine.engine.executions.terminate(started, reason="over")
    assert not engine.poll("a")
