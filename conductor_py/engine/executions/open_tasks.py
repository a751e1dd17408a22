"""Open tasks of a type, in all executions that have not ended: listed, and put back into their
queue. Read from the store itself, whatever the index knows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import Final, TypeVar

from conductor_py.engine.decisions.operations import Operations
from conductor_py.errors import (
    ConductorError,
    Conflict,
    NotFound,
    StoreDamaged,
    StoreUnavailable,
)
from conductor_py.model.ids import ExecutionId, is_execution_id, split_task_id, task_id
from conductor_py.model.json import JsonObject
from conductor_py.ports.inspector import Inspector, OpenAttempt

_LOG = logging.getLogger(__name__)
_PAGE: Final = 10_000
"""Keys of a store, or members of a list of what runs, that are looked at in one step."""
_EXECUTIONS: Final = 100
_PIECE: Final = 500

_T = TypeVar("_T")
ReadTask = Callable[[str], JsonObject]
"""Read a task in wire form by its id; ``NotFound``."""


class OpenTasks:
    """Finds open tasks, and frees those that a dead worker has."""

    def __init__(self, inspector: Inspector, operations: Operations, read_task: ReadTask) -> None:
        """Find through ``inspector``."""
        self._inspector = inspector
        self._operations = operations
        self._read_task = read_task

    def page(self, task_type: str, *, start: int, count: int) -> tuple[JsonObject, ...]:
        """List open tasks of a type as they are now, those of the oldest execution first."""
        documents = (self._document(found) for found in self._of_type(task_type))
        known = (document for document in documents if document is not None)
        return tuple(islice(known, start, start + count))

    def requeue(self, task: str) -> None:
        """Take a task from the worker that has it, and offer it again; ``Conflict`` when no worker
        has it, ``NotFound``.
        """
        execution, seq = split_task_id(task)
        arguments: JsonObject = {"seqs": [seq], "strict": True}
        if not self._operations.carry_out(execution, "requeue", arguments):
            status = self._read_task(task)["status"]
            raise Conflict(f"Task {task} is {status} and archived; only an open task is requeued")

    def requeue_all(self, task_type: str) -> int:
        """Do so with all tasks of a type that workers have; returns how many are in their queue
        then, with those that were there before. What is in the way of one execution is raised
        when all others are done; one that cannot be read is passed over, as an audit names it.
        """
        queued, refused = 0, None
        found = self._of_type(task_type)
        for execution, attempts in groupby(found, key=attrgetter("execution")):
            open_ = [attempt for attempt in attempts if attempt.queued]
            held = [attempt.seq for attempt in open_ if attempt.held]
            try:
                if self._freed(execution, held):
                    queued += len(open_)
            except ConductorError as error:
                if isinstance(error, StoreDamaged):
                    _tell(execution, error)
                else:
                    refused = refused or error
            except Exception as broken:  # noqa: BLE001 - whatever a damaged one raises costs it alone
                _tell(execution, broken)
        if refused is not None:
            raise refused
        return queued

    def _freed(self, execution: ExecutionId, held: Sequence[int]) -> bool:
        """Take tasks of one execution from their workers; false when it is gone."""
        pieces = (held[first : first + _PIECE] for first in range(0, len(held), _PIECE))
        return all(
            self._operations.carry_out(execution, "requeue", {"seqs": list(piece)})
            for piece in pieces
        )

    def _document(self, found: OpenAttempt) -> JsonObject | None:
        try:
            return self._read_task(task_id(found.execution, found.seq))
        except NotFound:
            return None
        except StoreUnavailable:
            raise
        except Exception as broken:  # noqa: BLE001 - whatever a damaged one raises costs it alone
            _tell(found.execution, broken)
            return None

    def _of_type(self, task_type: str) -> Iterator[OpenAttempt]:
        running = self._running()
        for first in range(0, len(running), _EXECUTIONS):
            page = running[first : first + _EXECUTIONS]
            yield from self._inspector.open_attempts(page, task_type)

    def _running(self) -> list[ExecutionId]:
        """Every execution that has not ended, oldest first."""
        since: dict[str, int] = {}
        for key in _pages(self._inspector.walk):
            if key.kind == "running:":
                since |= dict(_pages(partial(self._inspector.members, key)))
        known = (ExecutionId(one) for one in since if is_execution_id(one))
        return sorted(known, key=lambda one: (since[one], one))


def _tell(execution: ExecutionId, broken: Exception) -> None:
    _LOG.warning(
        "An execution cannot be read; its open tasks are passed over",
        extra={
            "action": "tasks_unreadable",
            "workflow_id": execution,
            "error": f"{type(broken).__name__}: {broken}"[:200],
        },
    )


def _pages(read: Callable[[str, int], tuple[tuple[_T, ...], str]]) -> Iterator[_T]:
    page, cursor = read("", _PAGE)
    yield from page
    while cursor:
        page, cursor = read(cursor, _PAGE)
        yield from page
