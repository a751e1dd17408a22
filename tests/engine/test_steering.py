"""Variables from outside, callbacks brought forward, a look right now."""

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.event import dump_event
from conductor_py.codec.execution import load_header
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.errors import Conflict, NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.model.event import Continue, Operation, ResultReported
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    pass_time,
    run_failing,
    set_variable,
    simple,
    status_of,
    tasks_of,
    wait,
    workflow,
)

UNKNOWN = "00000000-0000-0000-0000-000000000000"


def test_variables_are_merged_and_seen_by_what_opens_later(engine: MemoryEngine) -> None:
    follower = simple("b", inputParameters={"v": "${workflow.variables}"})
    started = engine.start(workflow("w", simple("a"), follower, variables={"x": 1, "y": 1}))
    found = engine.engine.steering.set_variables(started, {"y": 2, "z": None})
    assert found["variables"] == {"x": 1, "y": 2, "z": None}
    engine.run("a")
    assert engine.run("b")["inputData"] == {"v": {"x": 1, "y": 2, "z": None}}
    with pytest.raises(Conflict):
        engine.engine.steering.set_variables(started, {"x": 3})
    assert engine.workflow(started)["variables"]["x"] == 1


def test_variables_that_grow_too_large_are_refused_and_nothing_changes() -> None:
    engine = memory_engine(payload_limits=PayloadLimits(variables_hard=2000))
    started = engine.start(workflow("w", simple("a"), set_variable("s", v=1)))
    with pytest.raises(PayloadTooLarge, match="variables"):
        engine.engine.steering.set_variables(started, {"v": "x" * 3000})
    assert engine.workflow(started)["variables"] == {}
    engine.run("a")
    assert engine.workflow(started)["variables"] == {"v": 1}


def test_paused_execution_takes_variables(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.engine.steering.pause(started)
    engine.engine.steering.set_variables(started, {"v": 1})
    assert engine.workflow(started)["variables"] == {"v": 1}


def test_callbacks_are_reset_for_tasks_that_nobody_holds(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    engine.complete(task, status="IN_PROGRESS", callback_after_s=600)
    assert not engine.poll("a")
    engine.engine.steering.reset_callbacks(started)
    (again,) = engine.poll("a")
    assert again["callbackAfterSeconds"] == 0
    engine.engine.steering.reset_callbacks(started)
    assert not engine.poll("a")
    engine.complete(again)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}
    engine.run("b")
    with pytest.raises(Conflict):
        engine.engine.steering.reset_callbacks(started)


def test_retry_whose_delay_is_brought_forward_waits_in_one_queue_only() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space)
    task = simple("a", retryCount=3)
    task["taskDefinition"] = {"name": "a", "retryDelaySeconds": 600}
    started = engine.start(workflow("w", task))
    for _ in range(3):
        run_failing(engine, "a")
        engine.engine.steering.reset_callbacks(started)
        partition = space.partition(0)
        lanes = [*partition.ready.values(), *partition.delayed.values()]
        assert sum(len(lane) for lane in lanes) == 1
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_decide_fires_what_is_due(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", simple("a"), timeoutSeconds=5, timeoutPolicy="TIME_OUT_WF")
    )
    engine.clock.advance(seconds=6)
    engine.engine.steering.decide(started)
    assert status_of(engine, started) == "TIMED_OUT"
    pass_time(engine, seconds=120)
    engine.engine.steering.decide(started)


@pytest.mark.parametrize("verb", ["decide", "reset_callbacks"])
def test_unknown_execution_is_not_found(engine: MemoryEngine, verb: str) -> None:
    with pytest.raises(NotFound):
        getattr(engine.engine.steering, verb)(UNKNOWN)


def test_operation_that_is_sent_again_is_carried_out_once(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), wait("t")))
    operations = engine.engine.steering._operations
    for _ in range(2):
        assert operations.carry_out(started, "pause", {}, id_="once")
        assert status_of(engine, started) == "PAUSED"
    engine.engine.steering.resume(started)
    assert operations.carry_out(started, "pause", {}, id_="once")
    assert status_of(engine, started) == "RUNNING"


def test_operation_that_nobody_has_carried_out_yet_is_not_answered(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the inbox is durable; whether it was refused is not known before it is decided."""
    monkeypatch.setattr("conductor_py.engine.decisions.operations._ANSWER_WAIT_S", 0.0)
    started = ExecutionId(engine.start(workflow("w", simple("a"))))
    watching = Operation(id="first", name="watch", arguments={"topic": "t", "forMs": 1, "refs": []})
    taken = engine.ports.store.send(started, "first", dump_event(watching), "frozen", 3_000)
    assert taken.loaded is not None
    with pytest.raises(StoreUnavailable, match="accepted but not carried out yet"):
        engine.engine.steering.pause(started)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=4)
    assert status_of(engine, started) == "PAUSED"


def test_wait_that_is_signalled_and_reported_at_once_ends_once(engine: MemoryEngine) -> None:
    """I5: both are in the inbox when the first of them is decided."""
    started = ExecutionId(engine.start(workflow("w", wait("t"), simple("b"))))
    watching: JsonObject = {"topic": "t", "forMs": 1, "refs": []}
    ended: JsonObject = {"seq": 1, "status": "COMPLETED", "output": {"by": "signal"}}
    for name, arguments in (("watch", watching), ("signal", ended)):
        event = dump_event(Operation(id=name, name=name, arguments=arguments))
        engine.ports.store.send(started, name, event, "frozen", 3_000)
    (task,) = tasks_of(engine, started, "t")
    engine.complete(task, {"by": "result"})
    pass_time(engine, seconds=4)
    assert [task["status"] for task in tasks_of(engine, started, "b")] == ["SCHEDULED"]
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_continuation_of_another_generation_is_void(engine: MemoryEngine) -> None:
    """I2."""
    started = ExecutionId(engine.start(workflow("w", simple("a"), simple("b"))))
    found = engine.ports.store.load(started, ["h"])
    assert found is not None
    header = load_header(found[1]["h"] or b"")
    for generation in (header.generation - 1, header.generation + 1):
        stray = Continue(generation=generation, kind="open", plan=header.plan, ref="b")
        reply = engine.ports.store.send(started, f"{generation}", dump_event(stray), "d", 3_000)
        engine.engine.executor.drive(reply.loaded, "d")
    assert engine.statuses(started) == {"a": "SCHEDULED"}


@pytest.mark.parametrize("status", [TaskStatus.FAILED, TaskStatus.COMPLETED])
def test_event_about_an_attempt_that_has_ended_is_void(
    engine: MemoryEngine, status: TaskStatus
) -> None:
    """I2, I5."""
    started = ExecutionId(engine.start(workflow("w", simple("a"), simple("b"))))
    engine.run("a")
    (before,) = tasks_of(engine, started, "a")
    engine.clock.advance(seconds=1)
    stray = ResultReported(seq=1, status=status, worker="another")
    reply = engine.ports.store.send(started, "stray", dump_event(stray), "d", 3_000)
    engine.engine.executor.drive(reply.loaded, "d")
    assert tasks_of(engine, started, "a") == [before]
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}
