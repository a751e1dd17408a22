"""What a take-back makes anew reads and counts what there is when all that followed is gone."""

from collections.abc import Iterable

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    Json,
    do_while,
    fail,
    for_each,
    fork,
    join,
    pass_time,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    task_of,
    times,
    typed,
    workflow,
)

_AT_ONCE = sub_workflow("s", workflow("c", set_variable("v", n=1)))


@pytest.fixture(params=[1, 1000])
def engine(request: pytest.FixtureRequest) -> MemoryEngine:
    return memory_engine(limits=Limits(attempts=request.param))


def _child(ref: str = "s", task: str = "x", **more: object) -> Json:
    inner = simple(task, inputParameters={"v": "${workflow.input.v}"})
    outputs = {"n": f"${{{task}.output.n}}"}
    return sub_workflow(ref, workflow(f"c{ref}", inner, outputParameters=outputs), **more)


def _first_child(engine: MemoryEngine, root: str) -> str:
    tasks = engine.workflow(root)["tasks"]
    return str(next(task["subWorkflowId"] for task in tasks if task["taskType"] == "SUB_WORKFLOW"))


def _restart(engine: MemoryEngine, child: str) -> None:
    engine.engine.recovery.restart(child)
    engine.settle()


def _work(engine: MemoryEngine, names: Iterable[str], output: Json) -> None:
    """Do what there is of these, and what comes of it."""
    names = tuple(names)
    while tasks := [task for name in names for task in engine.poll(name, 5)]:
        for task in tasks:
            engine.complete(task, output=output)
        engine.settle()


@pytest.mark.parametrize(
    "loop",
    [
        times("l", 2, _AT_ONCE),
        for_each("l", [1, 2], _AT_ONCE),
        times("l", 2, times("m", 1, _AT_ONCE)),
        times("l", 1, times("m", 2, _AT_ONCE)),
    ],
)
def test_a_loop_whose_last_task_is_a_child_that_ends_at_once_goes_on(
    engine: MemoryEngine, loop: Json
) -> None:
    root = engine.start(workflow("w", loop, simple("z")))
    engine.settle()
    _restart(engine, _first_child(engine, root))
    assert status_of(engine, root) == "RUNNING"
    _work(engine, ["z"], {})
    assert status_of(engine, root) == "COMPLETED"


def test_a_loop_over_a_list_goes_on_with_the_list_of_its_iteration(engine: MemoryEngine) -> None:
    item = {"item": "${m.output.loopItem}"}
    inner = do_while("m", "", _child(), simple("y", inputParameters=item), items="${a.output.list}")
    root = engine.start(workflow("w", times("l", 3, simple("a"), inner)))
    for number in (1, 2, 3):
        engine.run("a", {"list": [f"a{number}-1", f"a{number}-2"]})
        engine.settle()
        if number < 3:
            _work(engine, ["x", "y"], {"n": number})
    _restart(engine, _first_child(engine, root))
    _work(engine, ["x"], {"n": 9})
    (task,) = engine.poll("y")
    assert (task["referenceTaskName"], task["inputData"]) == ("y__1__1", {"item": "a1-1"})


def test_a_task_that_is_tried_again_for_its_child_reads_its_own_iteration(
    engine: MemoryEngine,
) -> None:
    child = _child(inputParameters={"v": "${a.output.n}"}, retryCount=1)
    root = engine.start(workflow("w", times("l", 3, simple("a"), child, simple("z"))))
    for number, refs in ((1, "axz"), (2, "axz"), (3, "a")):
        for ref in refs:
            engine.run(ref, {"n": f"{ref}{number}"})
            engine.settle()
    engine.engine.steering.pause(root)
    first = _first_child(engine, root)
    _restart(engine, first)
    for task in engine.poll("x", 5):
        if task["workflowInstanceId"] == first:
            fail(engine, task)
    engine.settle()
    engine.engine.steering.resume(root)
    pass_time(engine, seconds=200)
    (again,) = engine.poll("x", 5)
    assert again["inputData"] == {"v": "a1"}


def test_what_follows_a_join_comes_after_it_when_a_pause_is_over(engine: MemoryEngine) -> None:
    read = {"v": "${j.output.s.n}", "s": "${s.output.n}"}
    branches = fork("f", [_child()], [simple("b")])
    last = simple("z", inputParameters=read)
    root = engine.start(workflow("w", branches, join("j", "s", "b"), last))
    _work(engine, ["b"], {"n": 1})
    engine.engine.steering.pause(root)
    _work(engine, ["x"], {"n": 1})
    _restart(engine, task_of(engine, root, "s")["subWorkflowId"])
    _work(engine, ["x"], {"n": 2})
    engine.engine.steering.resume(root)
    engine.settle()
    (task,) = engine.poll("z", 5)
    assert task["inputData"] == {"v": 2, "s": 2}


def test_a_permissive_task_that_was_canceled_has_no_failure_to_take_back(
    engine: MemoryEngine,
) -> None:
    branches = fork("f", [simple("p", permissive=True)], [simple("q", permissive=True)])
    loop = times("l", 1, branches, join("j", "p", "q"), permissive=True)
    root = engine.start(workflow("w", _child(), loop, simple("z")))
    _work(engine, ["x"], {"n": 1})
    run_failing(engine, "p")
    engine.settle()
    _restart(engine, task_of(engine, root, "s")["subWorkflowId"])
    _work(engine, ["x", "p", "q", "z"], {"n": 2})
    assert status_of(engine, root) == "COMPLETED"


@pytest.mark.parametrize("order", [("s", "t"), ("t", "s")])
def test_a_child_whose_task_was_taken_back_ends_whichever_begins_anew_first(
    engine: MemoryEngine, order: tuple[str, str]
) -> None:
    root = engine.start(workflow("w", _child("s", "x"), _child("t", "y"), simple("z")))
    _work(engine, ["x", "y"], {"n": 1})
    children = {ref: task_of(engine, root, ref)["subWorkflowId"] for ref in ("s", "t")}
    for ref in order:
        _restart(engine, children[ref])
    assert status_of(engine, children["t"]) == "TERMINATED"
    _work(engine, ["x"], {"n": 2})
    (task,) = engine.poll("y", 5)
    assert task["workflowInstanceId"] != children["t"]
    engine.complete(task)
    _work(engine, ["z"], {})
    assert status_of(engine, root) == "COMPLETED"


@pytest.mark.parametrize("restarted", [True, False])
def test_a_child_of_a_dynamic_task_is_tried_again_when_it_fails_again(
    engine: MemoryEngine, *, restarted: bool
) -> None:
    engine.register(workflow("c", simple("x")))
    inputs = {"t": "SUB_WORKFLOW", "subWorkflowName": "c"}
    dynamic = typed("DYNAMIC", "d", dynamicTaskNameParam="t", inputParameters=inputs, retryCount=2)
    root = engine.start(workflow("w", dynamic, simple("z")))
    if restarted:
        _work(engine, ["x"], {})
        _restart(engine, task_of(engine, root, "d")["subWorkflowId"])
    else:
        engine.engine.executions.terminate(root, reason="enough")
        engine.settle()
        engine.engine.recovery.retry(root, resume_subworkflows=True)
        engine.settle()
    run_failing(engine, "x")
    pass_time(engine, seconds=200)
    assert engine.statuses(root)["d"] == "IN_PROGRESS"
    _work(engine, ["x", "z"], {})
    assert status_of(engine, root) == "COMPLETED"
