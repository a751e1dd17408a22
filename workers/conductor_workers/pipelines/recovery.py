"""What a pipeline goes on from: the engine's record, brought up to what its sinks already show.

Order matters: first the newest decision is found (a sink's evidence may be ahead of an engine that
lost its last writes), then it is published, and only then is anything deleted, and only what lower
tokens left and no record names.
"""

from __future__ import annotations

import json
from dataclasses import replace

from conductor_py.pipelines.accounts import Restored, restored
from conductor_py.pipelines.edits import carried, rewound
from conductor_py.pipelines.record import PipelineState, Record
from conductor_py.pipelines.record_form import note_from_json, record_from_json
from conductor_py.records import dataclass
from conductor_workers.pipelines.beginning import Beginning, rewind_refused
from conductor_workers.pipelines.commit import Ledger
from conductor_workers.pipelines.connectors import Evidence
from conductor_workers.pipelines.rewinds import named_objects, refusal, stand_in
from conductor_workers.pipelines.rounds import Ground
from conductor_workers.pipelines.store import Kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The published record, and the accounts that follow from it and the notes."""

    record: Record
    restored: Restored


def recover(ground: Ground, ledger: Ledger, begun: Beginning) -> Recovered:
    """Restore a pipeline. Raises as sinks and stores do, ``ObjectLost`` and ``RewindRefused``."""
    kept = begun.kept
    record = begun.successor_of or _kept_record(ground, kept)
    adopted = _adopted(ground, ledger, record)
    notes = [] if adopted is not record else [note_from_json(each) for each in kept.notes]
    record = adopted
    if record.published < record.epoch:
        ledger.publish(record)
        record = replace(record, published=record.epoch)
    if kept.resume is not None:
        older = record_from_json(kept.resume.record)
        against = refusal(record, kept.resume, ground.job, ground.plan, ground.workplace)
        if against:
            raise rewind_refused([f"{ground.plan.id}: {against}"])
        if older.epoch != record.epoch:
            record, notes = _gone_back(ground, ledger, record, older), []
    if record.state is not PipelineState.FINISHED:
        sweep(ground, ledger, record, below=ground.token)
        record = replace(record, state=PipelineState.RUNNING, reason="")
    record = carried(record, ground.plan)
    return Recovered(record=record, restored=restored(record, notes))


def _gone_back(ground: Ground, ledger: Ledger, record: Record, older: Record) -> Record:
    """Decide that the pipeline goes on from an older record, and take back what came after."""
    ledger.taking_back()
    decided = ledger.decide(rewound(record, older, token=ground.token))
    ledger.publish(decided)
    return replace(decided, published=decided.epoch)


def sweep(ground: Ground, ledger: Ledger, record: Record, *, below: int) -> None:
    """Delete what tokens below that one left undecided; everything decided is published."""
    sinks = [*ground.sinks.values(), *([ground.dead_letter] if ground.dead_letter else [])]
    for sink in sinks:
        sink.discard(ground.owner, ground.plan.id, below=below, keep=None)
    collect(ground, ledger, record, below=below)


def collect(ground: Ground, ledger: Ledger, record: Record, *, below: int) -> None:
    """Delete the objects of tokens below that one that neither the record, nor a copy of an older
    one, nor a savepoint names: those may be gone back to. Nothing while the engine does not answer.
    """
    pinned = ledger.pinned()
    if pinned is None:
        return
    workplace = replace(ground.workplace, token=below)
    named = {name for each in (record, *pinned) for name in named_objects(each)}
    for name in workplace.copies():
        named.update(named_objects(record_from_json(json.loads(workplace.storage.read(name)))))
    workplace.sweep(named)


def _kept_record(ground: Ground, kept: Kept) -> Record:
    if kept.record is None:
        return Record(
            pipeline=ground.plan.id,
            plan_hash=ground.plan.plan_hash,
            node_hashes=ground.plan.node_hashes,
            token=ground.token,
        )
    return record_from_json(kept.record)


def _adopted(ground: Ground, ledger: Ledger, record: Record) -> Record:
    newest = _newest_evidence(ground)
    if newest is None or newest.epoch <= record.epoch:
        return record
    ahead = ledger.mirrored(newest.epoch, newest.record_hash)
    for epoch in range(record.epoch, newest.epoch):
        step = ahead if epoch + 1 == newest.epoch else stand_in(epoch + 1, ahead)
        ledger.put(step, expected=epoch)
    return ahead


def _newest_evidence(ground: Ground) -> Evidence | None:
    found = [
        evidence
        for sink in ground.sinks.values()
        if (evidence := sink.evidence(ground.owner, ground.plan.id)) is not None
    ]
    return max(found, key=lambda evidence: evidence.epoch, default=None)
