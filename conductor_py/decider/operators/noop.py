"""NOOP: done at once, without input or output."""

from __future__ import annotations

from conductor_py.decider import control
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Open and complete it."""
    attempt = control.create(
        ws,
        spot,
        type_="NOOP",
        definition=spot.node.task.name,
        status=TaskStatus.COMPLETED,
        input_={},
        output={},
    )
    control.settle(ws, spot, attempt)
