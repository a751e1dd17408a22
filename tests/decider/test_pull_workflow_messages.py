"""PULL_WORKFLOW_MESSAGES: what is pushed is pulled once, in order, by a task or by nobody."""

from typing import Any

import pytest

from conductor_py.decider import mailbox
from conductor_py.decider.workspace import Limits
from conductor_py.errors import Conflict, LimitExceeded, NotFound
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import fork, join, pass_time, simple, status_of, task_of, times, typed, workflow


def pull(ref: str, **inputs: Any) -> dict[str, Any]:
    return typed("PULL_WORKFLOW_MESSAGES", ref, inputParameters=inputs)


def push(engine: MemoryEngine, started: str, **payload: Any) -> str:
    return engine.engine.messages.push(started, payload)


def _payloads(engine: MemoryEngine, started: str, ref: str) -> list[Any]:
    output = task_of(engine, started, ref)["outputData"]
    assert output["count"] == len(output["messages"])
    return [message["payload"] for message in output["messages"]]


@pytest.mark.anomaly("A-59")
def test_a_message_completes_the_task_that_waits_for_it(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", pull("p"), simple("z")))
    assert engine.statuses(started) == {"p": "IN_PROGRESS"}
    identity = push(engine, started, n=1)
    assert engine.statuses(started) == {"p": "COMPLETED", "z": "SCHEDULED"}
    (message,) = task_of(engine, started, "p")["outputData"]["messages"]
    assert message == {
        "id": identity,
        "workflowId": started,
        "payload": {"n": 1},
        "receivedAt": "2027-01-15T08:00:00.000Z",
    }


def test_messages_are_kept_until_they_are_pulled_oldest_first(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), pull("p", batchSize=2), pull("q")))
    for n in range(3):
        push(engine, started, n=n)
    engine.run("a")
    assert _payloads(engine, started, "p") == [{"n": 0}, {"n": 1}]
    assert _payloads(engine, started, "q") == [{"n": 2}]
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    ("batch", "expected"), [(None, 1), (0, 1), (-3, 1), ("x", 1), ("2", 2), (50, 3), (1e6, 3)]
)
def test_batch_is_at_least_one_and_at_most_the_limit(batch: Any, expected: int) -> None:
    engine = memory_engine(limits=Limits(message_batch=3))
    started = engine.start(workflow("w", simple("a"), pull("p", batchSize=batch)))
    for n in range(5):
        push(engine, started, n=n)
    engine.run("a")
    assert task_of(engine, started, "p")["outputData"]["count"] == expected


def test_a_task_that_does_not_block_ends_with_nothing(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", pull("p", blocking=False)))
    assert task_of(engine, started, "p")["outputData"] == {"messages": [], "count": 0}
    assert status_of(engine, started) == "COMPLETED"


def test_each_message_goes_to_one_of_the_tasks_that_wait(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", fork("f", [pull("p")], [pull("q")]), join("j", "p", "q")))
    push(engine, started, n=1)
    assert engine.statuses(started)["p"] == "COMPLETED"
    assert engine.statuses(started)["q"] == "IN_PROGRESS"
    push(engine, started, n=2)
    assert _payloads(engine, started, "q") == [{"n": 2}]
    assert status_of(engine, started) == "COMPLETED"


def test_a_loop_pulls_one_message_after_the_other(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 3, pull("p"))))
    for n in range(3):
        push(engine, started, n=n)
    assert status_of(engine, started) == "COMPLETED"
    assert _payloads(engine, started, "p__3") == [{"n": 2}]


def test_a_full_queue_takes_no_more() -> None:
    engine = memory_engine(limits=Limits(messages=2))
    started = engine.start(workflow("w", simple("a"), pull("p", batchSize=9)))
    push(engine, started, n=1)
    push(engine, started, n=2)
    with pytest.raises(LimitExceeded):
        push(engine, started, n=3)
    engine.run("a")
    assert _payloads(engine, started, "p") == [{"n": 1}, {"n": 2}]


def test_messages_that_nobody_pulls_are_forgotten_in_time(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), pull("p"), simple("z")))
    push(engine, started, n=1)
    pass_time(engine, seconds=80_000)
    push(engine, started, n=2)
    pass_time(engine, seconds=86_401)
    (task,) = engine.poll("a")
    engine.complete(task)
    assert engine.statuses(started)["p"] == "IN_PROGRESS"
    push(engine, started, n=3)
    assert _payloads(engine, started, "p") == [{"n": 3}]


def test_of_a_long_queue_that_is_forgotten_nothing_stays() -> None:
    engine = memory_engine(limits=Limits(messages=1_100, message_ttl_ms=60_000))
    started = ExecutionId(engine.start(workflow("w", simple("a"))))
    for n in range(1_100):
        push(engine, started, n=n)
    pass_time(engine, seconds=61)
    push(engine, started, n="new")
    loaded = engine.ports.store.load(started, [f"m:{n}" for n in range(1, 1_102)])
    assert loaded is not None
    assert [name for name, text in loaded[1].items() if text is not None] == ["m:1101"]


def test_tasks_that_gave_up_waiting_leave_room_for_others(
    monkeypatch: pytest.MonkeyPatch, engine: MemoryEngine
) -> None:
    monkeypatch.setattr(mailbox, "MAX_WAITING", 3)
    definition = {
        "name": "p",
        "timeoutSeconds": 1,
        "responseTimeoutSeconds": 1,
        "timeoutPolicy": "RETRY",
        "retryCount": 0,
    }
    impatient = {**pull("p"), "optional": True, "taskDefinition": definition}
    started = engine.start(workflow("w", times("l", 5, impatient), pull("q")))
    for _ in range(5):
        pass_time(engine, seconds=2)
    assert task_of(engine, started, "q")["status"] == "IN_PROGRESS"
    push(engine, started, n=1)
    assert _payloads(engine, started, "q") == [{"n": 1}]
    assert status_of(engine, started) == "COMPLETED"


def test_one_too_many_that_waits_fails_and_names_the_limit(
    monkeypatch: pytest.MonkeyPatch, engine: MemoryEngine
) -> None:
    monkeypatch.setattr(mailbox, "MAX_WAITING", 2)
    refs = ("p", "q", "r")
    started = engine.start(
        workflow("w", fork("f", *([pull(ref)] for ref in refs)), join("j", *refs))
    )
    failed = task_of(engine, started, "r")
    assert failed["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert failed["reasonForIncompletion"].startswith("2 tasks of this execution wait")


def test_only_a_running_execution_takes_messages(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", typed("NOOP", "n")))
    with pytest.raises(Conflict):
        push(engine, started, n=1)
    with pytest.raises(NotFound):
        push(engine, "00000000-0000-0000-0000-000000000000", n=1)


def test_without_the_feature_it_is_a_worker_task() -> None:
    engine = memory_engine(limits=Limits(messages=0))
    engine.start(workflow("w", pull("p")))
    assert len(engine.poll("PULL_WORKFLOW_MESSAGES")) == 1
