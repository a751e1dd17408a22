"""Who waits for an execution: told by the commit that makes it block or end.

Whoever waits leaves a topic, and until when. A decision that opens a WAIT without end, ends the
execution, or ends one of the references waited for, answers that topic; the children it starts
inherit whoever waits. An execution that nobody waits for looks nothing up. What became of the
execution is for the one who waits to read; what is told is only that it is worth a look.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.execution import Attempt, Watch, Watches
from conductor_py.model.places import wire_ref

_MOST: Final = 32


def add(ws: Workspace, watch: Watch) -> None:
    """Note that somebody waits; who waits no longer is forgotten, and the oldest of too many."""
    known = ws.state("watch", Watches) or Watches()
    live = [w for w in known.watches if w.until > ws.now_ms and w.topic != watch.topic]
    ws.states["watch"] = Watches(watches=(*live[1 - _MOST :], watch))
    ws.header = replace(ws.header, watched=max(ws.header.watched, watch.until))


def tell(ws: Workspace) -> None:
    """Answer the topics of those who wait for what this decision does."""
    if ws.header.watched <= ws.now_ms:
        return
    known = ws.state("watch", Watches) or Watches()
    live = tuple(w for w in known.watches if w.until > ws.now_ms)
    ends = ws.over and not ws.header.status.terminal
    blocks = ends or any(is_blocking(attempt) for attempt in ws.attempts.values())
    ws.answers.extend(
        Answer(operation=watch.topic)
        for watch in live
        if blocks or any(is_awaited(attempt, watch.refs) for attempt in ws.attempts.values())
    )
    ws.children[:] = [
        replace(
            child,
            header=replace(child.header, watched=ws.header.watched),
            watches=Watches(watches=live),
        )
        if live and child.header.parent == ws.id
        else child
        for child in ws.children
    ]


def is_blocking(attempt: Attempt) -> bool:
    """Whether nothing but somebody outside ends it: an open WAIT without a timer."""
    return attempt.type == "WAIT" and attempt.open and not attempt.wait_until


def is_awaited(attempt: Attempt, refs: tuple[str, ...]) -> bool:
    """Whether it has ended and is named."""
    named = attempt.ref in refs or wire_ref(attempt.ref, attempt.vector) in refs
    return named and attempt.status.terminal
