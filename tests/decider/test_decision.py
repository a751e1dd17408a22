"""DECISION: the older SWITCH."""

from typing import Any

import pytest

from conductor_py.testing import MemoryEngine
from tests.builders import simple, status_of, task_of, typed, workflow


def decision(value: Any, **more: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "caseValueParam": "case",
        "inputParameters": {"case": value},
        "decisionCases": {"a": [simple("in_a")], "1": [simple("in_1")], "none": []},
        "defaultCase": [simple("in_default")],
        **more,
    }
    return {**typed("DECISION", "d"), **facts}


@pytest.mark.parametrize(
    ("value", "opened"),
    [
        ("a", "in_a"),
        (1, "in_1"),
        ("${workflow.input.x}", "in_a"),
        ("nobody", "in_default"),
        (None, "in_default"),
        pytest.param("none", "in_default", marks=pytest.mark.oracle(12), id="empty case"),
    ],
)
def test_value_chooses_the_case(engine: MemoryEngine, value: Any, opened: str) -> None:
    started = engine.start(workflow("w", decision(value), simple("z")), input={"x": "a"})
    assert engine.statuses(started) == {"d": "COMPLETED", opened: "SCHEDULED"}


def test_the_choice_is_shown(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", decision("a")))
    task = task_of(engine, started, "d")
    assert task["taskType"] == "DECISION"
    assert task["outputData"] == {"caseOutput": ["a"]}
    assert task["inputData"] == {"case": "a", "hasChildren": "true"}


def test_script_chooses_the_case(engine: MemoryEngine) -> None:
    choice = decision(5, caseExpression="$.case > 3 ? 'a' : 'b'")
    started = engine.start(workflow("w", choice, simple("z")))
    engine.run("in_a")
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_script_that_throws_fails_the_workflow(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", decision(5, caseExpression="$.no.where")))
    assert engine.statuses(started) == {"d": "FAILED"}
    assert status_of(engine, started) == "FAILED"


def test_without_any_branch_it_goes_on(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", decision("none", defaultCase=[]), simple("z")))
    assert engine.statuses(started) == {"d": "COMPLETED", "z": "SCHEDULED"}
