"""Watch: somebody waits until the execution blocks or ends."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.decider import watching
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.execution import Watch


def watch(ws: Workspace, operation: Operation) -> Answer:
    """Note who waits, for how long, and for which references; nobody waits for what has ended."""
    topic, for_ms = operation.arguments.get("topic"), operation.arguments.get("forMs")
    refs = operation.arguments.get("refs")
    if isinstance(topic, str) and isinstance(for_ms, int) and not ws.over:
        named = refs if isinstance(refs, Sequence) and not isinstance(refs, str) else ()
        until = ws.now_ms + for_ms
        watching.add(ws, Watch(topic=topic, until=until, refs=tuple(map(str, named))))
    return Answer(operation=operation.id)
