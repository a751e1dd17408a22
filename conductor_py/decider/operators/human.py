"""HUMAN: open until somebody reports on it, or until the timeout of its task definition.

Its input passes through as it is resolved, ``__humanTaskDefinition`` and the like included: what
they mean is a matter of the interface that shows the task.
"""

from __future__ import annotations

from conductor_py.decider import control, scheduling, timeouts
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Open it and arm its timeout, if it has one."""
    attempt = control.create(
        ws,
        spot,
        type_="HUMAN",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=resolve_input(ws, spot, ws.next_seq),
        **scheduling.policies(spot.node.task.task_definition, ws.now_ms),
    )
    resume(ws, spot, attempt)


def resume(ws: Workspace, _: Spot, attempt: Attempt) -> None:
    """Wait, anew after the delay of a retry."""
    timeouts.watch(ws, attempt)
