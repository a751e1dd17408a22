"""INLINE: scripts over the task's input."""

from typing import Any

import pytest

from conductor_py.testing import MemoryEngine
from tests.builders import inline, pass_time, simple, status_of, task_of, typed, workflow


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("$.x + 1", 6),
        ("[1, {a: $.x}]", [1, {"a": 5}]),
        ("(function () { return 'text'; })()", "text"),
        pytest.param("undefined", None, id="row 32: undefined is null"),
        ("null", None),
        ("1.5", 1.5),
    ],
)
def test_result_is_the_scripts_value(engine: MemoryEngine, expression: str, result: Any) -> None:
    started = engine.start(workflow("w", inline("i", expression, x=5)))
    assert engine.workflow(started)["output"] == {"result": result}


def test_value_param_takes_an_input_as_it_is(engine: MemoryEngine) -> None:
    task = inline("i", "x", evaluatorType="value-param", x={"deep": [1]})
    started = engine.start(workflow("w", task))
    assert engine.workflow(started)["output"] == {"result": {"deep": [1]}}


def test_result_feeds_the_next_task(engine: MemoryEngine) -> None:
    after = simple("a", inputParameters={"seen": "${i.output.result.y}"})
    engine.start(workflow("w", inline("i", "({y: 3})"), after))
    (task,) = engine.poll("a")
    assert task["inputData"] == {"seen": 3}


def test_script_that_throws_fails_the_task_with_its_message(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", inline("i", "throw new Error('stop here')")))
    task = task_of(engine, started, "i")
    assert task["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "stop here" in task["outputData"]["error"]
    assert status_of(engine, started) == "FAILED"


@pytest.mark.parametrize("expression", ["", "   ", None, 7])
def test_missing_expression_fails_the_task(engine: MemoryEngine, expression: Any) -> None:
    task = typed("INLINE", "i", inputParameters={"expression": expression})
    started = engine.start(workflow("w", task))
    assert "expression" in task_of(engine, started, "i")["reasonForIncompletion"]


def test_unknown_evaluator_fails_the_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", inline("i", "1", evaluatorType="abacus")))
    assert "abacus" in task_of(engine, started, "i")["reasonForIncompletion"]


def test_script_that_may_succeed_later_is_retried_by_its_definition(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conductor_py.ports.scripts import Failure, Value

    answers = [Failure(message="too slow", terminal=False, kind="time"), Value(value=7)]
    monkeypatch.setattr(
        type(engine.ports.scripts), "evaluate", lambda *_: (answers.pop(0),), raising=True
    )
    task = inline("i", "1")
    task["taskDefinition"] = {"name": "i", "retryCount": 2, "retryDelaySeconds": 20}
    started = engine.start(workflow("w", task))
    assert task_of(engine, started, "i")["status"] == "SCHEDULED"
    pass_time(engine, seconds=19)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=1)
    assert engine.workflow(started)["output"] == {"result": 7}


def test_retry_has_the_whole_timeout_again(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conductor_py.ports.scripts import Failure, Value

    answers = [Failure(message="too slow", terminal=False, kind="time"), Value(value=7)]
    monkeypatch.setattr(type(engine.ports.scripts), "evaluate", lambda *_: (answers.pop(0),))
    task = inline("i", "1")
    task["taskDefinition"] = {
        "name": "i",
        "retryCount": 2,
        "retryDelaySeconds": 20,
        "timeoutSeconds": 10,
        "timeoutPolicy": "TIME_OUT_WF",
        "responseTimeoutSeconds": 1,
    }
    started = engine.start(workflow("w", task))
    pass_time(engine, seconds=20)
    assert engine.workflow(started)["output"] == {"result": 7}
