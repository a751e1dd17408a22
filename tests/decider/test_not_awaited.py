"""What stands behind a child that runs again runs again, as it did at first: a JOIN waits for what
it names, and for nothing else.
"""

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    Json,
    fork,
    join,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    times,
    workflow,
)


@pytest.fixture(params=[1, 1000])
def engine(request: pytest.FixtureRequest) -> MemoryEngine:
    return memory_engine(limits=Limits(attempts=request.param))


def _child() -> Json:
    return sub_workflow("s", workflow("c", simple("x")))


def _work(engine: MemoryEngine, *names: str) -> None:
    while tasks := [task for name in names for task in engine.poll(name, 5)]:
        for task in tasks:
            engine.complete(task)
        engine.settle()


#: What comes behind the child ``s``, what of it runs again at once, and what when that is done.
_CASES: dict[str, tuple[list[Json], str, str]] = {
    "a JOIN that names another branch": (
        [fork("f", [_child()], [simple("b")]), join("j", "b"), simple("y")],
        "jye",
        "",
    ),
    "a branch beside is open, and all has been reached": (
        [fork("f", [_child()], [simple("b")], [simple("o")]), join("j", "b"), simple("y")],
        "jye",
        "",
    ),
    "a later JOIN that names it": (
        [
            fork("f", [_child()], [simple("b")]),
            join("j", "b"),
            simple("y"),
            join("k", "s"),
            simple("z"),
        ],
        "jy",
        "kze",
    ),
    "a later JOIN in a loop": (
        [
            fork("f", [_child()], [simple("b")]),
            join("j", "b"),
            simple("y"),
            times("l", 1, join("k", "s")),
            simple("z"),
        ],
        "jy",
        "lkze",
    ),
    "the rest of its branch is named": (
        [fork("f", [_child(), simple("c")], [simple("b")]), join("j", "c"), simple("y")],
        "",
        "cjye",
    ),
    "the rest of its branch is not named": (
        [fork("f", [_child(), simple("c")], [simple("b")]), join("j", "b"), simple("y")],
        "jye",
        "c",
    ),
    "it is named, and the rest of its branch is not": (
        [fork("f", [_child(), simple("c")], [simple("b")]), join("j", "s"), simple("y")],
        "",
        "cjye",
    ),
    "a fork in a fork": (
        [
            fork(
                "f",
                [fork("g", [_child()], [simple("b")]), join("k", "b"), simple("c")],
                [simple("d")],
            ),
            join("j", "c", "d"),
            simple("y"),
        ],
        "kcjye",
        "",
    ),
    "a fork in a fork, named outside": (
        [
            fork("f", [fork("g", [_child()], [simple("b")]), join("k", "b")], [simple("d")]),
            join("j", "k", "s", "d"),
            simple("y"),
        ],
        "k",
        "jye",
    ),
    "a JOIN of two forks": (
        [fork("f", [fork("g", [_child()], [simple("b")])], [simple("d")]), join("j", "s", "d")],
        "",
        "je",
    ),
    "a JOIN behind the choice that ends with the fork": (
        [
            switch("h", "a", {"a": [fork("g", [_child()], [simple("b")])]}),
            join("j", "s", "b"),
            simple("y"),
        ],
        "",
        "jye",
    ),
    "a loop, which ends after all in it": (
        [times("l", 1, fork("f", [_child()], [simple("b")]), join("j", "b")), simple("y")],
        "j",
        "lye",
    ),
    "a loop in a branch": (
        [fork("f", [times("l", 1, _child())], [simple("b")]), join("j", "s", "b"), simple("y")],
        "",
        "ljye",
    ),
}


@pytest.mark.parametrize("over", [True, False])
@pytest.mark.parametrize("case", _CASES)
def test_what_stands_behind_a_child_that_runs_again_waits_for_it_where_a_join_names_it(
    engine: MemoryEngine, case: str, over: bool
) -> None:
    tasks, at_once, after = _CASES[case]
    root = engine.start(workflow("w", *tasks, simple("e")))
    engine.settle()
    _work(engine, *"xbcdyz", *("eo" * over))
    assert status_of(engine, root) == ("COMPLETED" if over else "RUNNING")
    before = _ids(engine, root)
    child = task_of(engine, root, "s__1" if "s__1" in before else "s")["subWorkflowId"]
    engine.engine.recovery.rerun(child, RerunRequest(from_ref="x"))
    _work(engine, *"bcdyz")
    assert _anew(before, _ids(engine, root, "COMPLETED", "SCHEDULED")) == set(at_once)
    _work(engine, *"xbcdyzeo")
    assert status_of(engine, root) == "COMPLETED"
    last = _ids(engine, root)
    assert last.keys() == before.keys() | {"e"}
    assert _anew(before, last) == {"s", *at_once, *after}


def _ids(engine: MemoryEngine, root: str, *statuses: str) -> dict[str, str]:
    """The task that counts for each reference, of those in these states."""
    return {
        task["referenceTaskName"]: task["taskId"]
        for task in engine.workflow(root)["tasks"]
        if not task.get("retried") and task["status"] in (statuses or {task["status"]})
    }


def _anew(before: dict[str, str], now: dict[str, str]) -> set[str]:
    return {ref.partition("__")[0] for ref, task in now.items() if before.get(ref) != task}
