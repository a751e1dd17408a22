"""Tasks that stand in no queue: those that wait for somebody, whose place a mock can take, and
those that the engine carries out by itself, before anybody could.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from conductor_py.adapters.memory.space import Execution, MemorySpace
from conductor_py.codec.execution import load_attempt
from conductor_py.decider.operators import OPERATORS
from conductor_py.decider.operators.system import TYPES
from conductor_py.errors import ConfigurationError
from conductor_py.model.execution import Attempt
from conductor_py.model.ids import task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus
from conductor_py.records import dataclass, field
from conductor_py.testing.mocks import Mocks

WAITING: Final = frozenset({"HUMAN", "PULL_WORKFLOW_MESSAGES", "WAIT"})
"""Types that stand open until somebody, or the time, ends them."""
QUEUED: Final = frozenset(TYPES)
"""Types that a system-task worker carries out."""
BY_ITSELF: Final = frozenset({*OPERATORS, "FORK"}) - WAITING - QUEUED
"""Types that nobody but the engine carries out."""

_INSTEAD: Final = "Give it the input that leads to the output that you want."
_INSTEAD_OF: Final = {
    "EVENT": "Mock the tasks of the workflows that it starts.",
    "START_WORKFLOW": "Mock the tasks of the workflow that it starts.",
    "SUB_WORKFLOW": "Mock the tasks of its child, or register a smaller child by that name.",
}


def refuse_type(name: str) -> None:
    """Refuse a mock for a type that only the engine carries out (``ConfigurationError``)."""
    if name in BY_ITSELF:
        raise ConfigurationError(f"mock of {name}: {_refusal(name)}")


@dataclass(slots=True, eq=False)
class Standing:
    """Finds what waits for somebody. What has ended, or is the engine's own, is looked at once."""

    _seen: dict[str, set[str]] = field(default_factory=dict)

    def waiting(self, space: MemorySpace, mocks: Mocks, read: Callable[[str], Any]) -> list[str]:
        """List the ids of the tasks that wait for somebody; ``read`` reads a task in wire form.

        Raises ``ConfigurationError`` where a mock is meant for a task of the engine's own.
        """
        with space.lock:
            found = [
                (execution, attempt)
                for partition in space.partitions
                for execution in partition.executions.values()
                for attempt in self._unseen(execution)
            ]
        for execution, attempt in found:
            if attempt.type in BY_ITSELF and attempt.status is not TaskStatus.SKIPPED:
                _refuse_mock(mocks, attempt, read(task_id(execution.id, attempt.seq)))
            if attempt.type in BY_ITSELF or not attempt.open:
                self._seen.setdefault(execution.id, set()).add(f"a:{attempt.seq}")
        return [
            task_id(execution.id, attempt.seq)
            for execution, attempt in found
            if _waits(execution, attempt)
        ]

    def _unseen(self, execution: Execution) -> list[Attempt]:
        seen = self._seen.get(execution.id, set())
        return [
            load_attempt(int(name[2:]), stored)
            for name, stored in execution.fields.items()
            if name.startswith("a:") and name not in seen
        ]


def _waits(execution: Execution, attempt: Attempt) -> bool:
    """Whether it is open now: not put off, and not of a run that is over."""
    current = not execution.terminal and attempt.generation == execution.generation
    standing = attempt.type in WAITING and not attempt.queue and not attempt.start_at
    return current and standing and attempt.open


def _refuse_mock(mocks: Mocks, attempt: Attempt, task: JsonObject) -> None:
    node = task.get("workflowTask")
    name = node.get("name") if isinstance(node, dict) else None
    for each in (attempt.ref, name):
        if each in mocks.by_name:
            raise ConfigurationError(
                f"mock of {each}: task {attempt.ref} is of type {attempt.type}, and"
                f" {_refusal(attempt.type)}"
            )


def _refusal(type_: str) -> str:
    instead = _INSTEAD_OF.get(type_, _INSTEAD)
    return f"the engine carries {type_} tasks out by itself; nothing stands in for them. {instead}"
