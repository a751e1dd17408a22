"""SWITCH: which branch is taken."""

from typing import Any

import pytest

from conductor_py.testing import MemoryEngine
from tests.builders import run_failing, simple, status_of, switch, task_of, workflow


def _cases(engine: MemoryEngine, value: Any, **more: Any) -> dict[str, str]:
    cases = {"a": [simple("in_a")], "1": [simple("in_1")], "true": [simple("in_true")], "none": []}
    choice = switch("s", value, cases, [simple("in_default")], **more)
    started = engine.start(workflow("w", choice, simple("z")), input={"x": "a"})
    return engine.statuses(started)


@pytest.mark.parametrize(
    ("value", "opened"),
    [
        ("a", "in_a"),
        ("${workflow.input.x}", "in_a"),
        (1, "in_1"),
        (True, "in_true"),
        ("nobody", "in_default"),
        pytest.param("${workflow.input.missing}", "in_default", id="row 10: missing input"),
        pytest.param("none", "z", id="row 11: an empty case takes no branch"),
    ],
)
def test_value_chooses_the_case(engine: MemoryEngine, value: Any, opened: str) -> None:
    assert _cases(engine, value) == {"s": "COMPLETED", opened: "SCHEDULED"}


def test_missing_input_is_shown_as_null(engine: MemoryEngine) -> None:
    """Oracle row 10."""
    choice = switch("s", "${workflow.input.missing}", {"a": [simple("a")]})
    started = engine.start(workflow("w", choice))
    task = task_of(engine, started, "s")
    assert task["outputData"] == {"evaluationResult": ["null"], "selectedCase": "null"}
    assert task["inputData"]["case"] == "null"


def test_script_chooses_the_case(engine: MemoryEngine) -> None:
    choice = switch("s", 7, {"big": [simple("b")]})
    choice |= {"evaluatorType": "javascript", "expression": "$.case > 5 ? 'big' : 'small'"}
    started = engine.start(workflow("w", choice))
    assert engine.statuses(started) == {"s": "COMPLETED", "b": "SCHEDULED"}


def test_script_that_throws_fails_the_workflow(engine: MemoryEngine) -> None:
    """Oracle row 13."""
    choice = switch("s", 7, {"big": [simple("b")]})
    choice |= {"evaluatorType": "javascript", "expression": "$.nothing.deep"}
    started = engine.start(workflow("w", choice))
    assert engine.statuses(started) == {"s": "FAILED"}
    assert status_of(engine, started) == "FAILED"


def test_optional_switch_whose_script_throws_is_passed_by(engine: MemoryEngine) -> None:
    choice = switch("s", 7, {"big": [simple("b")]}, optional=True)
    choice |= {"evaluatorType": "javascript", "expression": "$.nothing.deep"}
    started = engine.start(workflow("w", choice, simple("z")))
    assert engine.statuses(started) == {"s": "COMPLETED_WITH_ERRORS", "z": "SCHEDULED"}


def test_unknown_evaluator_fails_the_task(engine: MemoryEngine) -> None:
    choice = {**switch("s", 7, {"7": [simple("b")]}), "evaluatorType": "abacus"}
    started = engine.start(workflow("w", choice))
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "abacus" in found["reasonForIncompletion"]


def test_flow_goes_on_behind_the_switch_after_its_branch(engine: MemoryEngine) -> None:
    choice = switch("s", "a", {"a": [simple("p"), simple("q")]})
    started = engine.start(workflow("w", choice, simple("z")))
    engine.run("p")
    engine.run("q")
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_switches_nest_to_the_end_of_the_workflow(engine: MemoryEngine) -> None:
    inner = switch("t", "b", {"b": [simple("p")]})
    started = engine.start(workflow("w", switch("s", "a", {"a": [inner]})))
    engine.run("p")
    assert status_of(engine, started) == "COMPLETED"


def test_sixty_nested_switches(engine: MemoryEngine) -> None:
    task = simple("p")
    for depth in range(60):
        task = switch(f"s{depth}", "a", {"a": [task]})
    started = engine.start(workflow("w", task, simple("z")))
    engine.run("p")
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_failure_in_a_branch_fails_the_workflow(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", switch("s", "a", {"a": [simple("p")]}), simple("z")))
    run_failing(engine, "p")
    assert status_of(engine, started) == "FAILED"
