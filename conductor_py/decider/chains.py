"""What an execution starts quickly is numbered, and counted under the root of it all.

The number bounds how long a chain grows, the count how wide: what starts two of itself is a chain
of a hundred links, and more executions than fit anywhere. The store counts; when it has refused a
decision, the room that it has left is among what is known.
"""

from __future__ import annotations

from typing import Final

from conductor_py.decider.workspace import Workspace
from conductor_py.model.chains import NO_CHAIN, Chain

STARTS: Final = "chain:starts"
NESTED: Final = "chain:nested"
"""What a new execution counts as: one of its own, or a sub-workflow. The room that the store has
left is known under the same words.
"""
_QUICK_MS = 10_000


def next_in_chain(ws: Workspace) -> Chain:
    """Number what an execution starts now, by a task, a message or its failure, in a chain of
    executions that each started the next within ten seconds of their own start.
    """
    if not _is_quick(ws):
        return NO_CHAIN
    return Chain(number=ws.header.chain.number + 1, root=ws.header.chain.root or ws.id)


def nested_in_chain(ws: Workspace) -> Chain:
    """Tell a sub-workflow that is started now its parent's number: what it starts comes next."""
    chain = ws.header.chain
    return Chain(number=chain.number, root=(chain.root or ws.id) if _is_quick(ws) else "")


def counts_as(chain: Chain, parent: str | None) -> str:
    """What a new execution counts as; empty: not at all. The sub-workflows of the root itself do
    not: tasks of one execution have a limit of their own.
    """
    if chain.root in ("", parent):
        return ""
    return NESTED if parent else STARTS


def lacks_room(ws: Workspace, chain: Chain, parent: str | None = None) -> str | None:
    """Say why one more may not be started; ``None`` when it may."""
    kind = counts_as(chain, parent)
    room = ws.known.get(kind)
    if not isinstance(room, int):
        return None
    begun = sum(counts_as(new.header.chain, new.header.parent) == kind for new in ws.children)
    if begun < room:
        return None
    limits = ws.limits
    most = limits.nested_executions if kind == NESTED else limits.chain_executions
    return chain_is_full(kind, chain.root, most)


def chain_ends(most: int) -> str:
    """Say why the next of a chain of so many is not started."""
    return (
        f"More than {most} executions have started each other, each within ten seconds of its "
        "own start (conductor.limits.chainLength)"
    )


def chain_is_full(kind: str, root: str, most: int) -> str:
    """Say why a root may not set going one more of a kind."""
    what, setting = "executions", "chainExecutions"
    if kind == NESTED:
        what, setting = "sub-workflows of sub-workflows", "nestedExecutions"
    return (
        f"Execution {root} has set going {most} {what}, each within ten seconds of the start of "
        f"its starter (conductor.limits.{setting})"
    )


def _is_quick(ws: Workspace) -> bool:
    return ws.now_ms - ws.header.created_at < _QUICK_MS
