"""HTTP and KAFKA_PUBLISH as the decider sees them: queues, delays, completion by others."""

from typing import Any

import pytest

from conductor_py.model.requests import PollRequest
from conductor_py.testing import MemoryEngine
from tests.builders import status_of, task_of, typed, workflow

Json = dict[str, Any]


def http(ref: str = "call", **more: Any) -> Json:
    return typed("HTTP", ref, **{"inputParameters": {"uri": "u", "method": "GET"}, **more})


def defined(ref: str = "call", **facts: Any) -> Json:
    return http(ref, taskDefinition={"name": ref, "retryDelaySeconds": 0, **facts})


def queues(engine: MemoryEngine) -> dict[str, int]:
    return {name: size for name, size in engine.engine.tasks.queue_sizes(None).items() if size}


@pytest.mark.parametrize("type_", ["HTTP", "KAFKA_PUBLISH"])
def test_task_waits_in_the_queue_of_its_type(engine: MemoryEngine, type_: str) -> None:
    task = typed(type_, "call", inputParameters={"kafka_request": {}, "uri": "u"})
    started = engine.start(workflow("w", task))
    assert queues(engine) == {type_: 1}
    engine.run(type_, {"response": {"body": 1}})
    assert task_of(engine, started, "call")["outputData"] == {"response": {"body": 1}}
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    ("facts", "queue"),
    [
        ({"isolationGroupId": "slow"}, "HTTP-slow"),
        ({"executionNameSpace": "east"}, "HTTP@east"),
        ({"isolationGroupId": "slow", "executionNameSpace": "east"}, "HTTP@east-slow"),
        ({"concurrentExecLimit": 1}, "HTTP#call"),
        ({"rateLimitPerFrequency": 1}, "HTTP#call"),
        ({"isolationGroupId": "slow", "concurrentExecLimit": 1}, "HTTP-slow#call"),
    ],
)
def test_queue_follows_the_definition(engine: MemoryEngine, facts: Json, queue: str) -> None:
    engine.start(workflow("w", defined(**facts)))
    assert queues(engine) == {queue: 1}


def test_full_limit_holds_up_no_other_definition_of_the_type(engine: MemoryEngine) -> None:
    for _ in range(2):
        engine.start(workflow("w", defined("limited", concurrentExecLimit=1)))
    engine.start(workflow("w", http("free")))
    (held,) = _claimed(engine, "HTTP#limited")
    assert engine.poll("HTTP", 10)
    engine.complete(held)
    assert _claimed(engine, "HTTP#limited")


def test_start_delay_puts_the_queue_entry_off(engine: MemoryEngine) -> None:
    engine.start(workflow("w", http(startDelay=5)))
    assert not engine.poll("HTTP")
    engine.clock.advance(milliseconds=5_000)
    assert engine.poll("HTTP")


def test_task_without_a_definition_is_not_tried_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", http()))
    engine.run("HTTP", status="FAILED")
    assert status_of(engine, started) == "FAILED"


