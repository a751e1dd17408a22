"""Taken over: another attempt of the parent waits for this execution from now on."""

from __future__ import annotations

from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation


def taken_over(_ws: Workspace, operation: Operation) -> Answer:
    """Nothing is to be done: what counts is that it was said (``parents_word``)."""
    return Answer(operation=operation.id)
