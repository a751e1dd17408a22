"""EXCLUSIVE_JOIN: waits for the one reference that came to run, and ends with its output.

It looks at the first reference of ``joinOn`` that was opened and not skipped. Has that not settled,
the first of ``defaultExclusiveJoinTask`` counts in its place. When nothing of all this can come any
more it is complete with an empty output (Conductor would wait for ever).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conductor_py.decider import control
from conductor_py.decider.operators import join
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt, Document
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Open it; what has settled already is looked at at once."""
    join.open_(ws, spot)


def close_either(ws: Workspace, key: str, *, released: bool) -> None:
    """End a join of either kind, by the key of its state."""
    found = join.opened(ws, key)
    if found is not None and found[1].type == "EXCLUSIVE_JOIN":
        close(ws, key, released=released)
    elif found is not None:
        join.close(ws, key)


def close(ws: Workspace, key: str, *, released: bool) -> None:
    """End it if what it waits for has settled, or, ``released``, because nothing can come."""
    found = join.opened(ws, key)
    if found is None:
        return
    state, attempt, spot = found
    shown = ws.document(f"i:{attempt.seq}")
    wanted = join.names(shown.get("joinOn"))
    defaults = join.names(shown.get("defaultExclusiveJoinTask"))
    attempts = join.newest(ws, spot, [*wanted, *defaults])
    first = _decided(wanted, attempts) or _decided(defaults, attempts)
    if first is None and not released:
        return
    ws.states[key] = replace(state, closed=True)
    if first is None:
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output={})
    elif first.status.successful or _others_are_open(wanted, attempts):
        output: Document = ws.raw_document(f"o:{first.seq}")
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output=output)
    else:
        control.finish(ws, spot, attempt, TaskStatus.FAILED, reason=first.reason)


def _decided(refs: list[str], attempts: Mapping[str, Attempt]) -> Attempt | None:
    """The first that was opened, if it has settled."""
    for ref in refs:
        attempt = attempts.get(ref)
        if attempt is None or attempt.status is TaskStatus.SKIPPED:
            continue
        return attempt if attempt.status.terminal and not attempt.superseded else None
    return None


def _others_are_open(refs: list[str], attempts: Mapping[str, Attempt]) -> bool:
    """A failed permissive task is passed over while others of the join are under way."""
    return any(attempts[ref].open for ref in refs if ref in attempts)
