"""Which task a worker gets first: by workflow, by task, by age, as the order of queues says."""

from typing import Any

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.model.priorities import QueueOrder
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    Json,
    dag,
    fork,
    fork_inputs,
    join,
    policy,
    simple,
    sub_workflow,
    task_of,
    typed,
    workflow,
)


def _urgent(ref: str, level: str | None = None) -> Json:
    """A task of the type ``t``."""
    task = simple(ref) | {"name": "t"}
    return task if level is None else task | {"taskPriority": level}


def _engine(**order: int) -> MemoryEngine:
    return memory_engine(limits=Limits(order=QueueOrder(**order)))  # type: ignore[arg-type]


def _polled(engine: MemoryEngine, key: str = "referenceTaskName") -> list[str]:
    return [task[key] for task in engine.poll("t", 20)]


def test_the_more_urgent_task_of_a_dag_goes_first(engine: MemoryEngine) -> None:
    levels = {"a": "LOWEST", "b": "MEDIUM", "c": "HIGHEST", "d": None, "e": "LOW", "f": "HIGH"}
    engine.start(dag("w", [_urgent(*each) for each in levels.items()]))
    polled = _polled(engine)
    assert (polled[:2], set(polled[2:4]), polled[4:]) == (["c", "f"], {"b", "d"}, ["e", "a"])


def test_the_more_urgent_branch_of_a_fork_goes_first(engine: MemoryEngine) -> None:
    branches = [[_urgent("a", "LOW")], [_urgent("b", "HIGH")]]
    engine.start(workflow("w", fork("f", *branches), join("j", "a", "b")))
    assert _polled(engine) == ["b", "a"]


def test_the_priority_of_the_workflow_outweighs_that_of_the_task(engine: MemoryEngine) -> None:
    engine.start(workflow("w", _urgent("low", "HIGHEST")), priority=10)
    engine.start(workflow("w", _urgent("high", "LOWEST")), priority=11)
    assert _polled(engine) == ["high", "low"]


def test_a_retry_keeps_the_urgency_of_its_task(engine: MemoryEngine) -> None:
    again = policy("again", retryCount=1, retryDelaySeconds=60)
    again |= {"name": "t", "taskPriority": "HIGH"}
    engine.start(workflow("w", again))
    (task,) = engine.poll("t")
    engine.complete(task, status="FAILED")
    engine.start(workflow("w", _urgent("other")))
    engine.clock.advance(seconds=60)
    engine.settle()
    assert _polled(engine) == ["again", "other"]


def test_by_default_what_came_first_goes_first_whosever_execution_it_is(
    engine: MemoryEngine,
) -> None:
    engine.start(workflow("w", _urgent("a1"), _urgent("a2")))
    engine.clock.advance(seconds=1)
    (first,) = engine.poll("t")
    engine.start(workflow("w", _urgent("b1")))
    engine.clock.advance(seconds=1)
    engine.complete(first)
    assert _polled(engine) == ["b1", "a2"]


def test_instance_first_drains_the_older_execution() -> None:
    engine = _engine(instance_first=True)
    engine.start(workflow("w", _urgent("a1"), _urgent("a2", "LOWEST")))
    engine.clock.advance(seconds=1)
    (first,) = engine.poll("t")
    engine.start(workflow("w", _urgent("b1", "HIGHEST")))
    engine.clock.advance(seconds=1)
    engine.complete(first)
    assert _polled(engine) == ["a2", "b1"]


def test_instance_first_still_looks_at_the_priority_of_workflows_first() -> None:
    engine = _engine(instance_first=True)
    engine.start(workflow("w", _urgent("older")), priority=10)
    engine.clock.advance(seconds=1)
    engine.start(workflow("w", _urgent("urgent")), priority=50)
    assert _polled(engine) == ["urgent", "older"]


def test_without_ageing_the_lowest_waits_as_long_as_anything_more_urgent_comes(
    engine: MemoryEngine,
) -> None:
    engine.start(workflow("w", _urgent("starving")), priority=10)
    engine.clock.advance(seconds=30 * 86_400)
    engine.start(workflow("w", _urgent("fresh")), priority=11)
    assert _polled(engine) == ["fresh", "starving"]


def test_ageing_lets_what_has_waited_go_before_what_is_more_urgent() -> None:
    engine = _engine(ageing_ms=1_000)
    engine.start(workflow("w", _urgent("waiting")), priority=10)
    engine.clock.advance(seconds=19)
    engine.start(workflow("w", _urgent("soon")), priority=30)
    engine.clock.advance(seconds=2)
    engine.start(workflow("w", _urgent("late")), priority=30)
    assert _polled(engine) == ["soon", "waiting", "late"]


@pytest.mark.parametrize(
    ("given", "number"), [("HIGHEST", 90), ("HIGH", 70), ("MEDIUM", 50), ("LOW", 30)]
)
def test_the_priority_of_a_child_may_be_a_name(
    engine: MemoryEngine, given: str, number: int
) -> None:
    child = sub_workflow("s", workflow("c", simple("x")))
    child["subWorkflowParam"]["priority"] = given
    started = engine.start(workflow("w", child))
    engine.settle()
    assert engine.workflow(task_of(engine, started, "s")["subWorkflowId"])["priority"] == number


def test_a_name_may_come_out_of_an_expression(engine: MemoryEngine) -> None:
    child = sub_workflow("s", workflow("c", simple("x")))
    child["subWorkflowParam"]["priority"] = "${workflow.input.p}"
    started = engine.start(workflow("w", child), input={"p": "LOWEST"})
    engine.settle()
    assert engine.workflow(task_of(engine, started, "s")["subWorkflowId"])["priority"] == 10


