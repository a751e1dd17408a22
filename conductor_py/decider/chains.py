"""What an execution starts quickly is numbered, and counted under the root of it all.

The number bounds how long a chain grows, the count how wide: what starts two of itself is a chain
of a hundred links, and more executions than fit anywhere. The store counts; when it has refused a
decision, the room that it has left is among what is known.

An execution may be old because the server is late, and most of all when a chain has filled it. So
what it was late does not end a count. It does end the numbers: one after the other is no harm then.
"""

from __future__ import annotations

from typing import Final

from conductor_py.decider.workspace import Workspace
from conductor_py.model.chains import Chain
from conductor_py.model.homes import home_in, shard_of

STARTS: Final = "chain:starts"
NESTED: Final = "chain:nested"
"""What a new execution counts as: one of its own, or a sub-workflow. The room that the store has
left is known under the same words.
"""
QUICK_MS: Final = 10_000
LATE_MS: Final = "chain:late"
"""For how long the server was late in the life of an execution is known under this, of one that is
older than ``QUICK_MS``.
"""


def next_in_chain(ws: Workspace) -> Chain:
    """Number what an execution starts now, by a task, a message or its failure, in a chain of
    executions that each started the next within ten seconds of their own start; and name the root
    under which it counts.
    """
    number = ws.header.chain.number + 1 if _age_ms(ws) < QUICK_MS else 0
    return Chain(number=number, root=_root(ws))


def nested_in_chain(ws: Workspace) -> Chain:
    """Tell a sub-workflow that is started now its parent's number: what it starts comes next."""
    return Chain(number=ws.header.chain.number, root=_root(ws))


def counts_as(chain: Chain, parent: str | None) -> str:
    """What a new execution counts as; empty: not at all. The sub-workflows of the root itself do
    not: tasks of one execution have a limit of their own.
    """
    if chain.root in ("", parent):
        return ""
    return NESTED if parent else STARTS


def home_of(home: str, chain: Chain, parent: str | None = None) -> str:
    """Where a new execution is at home, in the shard of ``home``: apart, when it is counted."""
    return home_in(shard_of(home), counted=counts_as(chain, parent) != "")


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
        f"Execution {root} has set going {most} {what} in an hour, each within ten seconds of the "
        "start of its starter (time in which the server was late is not counted). Start fewer, or "
        f"raise conductor.limits.{setting}"
    )


def _root(ws: Workspace) -> str:
    late = ws.known.get(LATE_MS)
    age_ms = _age_ms(ws) - (late if isinstance(late, int) else 0)
    return (ws.header.chain.root or ws.id) if age_ms < QUICK_MS else ""


def _age_ms(ws: Workspace) -> int:
    return ws.now_ms - ws.header.created_at
