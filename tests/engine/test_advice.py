"""What a check of a definition asks others for: the sandbox, and what is registered."""

from collections.abc import Iterator
from typing import Any

import pytest

from conductor_py.adapters.quickjs.direct import DirectScripts
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine.definitions.script_check import ScriptCheck
from conductor_py.testing.engine import MemoryEngine, memory_engine
from tests.services.absence import needs


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    scripts = DirectScripts()
    yield memory_engine(scripts=scripts)
    scripts.close()


def _task(type: str, ref: str = "a", **more: Any) -> dict[str, Any]:
    return {"name": "t", "taskReferenceName": ref, "type": type, **more}


def _workflow(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "w", "tasks": list(tasks), **more}


def _said(engine: MemoryEngine, document: dict[str, Any]) -> list[tuple[str, str]]:
    found = engine.engine.definitions.validate(workflow_from_json(document))
    return [(each.path, each.message) for each in found]


def _given(type: str, **given: Any) -> dict[str, Any]:
    return _task(type, inputParameters=given)


def _loop(condition: str, *body: dict[str, Any]) -> dict[str, Any]:
    return _task("DO_WHILE", "l", loopCondition=condition, loopOver=list(body))


_INPUT = "$.tasks[0].inputParameters"


@pytest.mark.parametrize(
    ("task", "path"),
    [
        (_given("INLINE", expression="1 +"), f"{_INPUT}.expression"),
        (
            _given("INLINE", evaluatorType="graaljs", expression="return 1"),
            f"{_INPUT}.expression",
        ),
        (_given("JSON_JQ_TRANSFORM", queryExpression=".a | ["), f"{_INPUT}.queryExpression"),
        (_given("LAMBDA", scriptExpression="return 1 +"), f"{_INPUT}.scriptExpression"),
        (_task("LAMBDA", scriptExpression="return ("), "$.tasks[0].scriptExpression"),
        (_loop("$.a <", _task("SIMPLE")), "$.tasks[0].loopCondition"),
        (
            _loop("false", _given("INLINE", expression="(")),
            "$.tasks[0].loopOver[0].inputParameters.expression",
        ),
    ],
)
def test_a_program_that_does_not_parse_is_warned_about(
    engine: MemoryEngine, task: dict[str, Any], path: str
) -> None:
    if task["type"] == "JSON_JQ_TRANSFORM":
        needs("jq")
    ((found, message),) = _said(engine, _workflow(task))
    assert found == path
    assert "does not parse, so the task fails: " in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "task",
    [
        _given("INLINE", expression="function e() { return $.a; } e();"),
        _given("INLINE", expression="throw new Error('when it runs')"),
        _given("INLINE", expression="${workflow.input.script} +"),
        _given("INLINE", evaluatorType="value-param", expression="a b"),
        _given("INLINE", evaluatorType="${workflow.input.evaluator}", expression="a b"),
        _given("INLINE", expression=7),
        _given("INLINE", evaluatorType=[], expression="1"),
        _given("INLINE", evaluatorType=["javascript"], expression="1"),
        _given("LAMBDA", scriptExpression="if ($.a) { return 1; } // done"),
        _given("JSON_JQ_TRANSFORM", queryExpression="${workflow.input.query}"),
        _loop("if ($.a['n'] < 3) { true; } else { false; }", _task("SIMPLE")),
        _loop("${workflow.variables.n} < 3", _task("SIMPLE")),  # said in another warning
        _task("SIMPLE", inputParameters={"expression": "a b", "queryExpression": "["}),
    ],
)
def test_a_program_that_may_run_is_not_doubted(engine: MemoryEngine, task: dict[str, Any]) -> None:
    assert _said(engine, _workflow(task)) == []


def test_programs_are_looked_at_for_as_long_as_that_may_take() -> None:
    asked: list[str] = []

    class _Slow(DirectScripts):
        def check(
            self, expression: str, evaluator: str = "javascript", *, briefly: bool = False
        ) -> str | None:
            asked.append(expression)
            assert briefly
            return "wrong"

    check = ScriptCheck(_Slow(), lambda: 0.9 * len(asked))
    tasks = [
        {**_given("INLINE", expression=f"{n} +"), "taskReferenceName": f"t{n}"} for n in range(9)
    ]
    again = {**tasks[0], "taskReferenceName": "again"}
    found = list(check.unreadable(workflow_from_json(_workflow(tasks[0], again, *tasks[1:]))))
    assert asked == ["0 +", "1 +", "2 +"]
    assert [each.path for each in found] == [
        f"$.tasks[{n}].inputParameters.expression" for n in range(4)
    ]


def _child(**params: Any) -> dict[str, Any]:
    return _task("SUB_WORKFLOW", subWorkflowParam=params)


_START = f"{_INPUT}.startWorkflow.name"


@pytest.mark.parametrize(
    ("document", "path", "named"),
    [
        (_workflow(_child(name="gone")), "$.tasks[0].subWorkflowParam.name", "'gone'"),
        (
            _workflow(_child(name="known", version=2)),
            "$.tasks[0].subWorkflowParam.name",
            "'known version 2'",
        ),
        (_workflow(_task("SIMPLE"), failureWorkflow="gone"), "$.failureWorkflow", "'gone'"),
        (_workflow(_given("START_WORKFLOW", startWorkflow={"name": "gone"})), _START, "'gone'"),
        (
            _workflow(_given("FORK_JOIN_DYNAMIC", forkTaskInputs=[1], forkTaskWorkflow="gone")),
            f"{_INPUT}.forkTaskWorkflow",
            "'gone'",
        ),
        (
            _workflow(
                _child(workflowDefinition={"name": "in", "tasks": [_child(name="gone")]}),
            ),
            "$.tasks[0].subWorkflowParam.workflowDefinition.tasks[0].subWorkflowParam.name",
            "'gone'",
        ),
    ],
)
def test_a_workflow_that_is_not_registered_is_warned_about(
    engine: MemoryEngine, document: dict[str, Any], path: str, named: str
) -> None:
    engine.register(_workflow(_task("SIMPLE"), name="known"))
    ((found, message),) = _said(engine, document)
    assert found == path
    assert f"names {named}, which is not registered" in message
    named = named.strip("'").partition(" ")[0]
    engine.register(_workflow(_task("SIMPLE"), name=named, version=2))
    assert _said(engine, document) == []


@pytest.mark.parametrize(
    "document",
    [
        _workflow(_child(name="${workflow.input.name}")),
        _workflow(_child(name="known")),
        _workflow(_child(name="known", version=1)),
        _workflow(_child(name="known", version=0)),
        _workflow(_child(name="known", version="${workflow.input.version}")),
        _workflow(_task("SIMPLE"), failureWorkflow="$workflow.input.handler"),
        _workflow(_task("SIMPLE"), failureWorkflow="w"),
        _workflow(
            _child(name="any", workflowDefinition={"name": "in", "tasks": [_task("SIMPLE")]})
        ),
        _workflow(_given("START_WORKFLOW", startWorkflow="${workflow.input.start}")),
        _workflow(_given("FORK_JOIN_DYNAMIC", forkTaskWorkflow="gone")),
    ],
)
def test_a_workflow_that_may_be_registered_is_not_doubted(
    engine: MemoryEngine, document: dict[str, Any]
) -> None:
    engine.register(_workflow(_task("SIMPLE"), name="known"))
    assert _said(engine, document) == []
