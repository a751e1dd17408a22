"""A part of a DAG from the start: what is left out does not exist for the execution."""

from collections.abc import Iterable

import pytest

from conductor_py.errors import InvalidInput
from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    conditions,
    dag,
    do_while,
    pass_time,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    typed,
    workflow,
)

_DIAMOND = ("a > b", "a > x", "b > z", "x > z")


def _tasks(names: str) -> list[Json]:
    return [simple(name) for name in names]


def _started(
    engine: MemoryEngine, tasks: Iterable[Json], edges: Iterable[str], nodes: str, mode: str
) -> str:
    definition = dag("w", list(tasks), *edges)
    return engine.start(definition, start_nodes=tuple(nodes), depend_mode=mode)


def _paths(
    engine: MemoryEngine, tasks: Iterable[Json], edges: Iterable[str], nodes: str, mode: str
) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        _started(engine, tasks, edges, nodes, mode)
    assert engine.engine.executions.running("w") == ()
    return [each.path for each in refused.value.violations]


@pytest.mark.parametrize(
    ("nodes", "mode", "order"),
    [
        ("b", "TASK_POST", "bz"),
        ("b", "TASK_ONLY", "b"),
        ("b", "TASK_PRE", "ab"),
        ("bx", "TASK_POST", "bxz"),
        ("bx", "TASK_ONLY", "bx"),
        ("ax", "TASK_ONLY", "ax"),
        ("az", "TASK_ONLY", "az"),
        ("z", "TASK_PRE", "abxz"),
    ],
)
def test_the_part_runs_and_nothing_else(
    engine: MemoryEngine, nodes: str, mode: str, order: str
) -> None:
    started = _started(engine, _tasks("abxz"), _DIAMOND, nodes, mode)
    for ref in order:
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"
    assert "".join(engine.statuses(started)) == order
    defined = engine.workflow(started)["workflowDefinition"]
    assert (defined["name"], defined["version"]) == ("w", 1)
    assert [task["taskReferenceName"] for task in defined["tasks"]] == list(order)


def test_tasks_between_which_nothing_leads_run_side_by_side(engine: MemoryEngine) -> None:
    """They stay a DAG: without relations they would follow each other."""
    started = _started(engine, _tasks("abxz"), _DIAMOND, "az", "TASK_ONLY")
    assert engine.statuses(started) == {"a": "SCHEDULED", "z": "SCHEDULED"}


def test_recovery_knows_no_more_than_the_part(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abxz"), _DIAMOND, "b", "TASK_POST")
    run_failing(engine, "b")
    engine.engine.recovery.retry(started)
    engine.run("b")
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"
    pass_time(engine, seconds=120)
    engine.engine.recovery.restart(started)
    engine.run("b")
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"
    assert set(engine.statuses(started)) == {"b", "z"}


def test_an_input_that_names_what_is_left_out_is_refused(engine: MemoryEngine) -> None:
    reads = {"inputParameters": {"v": ["${a.output.v}", "${workflow.input.a}"]}}
    inner = simple("i", inputParameters={"v": "${a.output.v}"})
    child = sub_workflow("s", workflow("child", simple("c")))
    child["subWorkflowParam"]["priority"] = "${a.output.p}"
    loop = do_while("d", "$.d['iteration'] < 2", inner)
    tasks = [simple("a"), simple("b") | reads, loop, child]
    edges = ("a > b", "a > d", "a > s")
    assert _paths(engine, tasks, edges, "bds", "TASK_ONLY") == [
        "$.workflowDef.tasks[1].inputParameters.v[0]",
        "$.workflowDef.tasks[3].subWorkflowParam.priority",
        "$.workflowDef.tasks[2].loopOver[0].inputParameters.v",
    ]
    _started(engine, tasks, edges, "b", "TASK_PRE")


def test_conditions_without_what_they_look_at_are_refused(engine: MemoryEngine) -> None:
    edges = ("a -test> c", "x -test> c", "c -success> s", "c -failure> f")
    tasks = [*_tasks("axsf"), conditions("c")]
    assert _paths(engine, tasks, edges, "a", "TASK_POST") == ["$.workflowDef.relations[1]"]
    started = _started(engine, tasks, edges, "ax", "TASK_POST")
    engine.run("a")
    engine.run("x")
    engine.run("s")
    assert status_of(engine, started) == "COMPLETED"


def test_the_default_of_a_choice_is_refused_without_its_cases(engine: MemoryEngine) -> None:
    choice = typed("SWITCH", "s", evaluatorType="value-param", expression="case")
    choice |= {"inputParameters": {"case": "left"}}
    edges = ("s -case:left> l", "s -default> d")
    tasks = [choice, *_tasks("ld")]
    assert _paths(engine, tasks, edges, "d", "TASK_PRE") == ["$.workflowDef.relations[0]"]
    started = _started(engine, tasks, edges, "l", "TASK_PRE")
    engine.run("l")
    assert status_of(engine, started) == "COMPLETED"


def test_names_that_are_none_are_refused(engine: MemoryEngine) -> None:
    loop = do_while("d", "$.d['iteration'] < 2", simple("i"))
    tasks = [simple("a"), loop]
    assert _paths(engine, tasks, ("a > d",), "ayi", "TASK_ONLY") == [
        "$.startNodes[1]",
        "$.startNodes[2]",
    ]
    with pytest.raises(InvalidInput) as refused:
        engine.start(workflow("w", simple("a")), start_nodes=("a",))
    assert [each.path for each in refused.value.violations] == ["$.startNodes"]
