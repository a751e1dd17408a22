"""Masked fields: readers do not see their values, workers do, and nothing is lost."""

from typing import Any

import orjson
import pytest

from conductor_py.model.ids import ExecutionId
from conductor_py.model.status import TaskStatus
from conductor_py.testing import MemoryEngine
from tests.builders import pass_time, simple, task_of, workflow

_INPUT = {"card": "4111", "who": {"card": [1, 2], "name": "Ada"}}
_SHOWN = {"card": "***", "who": {"card": "***", "name": "Ada"}}


def _definition(**more: Any) -> dict[str, Any]:
    task = simple("a", inputParameters={"card": "${workflow.input.card}", "n": 1})
    return workflow(
        "w",
        task,
        maskedFields=["card"],
        variables={"card": 7},
        outputParameters={"card": "${a.output.card}", "n": "${a.output.n}"},
        **more,
    )


@pytest.fixture
def execution(engine: MemoryEngine) -> str:
    """An execution that has ended; its worker saw and gave the true values."""
    started = engine.start(_definition(), input=_INPUT)
    (task,) = engine.poll("a")
    assert task["inputData"] == {"card": "4111", "n": 1}
    engine.complete(task, {"card": "4222", "n": 2})
    return started


def test_reads_of_an_execution_and_its_tasks_are_masked(
    engine: MemoryEngine, execution: str
) -> None:
    shown = engine.workflow(execution)
    assert (shown["input"], shown["output"]) == (_SHOWN, {"card": "***", "n": 2})
    assert shown["variables"] == {"card": "***"}
    task = task_of(engine, execution, "a")
    assert (task["inputData"], task["outputData"]) == (
        {"card": "***", "n": 1},
        {"card": "***", "n": 2},
    )
    assert engine.engine.tasks.document(task["taskId"])["outputData"] == {"card": "***", "n": 2}
    status = engine.engine.executions.status(execution, include_output=True, include_variables=True)
    assert status["output"] == {"card": "***", "n": 2}
    assert status["variables"] == {"card": "***"}


def test_archive_is_masked_when_it_is_read_and_keeps_the_values(
    engine: MemoryEngine, execution: str
) -> None:
    before = engine.workflow(execution)
    task = before["tasks"][0]["taskId"]
    pass_time(engine, seconds=600)
    assert engine.ports.reader.snapshot(ExecutionId(execution)) is None
    assert engine.workflow(execution)["input"] == before["input"] == _SHOWN
    assert engine.engine.tasks.document(task)["outputData"] == {"card": "***", "n": 2}
    archived = engine.ports.search.archived(execution)
    assert archived is not None
    assert orjson.loads(archived.document)["input"] == _INPUT


@pytest.mark.parametrize("found_by", ["4111", "4222"])
def test_index_neither_shows_nor_finds_masked_values(
    engine: MemoryEngine, execution: str, found_by: str
) -> None:
    engine.settle()
    executions = engine.engine.executions
    search: dict[str, Any] = {"sort": "", "start": 0, "size": 10}
    assert executions.search(query="", free_text=found_by, **search).total_hits == 0
    assert executions.search_tasks(query="", free_text=found_by, **search).total_hits == 0
    (summary,) = executions.search(query="", free_text="*", **search).results
    assert orjson.loads(str(summary["input"])) == _SHOWN


def test_values_pass_from_task_to_task(engine: MemoryEngine) -> None:
    second = simple("b", inputParameters={"card": "${a.output.card}"})
    engine.start(workflow("w", simple("a"), second, maskedFields=["card"]))
    engine.run("a", {"card": "4222"})
    (task,) = engine.poll("b")
    assert task["inputData"] == {"card": "4222"}


def test_result_by_reference_keeps_the_values_that_it_does_not_name(engine: MemoryEngine) -> None:
    second = simple("b", inputParameters={"card": "${a.output.card}"})
    execution = engine.start(workflow("w", simple("a"), second, maskedFields=["card"]))
    (task,) = engine.poll("a")
    engine.complete(task, {"card": "4222"}, status="IN_PROGRESS", callback_after_s=60)
    engine.engine.tasks.update_by_ref(execution, "a", TaskStatus.COMPLETED, {"n": 1}, "w")
    (task,) = engine.poll("b")
    assert task["inputData"] == {"card": "4222"}
