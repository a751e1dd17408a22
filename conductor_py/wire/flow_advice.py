"""Expressions that find nothing, whatever happens: they read a task that cannot have begun, or a
member that is not there.

What may have run is not doubted: a case that was perhaps not taken, a branch that runs beside, in a
loop what an iteration before has left, and what a dynamic fork brings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from conductor_py.errors import Violation
from conductor_py.model.definitions import WorkflowDef, WorkflowTask, children_of
from conductor_py.model.json import JsonObject
from conductor_py.model.parameters import ROOTS, TASK_MEMBERS, WORKFLOW_MEMBERS
from conductor_py.model.upstream import ranks_of
from conductor_py.records import dataclass
from conductor_py.wire.fields import texts_in
from conductor_py.wire.likeness import LIKENESS, nearest

_READ: Final = re.compile(
    r"(?<!\$)\$\{\s{0,9}([^.\[\]{}$\s]{1,200}+)(?=\s{0,9}[.\[}])"
    r"(?:\.([A-Za-z_]\w{0,99}+)(?=[.\[}]))?",
    re.ASCII,
)
_DYNAMIC: Final = frozenset({"FORK_JOIN_DYNAMIC", "DYNAMIC"})
_CHOICES: Final = frozenset({"SWITCH", "DECISION"})
_NOT_OF_THE_FLOW: Final = frozenset({"cacheConfig", "onStateChange"})
"""The key of a cache reads the task's own input; a change of state may be told of late."""
_UNREAD: Final = frozenset({"JOIN", "EXCLUSIVE_JOIN", "NOOP", "CONDITIONS"})
"""Types whose input stays as it is written."""
_MOST_SEARCHED: Final = 30
"""References of a DAG whose ways are looked at: each may be as long as the DAG."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One list on the way to a task: whose it is, which one, and the place in it."""

    holder: str
    type: str
    body: str
    index: int


_Stand = tuple[_Step, ...]


def flow_advice(definition: WorkflowDef, root: str) -> Iterator[Violation]:
    """List such expressions in the tasks and the output of a definition."""
    flow = _Flow(definition)
    for path, task in flow.tasks:
        beside = {k: v for k, v in task.read_beside_input.items() if k not in _NOT_OF_THE_FLOW}
        given: JsonObject = {} if task.type in _UNREAD else task.input_parameters
        for where, value in ((".inputParameters", given), ("", beside)):
            yield from flow.looked_at(value, f"{root}{path}{where}", task)
    yield from flow.looked_at(definition.output_parameters, f"{root}.outputParameters", None)


class _Flow:
    """Where the tasks of a definition stand to each other."""

    def __init__(self, definition: WorkflowDef) -> None:
        self.tasks: list[tuple[str, WorkflowTask]] = []
        self._stands: dict[str, _Stand] = {}
        self._place(definition.tasks, (), _Step("", "", ".tasks", 0))
        self._is_open = any(task.type in _DYNAMIC for _, task in self.tasks)
        self._names = [task.task_reference_name for task in definition.tasks]
        self._after: dict[str, list[str]] = {}
        self._behind: dict[str, set[str]] = {}
        before: dict[str, list[str]] = {name: [] for name in self._names}
        for relation in definition.relations:
            if relation.pre_task and relation.post_task in before:
                self._after.setdefault(relation.pre_task, []).append(relation.post_task)
                before[relation.post_task].append(relation.pre_task)
        named = {name: tuple(names) for name, names in before.items()}
        self._ranks = ranks_of(named) if definition.relations else {}

    def looked_at(
        self, value: JsonObject, path: str, reader: WorkflowTask | None
    ) -> Iterator[Violation]:
        for where, text in texts_in(value, path) if value else ():
            for name, member in dict.fromkeys(_READ.findall(text)) if "${" in text else ():
                wrong = self._wrong(name, member, reader)
                if wrong is not None:
                    yield Violation(path=where, message=wrong, invalid_value=text[:200])

    def _place(self, tasks: tuple[WorkflowTask, ...], above: _Stand, of: _Step) -> None:
        """Note the stands of a list and of all below it; ``of`` is its step, but for the index."""
        for index, task in enumerate(tasks):
            stand = (*above, _Step(of.holder, of.type, of.body, index))
            path = f"{of.body}[{index}]"
            self.tasks.append((path, task))
            self._stands[task.task_reference_name] = stand
            for inner, body in children_of(task):
                below = _Step(task.task_reference_name, task.type, path + inner, 0)
                self._place(body, stand, below)

    def _wrong(self, name: str, member: str, reader: WorkflowTask | None) -> str | None:
        if name not in self._stands:
            if name in ROOTS:
                return _stranger(name, member, WORKFLOW_MEMBERS) if name == "workflow" else None
            if self._is_open:
                return None
            return f"refers to '{name}', which is no task of this workflow: it is null"
        late = self._late(reader, name) if reader is not None else None
        return late or _stranger(name, member, TASK_MEMBERS)

    def _late(self, reader: WorkflowTask, name: str) -> str | None:
        """Say why a task finds nothing under the reference of another."""
        own, other = self._stands[reader.task_reference_name], self._stands[name]
        pairs = enumerate(zip(own, other, strict=False))
        depth = next((n for n, (mine, its) in pairs if mine != its), None)
        shared = own if depth is None else own[: depth + 1]
        if any(step.type == "DO_WHILE" for step in shared):
            return None
        if depth is None:
            is_within = len(own) < len(other) and reader.type != "DO_WHILE"
            return _later(name, f"stands in {reader.task_reference_name}") if is_within else None
        mine, its = own[depth], other[depth]
        if mine.body == its.body:
            is_first = self._leads(mine, its) if depth == 0 else mine.index < its.index
            return _later(name, "runs later") if is_first else None
        if mine.type in _CHOICES:
            return _later(name, f"stands in another case of {mine.holder}, and never both run")
        return None

    def _leads(self, first: _Step, last: _Step) -> bool:
        """Whether one task on top comes before another; ``False`` where too much would have to be
        searched.
        """
        if not self._ranks:
            return first.index < last.index
        start, end = self._names[first.index], self._names[last.index]
        if self._ranks.get(start, 0) > self._ranks.get(end, 0):
            return False
        if start not in self._behind and len(self._behind) < _MOST_SEARCHED:
            self._behind[start] = self._all_behind(start)
        return end in self._behind.get(start, ())

    def _all_behind(self, start: str) -> set[str]:
        found: set[str] = set()
        pending = [start]
        while pending:
            for name in self._after.get(pending.pop(), ()):
                if name not in found:
                    found.add(name)
                    pending.append(name)
        return found


def _later(name: str, why: str) -> str:
    return f"refers to '{name}', which {why}: it is null here"


def _stranger(name: str, member: str, known: frozenset[str]) -> str | None:
    if not member or member in known:
        return None
    near = nearest(member, sorted(known), LIKENESS)
    meant = f"did you mean {near}?" if near else f"there are {', '.join(sorted(known))}"
    return f"reads {member!r} of '{name}', which has no such member, so it is null; {meant}"
