"""The verbs of the API, as events: one file a verb, and the table that names them.

Each answers whoever asked; ``None`` says that the answer comes with a later decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from conductor_py.decider.operations.terminate import terminate
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation

Verb = Callable[[Workspace, Operation], Answer | None]

VERBS: Mapping[str, Verb] = MappingProxyType({"terminate": terminate})


def operate(ws: Workspace, operation: Operation) -> None:
    """Carry out an operation and answer it."""
    verb = VERBS.get(operation.name)
    if verb is None:
        answer: Answer | None = Answer(
            operation=operation.id,
            error="INVALID_INPUT",
            message=f"Unknown operation '{operation.name}'",
        )
    else:
        answer = verb(ws, operation)
    if answer is not None:
        ws.answers.append(answer)
