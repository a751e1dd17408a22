"""Values that become deeper and deeper: they cost their task, and whatever holds them stays
readable.
"""

from typing import Any

import orjson
import pytest

from conductor_py.api import create_app
from conductor_py.codec.nesting import NESTING, dump_nested
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    for_each,
    pass_time,
    report,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    task_of,
    workflow,
)


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _wrapping(rounds: int) -> dict[str, Any]:
    wrap = set_variable("v", d={"w": "${workflow.variables.d}"})
    loop = for_each("l", list(range(rounds)), wrap)
    return workflow("w", loop, outputParameters={"d": "${workflow.variables.d}"})


@pytest.mark.anomaly("A-36")
@pytest.mark.thorough(target="fuzz")
def test_loop_that_wraps_a_variable_fails_before_nobody_can_read_it(engine: MemoryEngine) -> None:
    started = engine.start(_wrapping(NESTING + 5))
    engine.settle()
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert f"nested more than {NESTING} levels deep" in found["reasonForIncompletion"]
    failed = [task for task in found["tasks"] if task["status"] == "FAILED"]
    assert {task["taskType"] for task in failed} <= {"SET_VARIABLE", "DO_WHILE"}
    client = create_app(engine.engine).test_client()
    for path in ("", "/status?includeVariables=true", "/tasks?count=1000"):
        assert client.get(f"/api/workflow/{started}{path}").status_code == 200


@pytest.mark.parametrize(
    "rounds",
    [NESTING - 2, pytest.param(NESTING + 5, marks=pytest.mark.thorough(target="fuzz"))],
)
def test_execution_with_the_deepest_values_is_archived(engine: MemoryEngine, rounds: int) -> None:
    started = engine.start(_wrapping(rounds))
    engine.settle()
    status = status_of(engine, started)
    pass_time(engine, seconds=2)
    pass_time(engine, seconds=3_600)
    assert engine.ports.search.archived(started) is not None
    assert status_of(engine, started) == status


def test_output_that_is_nested_too_deeply_fails_its_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    report(engine, task_of(engine, started, "a"), output={"x": _nested(NESTING)})
    found = task_of(engine, started, "a")
    assert (found["status"], found["outputData"]) == ("FAILED_WITH_TERMINAL_ERROR", {})
    assert "levels deep" in found["reasonForIncompletion"]


def test_output_that_children_wrap_fails_the_execution_that_makes_it_too_deep(
    engine: MemoryEngine,
) -> None:
    inner = workflow("inner", simple("a"), outputParameters={"o": "${a.output}"})
    outer = workflow("outer", sub_workflow("s", inner), outputParameters={"p": "${s.output}"})
    started = engine.start(outer)
    (task,) = engine.poll("a")
    engine.complete(task, {"x": _nested(NESTING - 2)})
    engine.settle()
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "levels deep" in found["reasonForIncompletion"]


@pytest.mark.parametrize("value", [1, {}, {"a": [1, {"b": None}]}, "[[", _nested(NESTING)])
def test_what_is_not_too_deep_is_written_as_it_is(value: Any) -> None:
    assert dump_nested(value) == orjson.dumps(value)


@pytest.mark.parametrize("value", [_nested(NESTING + 1), _nested(1_000), (({},) * 2, object())])
def test_what_cannot_be_written_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        dump_nested(value)
