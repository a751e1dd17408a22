"""Changes and replies as flat lists: what a script is handed, and what it hands back.

The order is that of ``lua/include/apply.lua``: sections ``<letter> <number of values> <values…>``,
empty ones left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.redis.connection import Argument, Reply
from conductor_py.adapters.redis.names import fields_of
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.chains import ChainRoom
from conductor_py.ports.store import Changes, ClaimGuard, Loaded, Outcome

OUTCOMES = {outcome.value.encode(): outcome for outcome in Outcome}


def token(operation: str) -> str:
    """Make an operation id one word, as the record of an execution needs it."""
    return operation if operation.isalnum() else "_".join(operation.split())


def add_changes(arguments: list[Argument], changes: Changes) -> None:
    """Append status, terminal, generation, due and the sections that are not empty."""
    arguments += (changes.status, int(changes.terminal), changes.generation, changes.due_ms)
    if changes.fields:
        arguments += ("F", 2 * len(changes.fields))
        for pair in changes.fields.items():
            arguments += pair
    if changes.ended:
        arguments += ("E", len(changes.ended), *changes.ended)
    if changes.offers:
        arguments += ("O", 5 * len(changes.offers))
        for offer in changes.offers:
            arguments += (offer.seq, offer.queue, offer.shard, repr(offer.score), offer.due_ms)
    if changes.plans:
        arguments += ("P", len(changes.plans), *changes.plans)
    if changes.effects:
        arguments += ("X", 4 * len(changes.effects))
        for effect in changes.effects:
            arguments += (effect.id, effect.document, effect.due_ms, effect.soonest_ms)
    _add_rare(arguments, changes)
    _add_talk(arguments, changes)


def add_guards(arguments: list[Argument], guards: Sequence[ClaimGuard]) -> None:
    """Append the claims that a decision saw end."""
    if guards:
        arguments += ("G", 3 * len(guards))
        for guard in guards:
            arguments += (guard.seq, guard.claim, guard.until_ms)


def _add_rare(arguments: list[Argument], changes: Changes) -> None:
    if changes.deleted:
        arguments += ("D", len(changes.deleted), *changes.deleted)
    if changes.attempt_timers:
        arguments += ("T", 2 * len(changes.attempt_timers))
        for timer in changes.attempt_timers:
            arguments += timer
    if changes.reopened:
        arguments += ("R", len(changes.reopened), *changes.reopened)
    if changes.own_events:
        arguments += ("I", len(changes.own_events), *changes.own_events)
    if changes.children:
        _add_children(arguments, changes)
    if changes.touched:
        arguments += ("Z", 1 + len(changes.touched), changes.gather_ms, *changes.touched)
    if changes.unpark:
        arguments += ("U", 0)
    if changes.admission:
        asked = changes.admission
        arguments += ("L", 7, "leave" if asked.leave else "enter", asked.key, asked.limit)
        arguments += (int(asked.reject), asked.admitted, asked.refused, int(asked.shared))


def _add_talk(arguments: list[Argument], changes: Changes) -> None:
    if changes.messages:
        arguments += ("M", 3 * len(changes.messages))
        for message in changes.messages:
            arguments += (message.execution, message.event, int(message.wanted))
    if changes.logs:
        lines = (f"{seq} {at_ms} {line}" for seq, at_ms, line in changes.logs)
        arguments += ("K", len(changes.logs), *lines)
    if changes.chain:
        use = changes.chain
        arguments += ("H", 5, use.root, use.starts, use.most_starts, use.nested, use.most_nested)
    if changes.answers:
        arguments += ("A", 2 * len(changes.answers))
        for answer in changes.answers:
            arguments += answer


def _add_children(arguments: list[Argument], changes: Changes) -> None:
    count = sum(6 + 2 * len(child.fields) for child in changes.children)
    arguments += ("C", 1 + count, sum(not child.wanted for child in changes.children))
    for child in changes.children:
        arguments += (child.execution, child.home, child.name, child.generation, child.event)
        arguments.append(2 * len(child.fields))
        for pair in child.fields.items():
            arguments += pair


def room_of(reply: Sequence[Reply]) -> ChainRoom | None:
    """Read how many more a root may set going, where a script has refused some."""
    return ChainRoom(*reply[2]) if OUTCOMES[reply[0]] is Outcome.CHAIN_FULL else None


def loaded_of(reply: Reply) -> Loaded | None:
    """Read what ``lua/include/loaded.lua`` returns; false means nothing."""
    if not reply:
        return None
    execution, version, now_ms, first_event, events, fields = reply
    return Loaded(
        execution=ExecutionId(execution.decode()),
        version=version,
        now_ms=now_ms,
        first_event=first_event,
        events=tuple(events),
        fields=fields_of(fields),
    )
