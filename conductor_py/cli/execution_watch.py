"""Watching an execution until it ends: on a terminal a tree that is drawn anew, elsewhere a line
for each task, once it has ended.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from conductor_py.cli.execution_tree import (
    ENDED_BADLY,
    ENDED_WELL,
    Document,
    Line,
    lines,
    shortened,
)
from conductor_py.cli.execution_view import is_open
from conductor_py.cli.printing import clipped, moment, objects, print_json, prints_lines, say
from conductor_py.model.json import JsonObject
from conductor_py.model.status import WorkflowStatus
from conductor_py.records import dataclass, field
from conductor_py.sdk.client import Client

#: Between two looks.
PAUSE_S = 1.0
_MOST_CHILDREN: Final = 20
_FAILED: Final = frozenset(each.value for each in WorkflowStatus if each.terminal) - {
    WorkflowStatus.COMPLETED.value
}
_REASON: Final = "reasonForIncompletion"


def watch(conductor: Client, workflow_id: str) -> JsonObject:
    """Show what becomes of an execution on standard error, and return it when it has ended. With
    ``--jsonl`` each task that ends is a line of JSON on standard output instead.
    """
    try:
        if prints_lines():
            return _told_in_json(conductor, workflow_id)
        if sys.stderr.isatty():
            return _drawn(conductor, workflow_id)
        return _told(conductor, workflow_id)
    except KeyboardInterrupt:
        say(f"{workflow_id} goes on.", err=True)
        raise


def exit_code(status: object) -> int:
    """What a command that waited for an execution ends with: 1 when it has not done its work."""
    return 1 if status in _FAILED else 0


# -- on a terminal ---------------------------------------------------------------------------------


def _drawn(conductor: Client, workflow_id: str) -> JsonObject:
    console = Console(stderr=True, highlight=False)
    looks = _Looks(conductor)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            found = looks.at(workflow_id)
            room = console.height - 2 if is_open(found) else sys.maxsize
            drawn = lines(found, looks.children, time.time() * 1000)
            live.update(_page(found, shortened(drawn, room)), refresh=True)
            if not is_open(found):
                return found
            time.sleep(PAUSE_S)


@dataclass(slots=True)
class _Looks:
    """Looks at an execution, and at the sub-workflows below it; at those that have ended once."""

    conductor: Client
    children: dict[str, JsonObject] = field(default_factory=dict)

    def at(self, workflow_id: str) -> JsonObject:
        """Look once."""
        found = self.conductor.get_workflow(workflow_id)
        wanted = deque(_sub_workflows(found))
        for _ in range(_MOST_CHILDREN):
            if not wanted:
                break
            child = wanted.popleft()
            known = self.children.get(child)
            if known is None or is_open(known):
                known = self.children[child] = self.conductor.get_workflow(child)
            wanted += _sub_workflows(known)
        return found


def _sub_workflows(found: Document) -> Iterator[str]:
    for task in objects(found.get("tasks")):
        if task.get("subWorkflowId"):
            yield str(task["subWorkflowId"])


def _page(found: Document, drawn: list[Line]) -> Group:
    head = Text(f"{clipped(found.get('workflowName'))}  {clipped(found.get('workflowId'))}  ")
    head.append(_status(clipped(found.get("status"))))
    return Group(head, *map(_row, drawn))


def _row(line: Line) -> Text:
    row = Text("  " * (line.depth + 1) + line.before + "  ", no_wrap=True, overflow="ellipsis")
    row.append(_status(line.status))
    row.append(f"  {line.behind}" if line.behind else "")
    return row


def _status(status: str) -> Text:
    if status in ENDED_WELL:
        return Text(status, "green")
    if status in ENDED_BADLY or status in _FAILED:
        return Text(status, "bold red")
    return Text(status, "yellow")


# -- elsewhere -------------------------------------------------------------------------------------


def _newly_ended(found: JsonObject, told: set[str]) -> Iterator[tuple[Document, Line]]:
    """The tasks that have ended and were not ``told``, which they are then."""
    for task in objects(found.get("tasks")):
        (line,) = lines({"tasks": [task]}, {}, 0)
        if line.ended and (key := str(task.get("taskId"))) not in told:
            told.add(key)
            yield task, line


def _told_in_json(conductor: Client, workflow_id: str) -> JsonObject:
    told: set[str] = set()
    while True:
        found = conductor.get_workflow(workflow_id)
        for task, _ in _newly_ended(found, told):
            print_json(task)
        if not is_open(found):
            return found
        time.sleep(PAUSE_S)


def _told(conductor: Client, workflow_id: str) -> JsonObject:
    told: set[str] = set()
    standing = ""
    while True:
        found = conductor.get_workflow(workflow_id)
        for task, line in _newly_ended(found, told):
            parts = (moment(task.get("endTime")), line.before, line.status, line.behind)
            say("  ".join(filter(None, parts)), err=True)
        if (status := clipped(found.get("status"))) != standing:
            standing = status
            reason = clipped(found.get(_REASON), 200)
            say(f"{moment(found.get('updateTime'))}  {status}  {reason}".rstrip(), err=True)
        if not is_open(found):
            return found
        time.sleep(PAUSE_S)
