"""What an execution runs by is its own: nothing that it does reaches its definition, or another."""

from collections.abc import Sequence

import pytest

from conductor_py.codec.definitions import task_def_from_json, workflow_from_json
from conductor_py.errors import NotFound
from conductor_py.model.requests import TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.scripts import Evaluation, ScriptResult
from conductor_py.testing import MemoryEngine
from tests.anomalies.world import LEASE_S, World
from tests.builders import (
    Json,
    dynamic_fork,
    fork,
    inline,
    join,
    pass_time,
    policy,
    run_failing,
    set_variable,
    simple,
    status_of,
    task_of,
    tasks_of,
    typed,
    workflow,
)


@pytest.mark.anomaly("A-48")
def test_variables_are_those_of_the_execution_and_not_of_the_definition(world: World) -> None:
    first, second = world.servers
    written = workflow("w", simple("a"), set_variable("v", n=[2]), variables={"n": [1]})
    first.engine.definitions.register(workflow_from_json(written), overwrite=True)
    one = first.start("w")
    first.run("a")
    assert first.workflow(one)["variables"] == {"n": [2]}
    for server in (first, second):
        other = server.start("w")
        assert server.workflow(other)["variables"] == {"n": [1]}
        shown = server.workflow(other)["workflowDefinition"]
        assert shown["variables"] == {"n": [1]}


@pytest.mark.anomaly("A-48")
def test_what_data_makes_of_a_task_does_not_reach_its_definition(world: World) -> None:
    """A DYNAMIC name and the branches of a dynamic fork, each resolved for one execution."""
    first, second = world.servers
    chosen = typed("DYNAMIC", "d", dynamicTaskNameParam="n")
    chosen["inputParameters"] = {"n": "${workflow.input.name}"}
    written = workflow("w", chosen, dynamic_fork("f"), join("j"))
    first.engine.definitions.register(workflow_from_json(written), overwrite=True)
    for server, name in ((first, "one"), (second, "two")):
        branches = [simple(f"b_{name}")]
        server.start("w", input={"name": name, "branches": branches, "inputs": {}})
        server.run(name)
        server.run(f"b_{name}")
    shown = [first.workflow(one.id)["workflowDefinition"]["tasks"] for one in world.stored]
    assert shown[0] == shown[1]
    assert [task["name"] for task in shown[0]] == ["d", "f", "j"]


@pytest.mark.anomaly("A-49")
def test_a_dynamic_task_is_retried_and_timed_by_the_definition_of_its_name(
    engine: MemoryEngine,
) -> None:
    rule: Json = {
        "name": "chosen",
        "retryCount": 1,
        "retryDelaySeconds": 0,
        "responseTimeoutSeconds": 7,
    }
    engine.engine.definitions.register_tasks([task_def_from_json(rule)])
    chosen = typed("DYNAMIC", "d", dynamicTaskNameParam="n", inputParameters={"n": "chosen"})
    started = engine.start(workflow("w", chosen))
    run_failing(engine, "chosen")
    engine.poll("chosen")
    pass_time(engine, seconds=7)
    assert [t["status"] for t in tasks_of(engine, started, "d")] == ["FAILED", "TIMED_OUT"]
    assert status_of(engine, started) == "TIMED_OUT"


@pytest.mark.anomaly("A-14")
def test_a_result_that_names_another_execution_changes_neither(engine: MemoryEngine) -> None:
    mine, other = (engine.start(workflow("w", policy("a"), simple("b"))) for _ in range(2))
    task = tasks_of(engine, mine, "a")[0]
    before = [engine.workflow(each) for each in (mine, other)]
    with pytest.raises(NotFound, match=f"Task {mine}-1 is none of workflow {other}"):
        engine.engine.tasks.update(
            TaskResult(
                workflow_id=other, task_id=task["taskId"], status=TaskStatus.COMPLETED, output={}
            )
        )
    engine.settle()
    assert [engine.workflow(each) for each in (mine, other)] == before


@pytest.mark.anomaly("A-52")
def test_a_script_that_takes_its_time_holds_up_neither_its_own_execution_nor_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it runs results are taken, also of its own execution, and others come to their end."""
    first, second = world.servers
    scripts = first.ports.scripts
    evaluate = scripts.evaluate
    branches = fork("f", [simple("a"), inline("i", "$.n + 1", n=1)], [simple("b")])
    slow = first.start(workflow("w", branches, join("j", "i", "b")))
    other = first.start(workflow("o", simple("x"), simple("y")))
    (task,) = first.poll("b")

    def lasting(requests: Sequence[Evaluation]) -> tuple[ScriptResult, ...]:
        world.clock.advance(seconds=LEASE_S / 2)
        second.complete(task, {"by": "worker"})
        second.run("x")
        second.run("y")
        assert status_of(second, other) == "COMPLETED"
        return evaluate(requests)

    with monkeypatch.context() as patch:
        patch.setattr(scripts, "evaluate", lasting)
        first.run("a")
    world.pass_time(1, seconds=LEASE_S)
    assert task_of(first, slow, "i")["outputData"] == {"result": 2}
    assert task_of(first, slow, "j")["outputData"]["b"] == {"by": "worker"}
    assert status_of(first, slow) == "COMPLETED"


@pytest.mark.anomaly("A-52")
def test_python_is_no_evaluator(engine: MemoryEngine) -> None:
    task = inline("i", "1")
    task["inputParameters"]["evaluatorType"] = "python"
    started = engine.start(workflow("w", task))
    assert engine.statuses(started) == {"i": "FAILED_WITH_TERMINAL_ERROR"}
    assert "python" in engine.workflow(started)["reasonForIncompletion"]
