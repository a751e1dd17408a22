"""Steering: the verbs that act on an execution under way, and those that take one away.

Each is one operation, carried out by a decision of the execution itself; what stands in the archive
has ended and is refused as such.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.executions.idempotency import release_key
from conductor_py.errors import ConductorError, Conflict, NotFound, StoreUnavailable
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.status import TaskStatus
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.search import Search

_LOG = logging.getLogger(__name__)
_PIECE: Final = 500
CarryOut = Callable[[int, Sequence[str]], int]
"""Carry out effects of a partition now; they are carried out later all the same when it fails."""


class Steering:
    """Pause, resume, skip, change, look at now, remove."""

    def __init__(
        self,
        *,
        executions: Executions,
        operations: Operations,
        executor: Executor,
        reader: ExecutionReader,
        search: Search,
        carry_out: CarryOut,
        left: Callable[[str], None],
    ) -> None:
        """Work over these collaborators; ``left`` hears of executions that are gone for good."""
        self._executions = executions
        self._operations = operations
        self._executor = executor
        self._reader = reader
        self._search = search
        self._carry_out = carry_out
        self._left = left

    def pause(self, execution: str) -> None:
        """Open nothing new from now on: ``Conflict`` when it has ended, ``NotFound``."""
        self._operate(execution, "pause", {})

    def resume(self, execution: str) -> None:
        """Go on: ``Conflict`` when it is not paused, ``NotFound``."""
        self._operate(execution, "resume", {})

    def skip(
        self, execution: str, ref: str, *, task_input: JsonObject, task_output: JsonObject
    ) -> None:
        """Pass over a task that has not been scheduled: ``Conflict`` when it has been or the
        execution does not run, ``InvalidInput`` for an unknown reference, ``NotFound``.
        """
        arguments: JsonObject = {"ref": ref, "taskInput": task_input, "taskOutput": task_output}
        self._operate(execution, "skip", arguments)

    def set_variables(self, execution: str, variables: JsonObject) -> JsonObject:
        """Merge workflow variables, and answer the execution: ``Conflict`` when it has ended,
        ``PayloadTooLarge``, ``NotFound``.
        """
        self._operate(execution, "variables", {"variables": variables})
        return self._executions.document(execution, include_tasks=True)

    def reset_callbacks(self, execution: str) -> None:
        """Offer at once what workers put off: ``Conflict`` when it has ended, ``NotFound``."""
        self._operations.target(execution)
        view = self._executions.view(execution)
        seqs = [
            task.attempt.seq
            for task in (view.tasks if view is not None else ())
            if task.attempt.status is TaskStatus.SCHEDULED and task.attempt.callback_after_s
        ]
        for first in range(0, max(len(seqs), 1), _PIECE):
            self._operate(execution, "reset_callbacks", {"seqs": seqs[first : first + _PIECE]})

    def decide(self, execution: str) -> None:
        """Decide now on what is owed to an execution (``NotFound``)."""
        target = self._operations.target(execution)
        self._executions.document(execution, include_tasks=False)
        self._executor.follow([target])

    def remove(self, execution: str, *, archive: bool) -> None:
        """Take an execution out of the store. With ``archive`` it must have ended
        (``InvalidInput``) and stays readable; without, it is terminated when it has not ended, and
        leaves no trace. ``NotFound``.
        """
        target = self._operations.target(execution)
        if not self._operations.carry_out(execution, "remove", {"archive": archive}):
            self._remove_archived(target, archive=archive)
            return
        kinds = ("index", "remove") if archive else ("forget",)
        self._now(target, [f"{target}:{kind}" for kind in kinds])

    def _remove_archived(self, execution: ExecutionId, *, archive: bool) -> None:
        version = self._search.archived_version(execution)
        if version is None:
            raise NotFound(f"No such workflow found by id: {execution}")
        if archive:
            return
        kept = self._search.kept(execution)
        # Not what is newer: somebody may be bringing it back just now.
        if not self._search.delete(execution, version):
            raise StoreUnavailable("Somebody is bringing it back from the archive; try again.")
        if not self._reader.cancel_restore(execution):
            self.remove(execution, archive=False)  # brought back from what is deleted
            return
        release_key(self._reader, execution, kept=kept.document if kept else None)
        self._left(execution)

    def _now(self, execution: ExecutionId, effects: Sequence[str]) -> None:
        """What is ordered is durable; only that it is seen at once is not promised."""
        try:
            for effect in effects:
                self._carry_out(partition_of(execution), [effect])
        except ConductorError:
            _LOG.warning(
                "A removal is accepted and carried out later",
                extra={"action": "remove_later", "workflow_id": execution},
            )

    def _operate(self, execution: str, name: str, arguments: Mapping[str, JsonValue]) -> None:
        if self._operations.carry_out(execution, name, arguments):
            return
        status = self._executions.document(execution, include_tasks=False)["status"]
        raise Conflict(f"Workflow {execution} is {status} and archived, it has ended.")
