"""An execution as a tree: tasks below the task that holds them, each once, with its newest try in
its newest iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conductor_py.cli.execution_view import task_type
from conductor_py.cli.printing import clipped, duration, objects
from conductor_py.model.status import TaskStatus
from conductor_py.records import dataclass, field

Document = Mapping[str, Any]

ENDED_WELL: Final = frozenset(each.value for each in TaskStatus if each.successful)
ENDED_BADLY: Final = frozenset(each.value for each in TaskStatus if each.terminal) - ENDED_WELL
_REASON: Final = "reasonForIncompletion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One task: how deep it stands, its status, what is said before and behind that."""

    depth: int
    status: str
    before: str
    behind: str

    @property
    def ended(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.status in ENDED_WELL or self.status in ENDED_BADLY


@dataclass(slots=True)
class _Node:
    task: Document
    tries: int = 1
    below: list[_Node] = field(default_factory=list)


def lines(found: Document, children: Mapping[str, Document], now_ms: float) -> list[Line]:
    """Draw the tasks of an execution, in the order of their beginning; below a sub-workflow the
    tasks of the execution that ``children`` has of it. Times are as at ``now_ms`` (epoch ms).
    """
    return list(_drawn(_nodes(found), children, now_ms, 0))


def shortened(drawn: list[Line], most: int) -> list[Line]:
    """Leave out what has ended well, and then what stands last, until there are at most so many
    lines; the last one says how many are left out.
    """
    if len(drawn) <= most:
        return drawn
    left = [line for line in drawn if not line.ended or line.status in ENDED_BADLY]
    kept = left[: max(most - 1, 0)]
    note = Line(depth=0, status="", before=f"… {len(drawn) - len(kept)} more, not shown", behind="")
    return [*kept, note]


def _nodes(found: Document) -> list[_Node]:
    """The tasks that stand in no other, with those below them."""
    holders = _holders(found)
    roots: list[_Node] = []
    by_reference: dict[str, _Node] = {}
    newest_fork: str | None = None
    for task in objects(found.get("tasks")):
        reference = _defined(task)
        known = by_reference.get(reference)
        if known is not None:
            is_same = known.task.get("iteration") == task.get("iteration")
            known.task, known.tries = task, known.tries + 1 if is_same else 1
            continue
        node = by_reference[reference] = _Node(task)
        if reference not in holders:  # a dynamic fork has brought it in
            _hold([{**_definition(task), "taskReferenceName": reference}], newest_fork, holders)
        holder = by_reference.get(holders[reference] or "")
        (roots if holder is None else holder.below).append(node)
        if _definition(task).get("type") == "FORK_JOIN_DYNAMIC":
            newest_fork = reference
    return roots


def _holders(found: Document) -> dict[str, str | None]:
    """For each task of the definition, by reference, the task that it stands in."""
    definition = found.get("workflowDefinition")
    held: dict[str, str | None] = {}
    tasks = definition.get("tasks") if isinstance(definition, dict) else None
    _hold(objects(tasks), None, held)
    return held


def _hold(tasks: list[dict[str, Any]], holder: str | None, held: dict[str, str | None]) -> None:
    for task in tasks:
        reference = str(task.get("taskReferenceName"))
        held[reference] = holder
        branches = task.get("forkTasks")
        cases = task.get("decisionCases")
        for inner in (
            task.get("loopOver"),
            task.get("defaultCase"),
            *(branches if isinstance(branches, list) else ()),
            *(cases.values() if isinstance(cases, dict) else ()),
        ):
            _hold(objects(inner), reference, held)


def _definition(task: Document) -> dict[str, Any]:
    defined = task.get("workflowTask")
    return defined if isinstance(defined, dict) else {}


def _defined(task: Document) -> str:
    """The reference of a task in the definition, without the number of an iteration."""
    name = _definition(task).get("taskReferenceName")
    return str(name or str(task.get("referenceTaskName")).partition("__")[0])


def _drawn(
    nodes: list[_Node], children: Mapping[str, Document], now_ms: float, depth: int
) -> Iterator[Line]:
    for node in nodes:
        yield _line(node, now_ms, depth)
        child = children.get(str(node.task.get("subWorkflowId") or ""))
        yield from _drawn(node.below, children, now_ms, depth + 1)
        if child is not None:
            yield from _drawn(_nodes(child), children, now_ms, depth + 1)


def _line(node: _Node, now_ms: float, depth: int) -> Line:
    task = node.task
    status = clipped(task.get("status"))
    said = [_took(task, now_ms)]
    if node.tries > 1:
        said.append(f"try {node.tries}")
    if task.get("iteration"):
        said.append(f"iteration {clipped(task['iteration'])}")
    if status not in ENDED_WELL and task.get(_REASON):
        said.append(clipped(task[_REASON], 200))
    return Line(
        depth=depth,
        status=status,
        before=f"{clipped(task.get('referenceTaskName'))}  {task_type(task)}",
        behind="  ".join(filter(None, said)),
    )


def _took(task: Document, now_ms: float) -> str:
    """How long a task has run, or waits for its worker."""
    began, ended = task.get("startTime"), task.get("endTime")
    if not isinstance(began, int | float) or not began:
        return ""
    until = ended if isinstance(ended, int | float) and ended else now_ms
    return duration(max(until - began, 0) / 1000)
