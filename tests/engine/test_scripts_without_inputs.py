"""A task whose script reads nothing needs no inputs, wherever its definition stands."""

from typing import Any

import pytest

from conductor_py.testing import MemoryEngine
from conductor_py.testing.definitions import sub_workflow, workflow

_CASES = {"a": [{"name": "e", "taskReferenceName": "e", "type": "NOOP"}]}


def _task(**members: Any) -> dict[str, Any]:
    return {"name": "t", "taskReferenceName": "t", **members}


_TASKS = {
    "switch": _task(
        type="SWITCH", evaluatorType="javascript", expression="'a'", decisionCases=_CASES
    ),
    "graaljs": _task(
        type="SWITCH", evaluatorType="graaljs", expression="'a'", decisionCases=_CASES
    ),
    "decision": _task(type="DECISION", caseExpression="'a'", decisionCases=_CASES),
    "loop": _task(type="DO_WHILE", loopCondition="false", loopOver=_CASES["a"]),
    "null": _task(
        type="SWITCH",
        evaluatorType="javascript",
        expression="'a'",
        decisionCases=_CASES,
        inputParameters=None,
    ),
}


@pytest.mark.parametrize("task", _TASKS.values(), ids=_TASKS)
@pytest.mark.parametrize("place", ["inline", "registered", "inline child"])
def test_a_task_without_inputs_runs(engine: MemoryEngine, task: dict[str, Any], place: str) -> None:
    definition = workflow("w", task)
    if place == "registered":
        engine.register(definition)
        started = engine.start("w")
    elif place == "inline":
        started = engine.start(definition)
    else:
        started = engine.start(workflow("parent", sub_workflow("child", definition)))
    engine.settle()

    found = engine.workflow(started)
    assert found["status"] == "COMPLETED", found.get("reasonForIncompletion")
