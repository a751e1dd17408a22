"""Brings executions to their end in steps that are the same on either server: one task of a worker
at a time, the first by name, when nothing else moves any more.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conductor_py.testing.author import WORKER
from tests.beside_java.server import Conductor, Json
from tests.waiting import until

_OPEN: Final = {"SCHEDULED", "IN_PROGRESS"}
_RUNNING: Final = {"RUNNING", "PAUSED"}
#: How long nothing may have moved until the next task is ended, and until it is given up.
_QUIET_S: Final = 0.5
_STUCK_S: Final = 12.0
_PATIENCE_S: Final = 600.0


@dataclass(slots=True)
class Tree:
    """An execution with its children, as they were seen last."""

    root: Json
    children: dict[str, "Tree"] = field(default_factory=dict)

    def executions(self) -> Iterator[Json]:
        yield self.root
        for child in self.children.values():
            yield from child.executions()

    def tasks(self) -> Iterator[Json]:
        for execution in self.executions():
            yield from execution["tasks"]


@dataclass(slots=True)
class _Driven:
    workflow_id: str
    seen: Any = None
    since: float = 0.0
    tree: Tree | None = None


def tree(server: Conductor, workflow_id: str) -> Tree:
    """Read it whole."""
    root = server.execution(workflow_id)
    children = {
        task["taskId"]: tree(server, task["subWorkflowId"])
        for task in root["tasks"]
        if task.get("subWorkflowId")
    }
    return Tree(root, children)


def driven(server: Conductor, ids: Mapping[int, str], *, healed: bool = False) -> dict[int, Tree]:
    """All of them, ended, or stuck; once ``healed`` no task fails any more."""
    left = {key: _Driven(workflow_id) for key, workflow_id in ids.items()}
    ended: dict[int, Tree] = {}

    def all_ended() -> bool:
        for key, one in list(left.items()):
            if _stepped(server, one, healed=healed):
                del left[key]
                assert one.tree is not None
                ended[key] = one.tree
        return not left

    until(all_ended, timeout_s=_PATIENCE_S)
    return ended


def _stepped(server: Conductor, one: _Driven, *, healed: bool) -> bool:
    """Look at it, end a task when nothing moves; whether it is over."""
    one.tree = tree(server, one.workflow_id)
    seen = [
        (each["status"], [(task["taskId"], task["status"]) for task in each["tasks"]])
        for each in one.tree.executions()
    ]
    now = time.monotonic()
    if seen != one.seen:
        one.seen, one.since = seen, now
        return False
    if now - one.since < _QUIET_S:
        return False
    waiting = [task for task in one.tree.tasks() if task["status"] in _OPEN]
    if all(each["status"] not in _RUNNING for each in one.tree.executions()):
        return True
    timed = [task for task in waiting if task["taskType"] == "WAIT"]
    mine = [task for task in waiting if task["taskType"] in (WORKER, "HUMAN")]
    if mine and not timed:
        next_ = min(mine, key=lambda task: (task["referenceTaskName"], task["retryCount"]))
        _end(server, next_, healed=healed)
        one.seen = None
        return False
    return now - one.since > _STUCK_S


def _end(server: Conductor, task: Json, *, healed: bool) -> None:
    """What the worker does: what the input of the task says, or what is right."""
    given = task["inputData"]
    output = {"v": given.get("v"), "ref": task["referenceTaskName"]}
    if healed or task["taskType"] == "HUMAN":
        server.finish(task, "COMPLETED", output)
        return
    failed = task["retryCount"] < given.get("failures", 0)
    status = "FAILED" if failed else given.get("outcome", "COMPLETED")
    answer = server.finish(
        task, status, output, None if status == "COMPLETED" else "as it was told"
    )
    assert answer.status == 200, answer
