"""One execution of very many tasks: a loop of wide forks, which keeps few of its turns or all.

The cost of a task is compared with that in an execution of a single turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from benchmarks.figures import Figure
from benchmarks.machine import forget_peak, peak_resident_mb
from benchmarks.place import Place, work_off
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest

_PART: Final = "One execution of very many tasks, engine without HTTP"
_BRANCHES: Final = 1000
_NARROW: Final = 5
_PAGE: Final = 100
_LOOKS: Final = 20
_FORKED: Final[JsonObject] = {
    "tasks": [
        {"name": "branch", "taskReferenceName": f"b{number}", "type": "SIMPLE"}
        for number in range(_BRANCHES)
    ],
    "inputs": {},
}


def measure_wide(at: Place, tasks: int) -> list[Figure]:
    """Measure an execution of so many tasks that keeps two turns of its loop, and one that keeps
    all.
    """
    figures: list[Figure] = []
    for name, what, kept in (
        ("last", "of whose loop two turns are kept", 2),
        ("all", "all of them kept", None),
    ):
        loop = _loop(f"wide_{name}", kept)
        _run(at, loop, 1)
        narrow = min(_run(at, loop, 1)[0] for _ in range(_NARROW))
        while at.engine.relay.tick():
            pass  # what came before is archived, and costs nothing from here on
        forget_peak()
        before = at.bare.counters().memory
        wide, execution = _run(at, loop, tasks // _BRANCHES)
        held = (at.bare.counters().memory - before) / 1e6
        title = (
            f"{tasks:,} tasks, {what}: time of a task ({wide:.3g} ms) over one of {_BRANCHES:,}"
            f" ({narrow:.3g} ms)"
        )
        figures += _figures(name, title, wide / narrow, held)
        if kept is None:
            figures += _pages(at, execution, tasks, "scale_page", "it")
            figures += _archived(at, execution, tasks)
            figures += _pages(at, execution, tasks, "scale_page_archived", "it, archived")
    return figures


def _loop(name: str, kept: int | None) -> WorkflowDef:
    fork = {
        "name": "fork",
        "taskReferenceName": "fork",
        "type": "FORK_JOIN_DYNAMIC",
        "dynamicForkTasksParam": "tasks",
        "dynamicForkTasksInputParamName": "inputs",
        "inputParameters": {
            "tasks": "${workflow.input.tasks}",
            "inputs": "${workflow.input.inputs}",
        },
    }
    loop: dict[str, Any] = {
        "name": "loop",
        "taskReferenceName": "loop",
        "type": "DO_WHILE",
        "inputParameters": {"turns": "${workflow.input.turns}"},
        "evaluatorType": "value-param",
        "loopCondition": "if ($.loop['iteration'] < $.turns) { true; } else { false; }",
        "loopOver": [fork, {"name": "join", "taskReferenceName": "join", "type": "JOIN"}],
    }
    if kept is not None:
        loop["inputParameters"]["keepLastN"] = kept
    return workflow_from_json({"name": name, "tasks": [loop]})


def _run(at: Place, loop: WorkflowDef, turns: int) -> tuple[float, str]:
    """Run one to its end; milliseconds a task, and its id."""
    began = time.perf_counter()
    execution = at.engine.executions.start(
        StartRequest(name=loop.name, definition=loop, input={**_FORKED, "turns": turns})
    )
    work_off(at.engine, execution, "branch", turns * _BRANCHES, {})
    return (time.perf_counter() - began) * 1000 / (turns * _BRANCHES), execution


def _figures(name: str, title: str, growth: float, held: float) -> Iterator[Figure]:
    yield Figure(
        key=f"scale_{name}_time", part=_PART, title=title, value=growth, unit="x", target=1.5
    )
    yield Figure(
        key=f"scale_{name}_peak",
        part=_PART,
        title="most memory of this process meanwhile",
        value=peak_resident_mb(),
        unit="MB",
    )
    yield Figure(
        key=f"scale_{name}_held",
        part=_PART,
        title="memory of Redis for it at the end",
        value=held,
        unit="MB",
    )


def _archived(at: Place, execution: str, tasks: int) -> Iterator[Figure]:
    """Let it go into index and archive, and then leave the store."""
    forget_peak()
    began, reader = time.perf_counter(), at.engine.executions
    while not any(found["workflowId"] == execution for found in _found(at)):
        at.engine.relay.tick()
    spent_ms = (time.perf_counter() - began) * 1000
    while reader.view(execution, include_tasks=False) is not None:
        at.engine.relay.tick()
        time.sleep(0.1)
    yield Figure(
        key="scale_archive_time",
        part=_PART,
        title="time of a task of it until all are in the index and in the archive",
        value=spent_ms / tasks,
        unit="ms",
    )
    yield Figure(
        key="scale_archive_peak",
        part=_PART,
        title="most memory of this process until it has left Redis",
        value=peak_resident_mb(),
        unit="MB",
    )


def _found(at: Place) -> Sequence[JsonObject]:
    page = at.engine.executions.search(
        query="status=COMPLETED", free_text="*", sort="startTime:DESC", start=0, size=5
    )
    return page.results


def _pages(at: Place, execution: str, tasks: int, key: str, what: str) -> Iterator[Figure]:
    """Read pages from the first to the last."""
    forget_peak()
    slowest = 0.0
    for look in range(_LOOKS):
        first = (tasks - _PAGE) * look // (_LOOKS - 1)
        began = time.perf_counter()
        page = at.engine.executions.tasks(execution, start=first, count=_PAGE)
        slowest = max(slowest, (time.perf_counter() - began) * 1000)
        if len(page.results) != _PAGE:
            raise RuntimeError(f"the page at {first} has {len(page.results)} tasks")
    yield Figure(
        key=key,
        part=_PART,
        title=f"slowest of {_LOOKS} pages of {_PAGE} tasks of {what}",
        value=slowest,
        unit="ms",
    )
    yield Figure(
        key=f"{key}_peak",
        part=_PART,
        title="most memory of this process meanwhile",
        value=peak_resident_mb(),
        unit="MB",
    )
