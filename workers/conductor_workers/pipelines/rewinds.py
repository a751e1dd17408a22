"""Whether a pipeline may go back to an older record.

Asked before anything begins, and again once it is known how far the sinks are: what they show may
be newer than what the engine had kept when an operator chose. A record is of use only while all
that it names is there, and only if it is what the epoch had decided.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from conductor_py.pipelines import spec
from conductor_py.pipelines.edits import rewind_refusal
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.plan import PipelinePlan
from conductor_py.pipelines.record import Record
from conductor_py.pipelines.record_form import record_from_json
from conductor_workers.pipelines.keyed import names_in
from conductor_workers.pipelines.store import Resume
from conductor_workers.pipelines.workplace import Workplace


def refusal(
    record: Record, point: Resume, job: spec.Job, plan: PipelinePlan, workplace: Workplace
) -> str | None:
    """Return why a pipeline cannot go on from there, ``None`` when it can; ``record`` is the newest
    one that is known. Raises ``StoreAway``.
    """
    older = record_from_json(point.record)
    reason = rewind_refusal(record, older.epoch, job, plan, rewind=point.rewind)
    if reason or older.epoch == record.epoch:
        return reason
    if is_stand_in(older):
        return f"the engine has lost epoch {older.epoch}, so nobody knows what it had read"
    there = workplace.kept()
    gone = _gone(older, workplace, there)
    if gone is None:
        return None
    reached = _reached(record, workplace, there)
    others = f"epochs that can be reached: {reached}" if reached else "no other can be reached"
    return f"what epoch {older.epoch} needs is deleted already ({gone}); {others}"


def is_stand_in(record: Record) -> bool:
    """Say whether a record only counts an epoch that the engine had lost (see ``stand_in``)."""
    return record.epoch > 0 and record.decided is None


def stand_in(epoch: int, ahead: Record) -> Record:
    """Stand in for an epoch that the engine lost and that is past already: its number counts."""
    return replace(ahead, epoch=epoch, decided=None, published=epoch)


def named_objects(record: Record) -> Iterator[str]:
    """Return all names below the work directory that a record needs."""
    yield from _gone_on_from(record)
    for staged in record.decided.sinks.values() if record.decided else ():
        if "object" in staged:
            yield str(staged["object"])


def _gone_on_from(record: Record) -> Iterator[str]:
    """Return those that a pipeline needs to go on from the record; its sinks are settled."""
    for state in record.sources.values():
        yield from state.tables
    yield from map(str, record.lookups.values())
    for kept in record.keyed_state.values():
        yield from names_in(kept)
    for exchange in record.exchanges.values():
        yield from exchange["rounds"]


def _gone(record: Record, workplace: Workplace, there: frozenset[str]) -> str | None:
    names = (reference.partition("#")[0] for reference in _gone_on_from(record))
    # What a pipeline took over from another one lies where that one had put it.
    absent = (name for name in names if name not in there and not workplace.exists(name))
    return next(absent, None)


def _reached(record: Record, workplace: Workplace, there: frozenset[str]) -> str:
    """Return the epochs before that record of which there is a copy, and all that it names."""
    found = []
    for name in workplace.copies():
        older = record_from_json(json.loads(workplace.storage.read(name)))
        earlier = older.epoch < record.epoch and older.epoch not in record.taken_back
        if earlier and not is_stand_in(older) and _gone(older, workplace, there) is None:
            found.append(older.epoch)
    return str(Intervals.of(found))
