"""Secrets and environment: handed to whoever works on a task, and kept nowhere."""

from typing import Any

import pytest

from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import TaskLog
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    fork_inputs,
    inline,
    join,
    policy,
    simple,
    sub_workflow,
    task_of,
    typed,
    workflow,
)

_VALUES = {
    "SECRET_TOKEN": "s3cr3t-token",
    "SECRET_DB": '{"user": "u", "ports": [1, 2]}',
    "ENV_REGION": "eu-1",
    "PATH": "/bin",
}
_TOKEN = "${workflow.secrets.TOKEN}"


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine(values=_VALUES)


def _handed(engine: MemoryEngine, parameters: dict[str, Any], **start: Any) -> dict[str, Any]:
    engine.start(workflow("w", simple("a", inputParameters=parameters)), **start)
    (task,) = engine.poll("a")
    handed: dict[str, Any] = task["inputData"]
    return handed


def test_worker_is_handed_the_value_in_a_text_and_by_itself(engine: MemoryEngine) -> None:
    handed = _handed(
        engine,
        {
            "whole": _TOKEN,
            "inside": {"header": [f"Bearer {_TOKEN}"]},
            "region": "in ${workflow.env.REGION}",
            "part": "${workflow.secrets.DB.ports[1]}",
            "absent": "${workflow.secrets.NONE}",
            "absent_inside": "<${workflow.secrets.NONE}>",
        },
    )
    assert handed == {
        "whole": "s3cr3t-token",
        "inside": {"header": ["Bearer s3cr3t-token"]},
        "region": "in eu-1",
        "part": 2,
        "absent": None,
        "absent_inside": "<>",
    }


def test_value_is_stored_nowhere(engine: MemoryEngine) -> None:
    task = simple("a", inputParameters={"t": _TOKEN})
    execution = engine.start(workflow("w", task, outputParameters={"t": "${a.input.t}"}))
    (handed,) = engine.poll("a")
    assert handed["inputData"] == {"t": "s3cr3t-token"}
    assert task_of(engine, execution, "a")["inputData"] == {"t": _TOKEN}
    engine.complete(handed)
    engine.settle()
    assert engine.workflow(execution)["output"] == {"t": _TOKEN}
    snapshot = engine.ports.reader.snapshot(ExecutionId(execution))
    assert snapshot is not None
    assert not any(b"s3cr3t" in value for value in snapshot[1].values())
    archived = engine.ports.search.archived(execution)
    assert archived is not None
    assert b"s3cr3t" not in archived.document


@pytest.mark.anomaly("A-51")
def test_text_in_the_data_of_a_caller_is_not_replaced(engine: MemoryEngine) -> None:
    handed = _handed(
        engine,
        {"mine": "${workflow.input.x}", "both": "${workflow.input.y}:${workflow.env.REGION}"},
        input={"x": _TOKEN, "y": _TOKEN},
    )
    assert handed == {"mine": _TOKEN, "both": f"{_TOKEN}:eu-1"}


@pytest.mark.anomaly("A-51")
def test_tasks_that_come_as_data_are_handed_no_secrets(engine: MemoryEngine) -> None:
    inputs = [{"t": _TOKEN}]
    tasks = [fork_inputs("f", inputs, forkTaskName="a"), join("j")]
    engine.start(workflow("w", *tasks))
    assert [task["inputData"]["t"] for task in engine.poll("a", 5)] == [_TOKEN]


@pytest.mark.anomaly("A-51")
def test_sub_workflow_is_not_handed_the_value_as_input(engine: MemoryEngine) -> None:
    child = workflow("c", simple("a", inputParameters={"t": "${workflow.input.t}"}))
    engine.start(workflow("w", sub_workflow("s", child, inputParameters={"t": _TOKEN})))
    engine.settle()
    (task,) = engine.poll("a")
    assert task["inputData"]["t"] == _TOKEN


@pytest.mark.oracle(8)
@pytest.mark.anomaly("A-51")
@pytest.mark.parametrize("text", ["${PATH}", "${SECRET_TOKEN}", "${workflow.env.PATH}"])
def test_nothing_else_of_the_environment_can_be_read(engine: MemoryEngine, text: str) -> None:
    assert _handed(engine, {"x": text}) == {"x": None}


def test_escaped_reference_stays_a_text(engine: MemoryEngine) -> None:
    assert _handed(engine, {"x": f"${_TOKEN}"}) == {"x": _TOKEN}


def test_scripts_see_the_reference_only(engine: MemoryEngine) -> None:
    execution = engine.start(workflow("w", inline("i", "$.t", t=_TOKEN)))
    assert task_of(engine, execution, "i")["outputData"]["result"] == _TOKEN


@pytest.mark.anomaly("A-51")
def test_event_does_not_copy_the_value_into_its_output(engine: MemoryEngine) -> None:
    task = typed("EVENT", "e", sink="conductor", inputParameters={"t": _TOKEN})
    execution = engine.start(workflow("w", task))
    engine.settle()
    assert "s3cr3t" not in str(engine.workflow(execution))


def test_secrets_that_come_back_are_masked(engine: MemoryEngine) -> None:
    execution = engine.start(workflow("w", policy("a", retryCount=0)))
    (task,) = engine.poll("a")
    engine.complete(
        task,
        {"said": "it was s3cr3t-token!", "s3cr3t-token": ["s3cr3t-token", 1]},
        status="FAILED",
        reason="bad s3cr3t-token",
        logs=(TaskLog(line="used s3cr3t-token"),),
    )
    shown = task_of(engine, execution, "a")
    assert shown["outputData"] == {"said": "it was ***!", "***": ["***", 1]}
    assert shown["reasonForIncompletion"] == "bad ***"
    assert [line["log"] for line in engine.engine.tasks.logs(task["taskId"])] == ["used ***"]


def test_runtime_metadata_is_attached_to_what_is_handed_out_only(engine: MemoryEngine) -> None:
    names = ["TOKEN", "REGION", "NONE"]
    execution = engine.start(workflow("w", policy("a", runtimeMetadata=names)))
    (task,) = engine.poll("a")
    assert task["runtimeMetadata"] == {"TOKEN": "s3cr3t-token", "REGION": "eu-1"}
    assert "runtimeMetadata" not in task_of(engine, execution, "a")
