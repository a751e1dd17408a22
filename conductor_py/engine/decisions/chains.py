"""The executor's side of chains: what a decision counts, and what the store's refusal teaches."""

from __future__ import annotations

from collections import Counter

from conductor_py.decider.chains import NESTED, STARTS, chain_is_full, counts_as
from conductor_py.decider.limits import Limits
from conductor_py.errors import InvalidInput
from conductor_py.model.decision import Decision
from conductor_py.model.requests import StartRequest
from conductor_py.ports.chains import ChainRoom, ChainUse, Wish
from conductor_py.ports.store import CommitReply, Outcome


def chain_use(decision: Decision, limits: Limits, *, born: bool) -> ChainUse | None:
    """What a decision creates that is counted: its children, and itself when it is ``born``. All
    of them have one root. ``None``: nothing is counted.
    """
    headers = [child.header for child in decision.children]
    if born:
        headers.append(decision.header)
    roots = {each.chain.root for each in headers if counts_as(each.chain, each.parent)}
    if not roots:
        return None
    (root,) = roots
    kinds = Counter(counts_as(each.chain, each.parent) for each in headers)
    return ChainUse(
        root=root,
        starts=kinds[STARTS],
        nested=kinds[NESTED],
        most_starts=limits.chain_executions,
        most_nested=limits.nested_executions,
    )


def wish_of(request: StartRequest) -> Wish:
    """Tell whose wish a start is."""
    if request.parent is not None:
        return Wish.WANTED
    return Wish.OWN if request.own else Wish.NEW


def is_to_decide_again(reply: CommitReply, decision: Decision, known: dict[str, object]) -> bool:
    """Learn from a refusal of the store what another decision is to rest on; whether there is
    any.
    """
    if reply.outcome is Outcome.CHAIN_FULL:
        known.update(_facts(reply.room))
        return True
    if reply.outcome is Outcome.CLAIM_MOVED:
        for guard in decision.guards:
            known.pop(f"c:{guard.seq}", None)
        return True
    return False


def learn_room(
    known: dict[str, object],
    request: StartRequest,
    use: ChainUse | None,
    room: ChainRoom | None,
) -> None:
    """Learn how many a new execution may start itself (``InvalidInput``: it has no room)."""
    facts, chain, parent = _facts(room), request.chain, request.parent
    kind = counts_as(chain, parent.execution if parent is not None else None)
    if kind and use is not None:
        if facts[kind] < 1:
            most = use.most_nested if kind == NESTED else use.most_starts
            raise InvalidInput(chain_is_full(kind, chain.root, most))
        facts[kind] -= 1
    known.update(facts)


def _facts(room: ChainRoom | None) -> dict[str, int]:
    return {STARTS: room.starts if room else 0, NESTED: room.nested if room else 0}
