"""Repairs: an operator has an execution looked at now, instead of when its timer says.

Whatever is owed to an execution is in its inbox or among its timers, so looking at it is the whole
repair.
"""

from __future__ import annotations

from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.executions.executions import Executions
from conductor_py.model.ids import ExecutionId
from conductor_py.model.view import ExecutionView


class Repairs:
    """Looks at single executions."""

    def __init__(self, executions: Executions, executor: Executor) -> None:
        """Work over these collaborators."""
        self._executions = executions
        self._executor = executor

    def sweep(self, execution: str) -> bool:
        """Decide what is owed to an execution; false when it has ended (``NotFound``)."""
        view = self._view(execution)
        if view is None:
            return False
        self._executor.follow([ExecutionId(execution)])
        return not view.header.status.terminal

    def verify(self, execution: str) -> bool:
        """Decide what is owed to an execution; whether anything was (``NotFound``)."""
        before = self._view(execution)
        if before is None:
            return False
        self._executor.follow([ExecutionId(execution)])
        after = self._view(execution)
        return after is not None and after.version != before.version

    def _view(self, execution: str) -> ExecutionView | None:
        """View it; ``None`` when it is in the archive, where nothing is owed to it."""
        view = self._executions.view(execution, include_tasks=False)
        if view is None:
            self._executions.document(execution, include_tasks=False)
        return view
