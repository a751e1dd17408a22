"""START_WORKFLOW: another execution, once, and nobody's child."""

from typing import Any

import pytest

from conductor_py.errors import StoreUnavailable
from conductor_py.testing import MemoryEngine
from tests.builders import (
    dag,
    pass_time,
    policy,
    simple,
    status_of,
    task_of,
    terminate,
    typed,
    workflow,
)


def starting(request: Any, **more: Any) -> dict[str, Any]:
    return typed("START_WORKFLOW", "s", inputParameters={"startWorkflow": request}, **more)


def _other(**more: Any) -> dict[str, Any]:
    return {"name": "other", "workflowDef": workflow("other", simple("o"), **more)}


def test_the_other_execution_runs_by_itself(engine: MemoryEngine) -> None:
    request = {**_other(inputTemplate={"t": 1}), "input": {"a": "${workflow.input.x}"}}
    started = engine.start(
        workflow("w", starting(request)), input={"x": 7}, correlation_id="c", priority=3
    )
    assert status_of(engine, started) == "COMPLETED"
    other = task_of(engine, started, "s")["outputData"]["workflowId"]
    found = engine.workflow(other)
    assert found["status"] == "RUNNING"
    assert found["input"] == {"a": 7, "t": 1}
    assert (found["correlationId"], found.get("parentWorkflowId")) == ("c", None)
    engine.run("o", {"done": 1})
    assert engine.workflow(other)["output"] == {"done": 1}


def test_the_request_may_say_everything_that_a_start_may(engine: MemoryEngine) -> None:
    request = {**_other(), "correlationId": "mine", "priority": "9", "taskToDomain": {"o": "d"}}
    started = engine.start(workflow("w", starting(request)), correlation_id="c")
    found = engine.workflow(task_of(engine, started, "s")["outputData"]["workflowId"])
    assert (found["correlationId"], found["priority"]) == ("mine", 9)
    assert len(engine.poll("o", domain="d")) == 1


def test_an_empty_version_or_priority_says_nothing(engine: MemoryEngine) -> None:
    request = {**_other(), "version": "", "priority": ""}
    started = engine.start(workflow("w", starting(request)), priority=3)
    assert status_of(engine, started) == "COMPLETED"


def _part(**more: Any) -> dict[str, Any]:
    graph = dag("graph", [simple("a"), simple("b"), simple("c")], "a > b", "b > c")
    return {"name": "graph", "workflowDef": graph, **more}


@pytest.mark.parametrize("key", [None, "once"])
def test_a_part_of_a_dag_may_be_started(engine: MemoryEngine, key: str | None) -> None:
    request = _part(startNodes=["${workflow.input.at}"], idempotencyKey=key)
    started = engine.start(workflow("w", starting(request)), input={"at": "b"})
    engine.settle()
    other = task_of(engine, started, "s")["outputData"]["workflowId"]
    engine.run("b")
    engine.run("c")
    assert engine.statuses(other) == {"b": "COMPLETED", "c": "COMPLETED"}
    assert status_of(engine, other) == "COMPLETED"


def test_a_part_is_what_its_mode_says(engine: MemoryEngine) -> None:
    engine.start(workflow("w", starting(_part(startNodes=["b"], dependMode="TASK_PRE"))))
    engine.run("a")
    engine.run("b")
    assert engine.poll("c") == []


@pytest.mark.parametrize("key", [None, "once"])
def test_a_part_that_cannot_be_fails_the_task(engine: MemoryEngine, key: str | None) -> None:
    request = _part(startNodes=["nobody"], idempotencyKey=key)
    started = engine.start(workflow("w", starting(request)))
    engine.settle()
    task = task_of(engine, started, "s")
    assert task["status"] == "FAILED"
    assert "must name a task of the workflow" in task["reasonForIncompletion"]


def test_domains_of_the_starter_are_inherited(engine: MemoryEngine) -> None:
    engine.start(workflow("w", starting(_other())), task_to_domain={"o": "d"})
    assert len(engine.poll("o", domain="d")) == 1


