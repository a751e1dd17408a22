"""Masked fields: readers do not see their values, workers do, and nothing is lost."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import orjson
import pytest

from conductor_py.api import create_app
from conductor_py.decider.expressions.expressions import check
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonValue
from conductor_py.model.masking import Masker, _forms, values_in
from conductor_py.model.search import ExecutionDocument, ExecutionSummary
from conductor_py.model.status import TaskStatus
from conductor_py.testing import MemoryEngine
from tests.builders import (
    pass_time,
    policy,
    run_failing,
    set_variable,
    simple,
    task_of,
    typed,
    workflow,
)

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


def test_archive_is_masked_and_an_execution_comes_back_from_it_with_its_values(
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
    assert orjson.loads(archived.document)["input"] == _SHOWN
    engine.engine.recovery.restart(execution)
    (task_again,) = engine.poll("a")
    assert task_again["inputData"] == {"card": "4111", "n": 1}


def test_archive_of_before_archives_were_masked_is_masked_when_it_is_read(
    engine: MemoryEngine, execution: str
) -> None:
    pass_time(engine, seconds=600)
    archived = engine.ports.search.archived(execution)
    assert archived is not None
    old = orjson.loads(archived.document) | {"input": _INPUT}
    old["tasks"][0] |= {"inputData": _INPUT, "progress": _INPUT}
    engine.ports.search.put(
        [
            ExecutionDocument(
                version=archived.version + 1,
                summary=ExecutionSummary(
                    execution_id=execution,
                    workflow_type="w",
                    workflow_version=1,
                    status="COMPLETED",
                    start_ms=0,
                ),
                tasks=(),
                archive=orjson.dumps(old),
                kept=None,
            )
        ]
    )
    shown = engine.workflow(execution)
    assert shown["input"] == _SHOWN
    assert shown["tasks"][0]["inputData"] == shown["tasks"][0]["progress"] == _SHOWN


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


def test_result_by_task_id_keeps_the_values_that_it_does_not_name(engine: MemoryEngine) -> None:
    second = simple("b", inputParameters={"card": "${a.output.card}"})
    execution = engine.start(workflow("w", simple("a"), second, maskedFields=["card"]))
    (task,) = engine.poll("a")
    engine.complete(task, {"card": "4222"}, status="IN_PROGRESS", callback_after_s=60)
    client = create_app(engine.engine, check_expressions=check).test_client()
    path = f"/api/queue/update/{execution}/task/{task['taskId']}/COMPLETED"
    assert client.post(path, json={"n": 1}).status_code == 200
    (task,) = engine.poll("b")
    assert task["inputData"] == {"card": "4222"}


def test_reason_that_is_cut_off_inside_a_value_shows_nothing_of_it(engine: MemoryEngine) -> None:
    task = policy("a", retryCount=0) | {"inputParameters": {"card": "${workflow.input.card}"}}
    execution = engine.start(
        workflow("w", task, maskedFields=["card"]), input={"card": "4111222233334444"}
    )
    run_failing(engine, "a", "x" * 490 + "4111222233334444")
    assert "4111" not in str(engine.workflow(execution))


def test_value_of_the_execution_is_masked_where_a_task_says_it_under_another_name(
    engine: MemoryEngine,
) -> None:
    other = simple("a", inputParameters={"number": "${workflow.input.card}", "n": 1})
    execution = engine.start(workflow("w", other, maskedFields=["card"]), input=_INPUT)
    (task,) = engine.poll("a")
    assert task["inputData"] == {"number": "4111", "n": 1}
    assert task_of(engine, execution, "a")["inputData"] == {"number": "***", "n": 1}
    assert engine.engine.tasks.document(task["taskId"])["inputData"] == {"number": "***", "n": 1}


def test_execution_without_masked_fields_is_searched_for_nothing(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    reads: list[object] = []
    make, load = Masker.__init__, engine.ports.store.load

    def counted(self: Masker, *given: Any, **more: Any) -> None:
        made.append(self)
        make(self, *given, **more)

    def read(*given: Any) -> Any:
        reads.append(given)
        return load(*given)

    monkeypatch.setattr(Masker, "__init__", counted)
    monkeypatch.setattr(engine.ports.store, "load", read)
    execution = engine.start(workflow("w", policy("a", retryCount=0)), input=_INPUT)
    task = run_failing(engine, "a", "no 4111")
    engine.engine.tasks.log(task["taskId"], "no 4111")
    assert "4111" in str(engine.workflow(execution))
    reads.clear()
    engine.engine.tasks.document(task["taskId"])
    assert (made, len(reads)) == ([], 1)


def test_internal_error_of_an_execution_with_masked_fields_is_told_without_its_words(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = engine.start(workflow("w", simple("a"), maskedFields=["card"]), input=_INPUT)
    (task,) = engine.poll("a")

    def throwing(*_: Any) -> Any:
        raise KeyError("4111")

    with monkeypatch.context() as patch:
        patch.setattr("conductor_py.engine.decisions.deliberation.decide", throwing)
        engine.complete(task)
    assert engine.workflow(execution)["reasonForIncompletion"] == "internal error: KeyError"


def test_reasons_of_a_decision_have_the_input_gone_through_once(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks: list[object] = []

    def counted(document: JsonValue, names: Collection[str]) -> Iterator[str]:
        walks.extend([document] if isinstance(document, Mapping) and "card" in document else [])
        return values_in(document, names)

    monkeypatch.setattr("conductor_py.decider.hiding.values_in", counted)
    failing = (
        typed("DYNAMIC", f"d{at}", dynamicTaskNameParam="of", optional=True) for at in range(20)
    )
    started = engine.start(workflow("w", *failing, maskedFields=["card"]), input=_INPUT)
    tasks = engine.workflow(started)["tasks"]
    assert len([task for task in tasks if task.get("reasonForIncompletion")]) == 20
    assert len(walks) <= 2


def test_values_of_an_execution_are_made_forms_of_once_for_a_page_of_its_tasks(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = (set_variable(f"s{at}", x=1) for at in range(20))
    started = engine.start(workflow("w", *tasks, maskedFields=["card"]), input=_INPUT)
    made: list[str] = []

    def counted(value: str) -> Iterator[str]:
        made.append(value)
        return _forms(value)

    monkeypatch.setattr("conductor_py.model.masking._forms", counted)
    page = engine.engine.executions.tasks(started, start=0, count=20)
    assert len(page.results) == 20
    assert made == ["4111"]