def test_a_task_that_starts_a_workflow_may_name_its_priority(engine: MemoryEngine) -> None:
    request = {"name": "o", "priority": "HIGH", "workflowDef": workflow("o", simple("x"))}
    task = typed("START_WORKFLOW", "s") | {"inputParameters": {"startWorkflow": request}}
    started = engine.start(workflow("w", task))
    other = task_of(engine, started, "s")["outputData"]["workflowId"]
    assert engine.workflow(other)["priority"] == 70


def test_branches_that_are_queued_together_go_in_the_order_of_the_definition(
    engine: MemoryEngine,
) -> None:
    refs = [f"b{number}" for number in range(12)]
    engine.start(workflow("w", fork("f", *([_urgent(ref)] for ref in refs)), join("j", *refs)))
    engine.start(workflow("w", _urgent("other")))
    polled = _polled(engine)
    assert [ref for ref in polled if ref != "other"] == refs


@pytest.mark.parametrize("order", [{}, {"ageing_ms": 6_000}])
def test_a_thousand_branches_begin_with_the_first(order: dict[str, int]) -> None:
    engine = _engine(**order)
    items = [{"n": number} for number in range(1_000)]
    engine.start(workflow("w", fork_inputs("f", items, forkTaskName="t"), join("j")))
    engine.settle()
    seen: list[int] = []
    while tasks := engine.poll("t", 100):
        seen += [task["inputData"]["n"] for task in tasks]
    assert seen == list(range(1_000))


_REFS = [f"b{number}" for number in range(1, 13)]


@pytest.fixture
def ticking(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> MemoryEngine:
    """An engine that takes a millisecond to take up an execution."""
    acquire = engine.ports.store.acquire

    def slow(*given: Any) -> Any:
        engine.clock.advance(milliseconds=1)
        return acquire(*given)

    monkeypatch.setattr(engine.ports.store, "acquire", slow)
    return engine


def test_children_of_branches_begin_in_the_order_of_the_definition(ticking: MemoryEngine) -> None:
    engine = ticking
    engine.register(
        workflow("child", _urgent("x") | {"inputParameters": {"k": "${workflow.input.k}"}})
    )
    branches = (
        [sub_workflow(ref, "child", inputParameters={"k": ref}), _urgent(f"z{ref}")]
        for ref in _REFS
    )
    engine.start(workflow("w", fork("f", *branches), join("j", *(f"z{ref}" for ref in _REFS))))
    tasks = engine.poll("t", 100)
    assert [task["inputData"]["k"] for task in tasks] == _REFS
    for task in tasks:
        engine.complete(task)
    engine.settle()
    assert _polled(engine) == [f"z{ref}" for ref in _REFS]


def test_children_that_begin_in_the_same_millisecond_do_so_in_the_order_of_the_definition(
    engine: MemoryEngine,
) -> None:
    child = workflow("child", _urgent("x") | {"inputParameters": {"k": "${workflow.input.k}"}})
    engine.register(child)
    branches = ([sub_workflow(ref, "child", inputParameters={"k": ref})] for ref in _REFS)
    engine.start(workflow("w", fork("f", *branches), join("j", *_REFS)))
    engine.settle()
    assert [task["inputData"]["k"] for task in engine.poll("t", 100)] == _REFS


@pytest.mark.parametrize("takes_time", [True, False])
def test_workflows_that_tasks_start_begin_in_the_order_of_the_tasks_also_in_one_millisecond(
    request: pytest.FixtureRequest, engine: MemoryEngine, takes_time: bool
) -> None:
    if takes_time:
        request.getfixturevalue("ticking")
    started = workflow("o", _urgent("x") | {"inputParameters": {"k": "${workflow.input.k}"}})
    engine.register(started)
    tasks = (
        typed("START_WORKFLOW", ref)
        | {"inputParameters": {"startWorkflow": {"name": "o", "input": {"k": ref}}}}
        for ref in _REFS
    )
    engine.start(workflow("w", *tasks))
    engine.settle()
    assert [task["inputData"]["k"] for task in engine.poll("t", 100)] == _REFS


def test_branches_whose_waits_end_together_go_in_the_order_of_the_definition(
    engine: MemoryEngine,
) -> None:
    branches = (
        [typed("WAIT", f"w{ref}", inputParameters={"duration": "1 second"}), _urgent(ref)]
        for ref in _REFS
    )
    engine.start(workflow("w", fork("f", *branches), join("j", *_REFS)))
    engine.clock.advance(seconds=1)
    engine.settle()
    assert _polled(engine) == _REFS


def test_branches_that_time_out_together_are_tried_again_in_the_order_of_the_definition(
    engine: MemoryEngine,
) -> None:
    again = {"responseTimeoutSeconds": 1, "retryCount": 1, "retryDelaySeconds": 0}
    branches = ([policy(ref, **again) | {"name": "t"}] for ref in _REFS)
    engine.start(workflow("w", fork("f", *branches), join("j", *_REFS)))
    assert _polled(engine) == _REFS
    engine.clock.advance(seconds=2)
    engine.settle()
    assert _polled(engine) == _REFS


def test_one_that_is_put_off_and_comes_due_with_others_keeps_its_place(
    engine: MemoryEngine,
) -> None:
    refs = [f"b{number}" for number in range(11)]
    branches = ([_urgent(ref) | {"startDelay": 5}] for ref in refs)
    engine.start(workflow("w", fork("f", *branches), join("j", *refs)))
    engine.clock.advance(seconds=5)
    assert _polled(engine) == refs