def test_task_is_tried_again_as_its_own_definition_says(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", defined(retryCount=1)))
    engine.run("HTTP", status="FAILED")
    engine.run("HTTP")
    assert status_of(engine, started) == "COMPLETED"


def test_input_takes_the_template_of_its_definition(engine: MemoryEngine) -> None:
    template = {"http_request": {"uri": "u", "method": "GET"}}
    engine.start(workflow("w", {**defined(inputTemplate=template), "inputParameters": {}}))
    (task,) = engine.poll("HTTP")
    assert task["inputData"] == template


def _set_going(engine: MemoryEngine, task: Json) -> str:
    started = engine.start(workflow("w", task))
    engine.run("HTTP", {"response": 1}, status="IN_PROGRESS")
    return started


@pytest.mark.parametrize(
    "task",
    [
        http(asyncComplete=True),
        http(inputParameters={"uri": "u", "asyncComplete": True}),
        http(asyncComplete=False, inputParameters={"uri": "u", "asyncComplete": True}),
    ],
)
def test_task_that_others_complete_stays_open_and_in_no_queue(
    engine: MemoryEngine, task: Json
) -> None:
    started = _set_going(engine, task)
    assert queues(engine) == {}
    found = task_of(engine, started, "call")
    assert (found["status"], found["outputData"]) == ("IN_PROGRESS", {"response": 1})
    engine.clock.advance(milliseconds=3_600_000)
    engine.settle()
    engine.complete(found, {"done": True}, worker="somebody")
    assert task_of(engine, started, "call")["outputData"] == {"done": True}
    assert status_of(engine, started) == "COMPLETED"


def test_input_wins_over_the_task(engine: MemoryEngine) -> None:
    task = http(asyncComplete=True, inputParameters={"uri": "u", "asyncComplete": False})
    _set_going(engine, task)
    assert queues(engine) == {"HTTP": 1}


def test_input_that_is_neither_true_nor_false_fails_the_task(engine: MemoryEngine) -> None:
    task = http(inputParameters={"uri": "u", "asyncComplete": "maybe"})
    started = engine.start(workflow("w", task))
    found = task_of(engine, started, "call")
    assert found["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "asyncComplete" in found["reasonForIncompletion"]


def test_failure_that_others_report_makes_the_call_anew(engine: MemoryEngine) -> None:
    task = {**defined(retryCount=1, retryDelaySeconds=5), "asyncComplete": True}
    started = _set_going(engine, task)
    engine.complete(task_of(engine, started, "call"), status="FAILED")
    engine.settle()
    assert not engine.poll("HTTP")
    engine.clock.advance(milliseconds=5_000)
    engine.settle()
    engine.run("HTTP", status="IN_PROGRESS")
    found = task_of(engine, started, "call")
    assert (found["retryCount"], found["status"]) == (1, "IN_PROGRESS")
    engine.complete(found)
    assert status_of(engine, started) == "COMPLETED"


def test_task_that_others_complete_has_its_own_timeout(engine: MemoryEngine) -> None:
    task = {
        **defined(timeoutSeconds=60, responseTimeoutSeconds=10, retryCount=0),
        "asyncComplete": True,
    }
    started = _set_going(engine, task)
    engine.clock.advance(milliseconds=59_000)
    engine.settle()
    assert task_of(engine, started, "call")["status"] == "IN_PROGRESS"
    engine.clock.advance(milliseconds=2_000)
    engine.settle()
    assert status_of(engine, started) == "TIMED_OUT"


@pytest.mark.anomaly("A-7")
def test_result_that_comes_after_the_end_does_not_count(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", http()))
    (task,) = engine.poll("HTTP")
    engine.engine.executions.terminate(started, reason="enough")
    engine.complete(task, {"late": True})
    assert status_of(engine, started) == "TERMINATED"
    found = task_of(engine, started, "call")
    assert (found["status"], found["outputData"]) == ("CANCELED", {})


@pytest.mark.anomaly("A-48")
def test_definition_stays_as_it_was_written(engine: MemoryEngine) -> None:
    parameters = {"http_request": {"uri": "${workflow.input.uri}", "method": "GET"}}
    definition = workflow("w", http(inputParameters=parameters))
    started = engine.start(definition, input={"uri": "u"})
    (task,) = engine.poll("HTTP")
    assert task["inputData"]["http_request"]["uri"] == "u"
    (written,) = engine.workflow(started)["workflowDefinition"]["tasks"]
    assert written["inputParameters"] == parameters
    assert task["workflowTask"]["inputParameters"] == parameters


def _claimed(engine: MemoryEngine, queue: str) -> tuple[Any, ...]:
    """Claim as the server does that carries the tasks of a queue out."""
    wanted = PollRequest(task_type=queue, worker="server", count=10)
    return engine.engine.tasks.take(wanted, "HTTP")[0]