def test_the_end_of_the_starter_does_not_touch_it(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", starting(_other()), terminate("t", "FAILED")))
    other = task_of(engine, started, "s")["outputData"]["workflowId"]
    pass_time(engine, seconds=5)
    assert status_of(engine, started) == "FAILED"
    assert status_of(engine, other) == "RUNNING"


@pytest.mark.anomaly("A-47")
def test_its_id_is_derived_from_the_task(engine: MemoryEngine) -> None:
    """Decided twice it is the same execution; a retry is another task and starts another one."""
    retried = {**starting({"name": ""}), "taskDefinition": policy("s", retryCount=1)}
    retried["taskDefinition"] = {"name": "s", "retryCount": 1, "retryDelaySeconds": 2}
    started = engine.start(workflow("w", retried))
    pass_time(engine, seconds=2)
    assert [t["status"] for t in engine.workflow(started)["tasks"]] == ["FAILED", "FAILED"]
    one = engine.start(
        workflow("w", starting(_other()), starting(_other()) | {"taskReferenceName": "again"})
    )
    ids = [task_of(engine, one, ref)["outputData"]["workflowId"] for ref in ("s", "again")]
    assert len(set(ids)) == 2
    assert all(found[:3] == one[:3] for found in ids)


def test_start_delay_is_honoured(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", starting(_other(), startDelay=30)))
    pass_time(engine, seconds=29)
    assert "workflowId" not in task_of(engine, started, "s").get("outputData", {})
    pass_time(engine, seconds=1)
    assert status_of(engine, started) == "COMPLETED"
    assert len(engine.poll("o")) == 1


@pytest.mark.parametrize(
    ("request_", "complaints"),
    [
        (None, ["startWorkflow"]),
        ("text", ["startWorkflow"]),
        ({}, ["startWorkflow.name"]),
        ({"name": " ", "version": "x", "input": 1}, ["name", "version", "input"]),
        ({"name": "other", "priority": 100}, ["priority"]),
        ({"name": "nobody"}, ["nobody"]),
        ({"name": "o", "idempotencyKey": "k", "idempotencyStrategy": {}}, ["idempotencyStrategy"]),
        ({"name": "w", "workflowDef": {"tasks": 7}}, ["definition"]),
        ({"name": "w", "correlationId": {}}, ["correlationId"]),
        ({"name": "w", "startNodes": "a", "dependMode": "ALL"}, ["startNodes", "dependMode"]),
        ({"name": "w", "startNodes": [1]}, ["startNodes must be a list of references"]),
        ({"name": "w", "externalInputPayloadStoragePath": "no/where"}, ["no/where"]),
    ],
)
def test_a_request_that_is_none_fails_the_task_with_all_reasons(
    engine: MemoryEngine, request_: Any, complaints: list[str]
) -> None:
    started = engine.start(workflow("w", starting(request_)))
    task = task_of(engine, started, "s")
    assert task["status"] == "FAILED"
    for complaint in complaints:
        assert complaint in task["reasonForIncompletion"]


# -- under an idempotency key ----------------------------------------------------------------------


def _keyed(strategy: str) -> dict[str, Any]:
    return starting({**_other(), "idempotencyKey": "k", "idempotencyStrategy": strategy})


def test_a_start_under_a_key_is_carried_out_once(engine: MemoryEngine) -> None:
    one = engine.start(workflow("w", _keyed("RETURN_EXISTING"), simple("z")), correlation_id="c")
    engine.settle()
    two = engine.start(workflow("w", _keyed("RETURN_EXISTING"), simple("z")))
    engine.settle()
    ids = [task_of(engine, w, "s")["outputData"]["workflowId"] for w in (one, two)]
    assert ids[0] == ids[1]
    assert engine.workflow(ids[0])["correlationId"] == "c"
    assert len(engine.poll("o", 5)) == 1
    assert engine.statuses(two)["z"] == "SCHEDULED"


def test_a_key_in_use_fails_the_task_when_it_is_to(engine: MemoryEngine) -> None:
    engine.start(workflow("w", _keyed("FAIL")))
    engine.settle()
    started = engine.start(workflow("w", _keyed("FAIL")))
    engine.settle()
    task = task_of(engine, started, "s")
    assert task["status"] == "FAILED"
    assert "'k' is in use" in task["reasonForIncompletion"]


@pytest.mark.anomaly("A-47")
def test_an_effect_that_is_carried_out_again_starts_nothing_more(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", _keyed("FAIL"), simple("z")))
    update, broken = engine.engine.tasks.update, [1]

    def fail_once(result: Any) -> None:
        if broken:
            broken.pop()
            raise StoreUnavailable
        update(result)

    engine.engine.tasks.update = fail_once  # type: ignore[method-assign]
    engine.settle()
    assert engine.statuses(started) == {"s": "IN_PROGRESS"}
    pass_time(engine, seconds=60)
    assert engine.statuses(started) == {"s": "COMPLETED", "z": "SCHEDULED"}
    assert len(engine.poll("o", 5)) == 1


def test_what_is_masked_for_readers_reaches_the_other_under_a_key(engine: MemoryEngine) -> None:
    request = {**_other(), "input": {"token": "s3cret"}, "idempotencyKey": "k"}
    started = engine.start(workflow("w", starting(request), maskedFields=["token"]))
    pass_time(engine, seconds=1)
    other = task_of(engine, started, "s")["outputData"]["workflowId"]
    assert engine.workflow(other)["input"] == {"token": "s3cret"}
