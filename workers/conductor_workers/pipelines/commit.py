"""The decision of an epoch, and what follows from it.

A record is copied into the work directory, then sent to the engine: once the engine has it, the
epoch is decided, and its sinks are published by whoever holds the task, as often as it takes. What
the engine did not answer is looked up before anything else is done.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from conductor_py.pipelines.record import PipelineState, Record, Staged
from conductor_py.pipelines.record_form import (
    canonical,
    record_from_json,
    record_hash,
    record_to_json,
)
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.connectors import Sink, SinkProblem, TakingBack, Withdrawing
from conductor_workers.pipelines.control import Control
from conductor_workers.pipelines.rounds import DEAD_LETTER, Ground
from conductor_workers.pipelines.storage import ObjectLost, fetch, keep
from conductor_workers.pipelines.store import EpochConflict, Fenced, JobStore, Kept, Unanswered

logger = logging.getLogger(__name__)

_OBJECT: Final = "object"
_ASK_EVERY_S: Final = 0.5


class Interrupted(Exception):
    """The pipeline is to end before the engine has answered."""


class Ledger:
    """Writes the records of one pipeline."""

    def __init__(self, ground: Ground, store: JobStore, control: Control) -> None:
        """Write for that pipeline."""
        self._ground = ground
        self._store = store
        self._control = control
        self._open = False

    @property
    def settled(self) -> bool:
        """Whether nothing of this attempt may still have to be published by somebody."""
        return not self._open

    def decide(self, record: Record) -> Record:
        """Have a new epoch decided; returns the record as it is kept.

        Raises:
            Fenced: another attempt holds the task.
            EpochConflict: the engine has another epoch than the one before this.
            Interrupted: no answer, and nobody waits for one any more.
        """
        kept = self._without_long_lists(record)
        document = record_to_json(kept)
        workplace = self._ground.workplace
        name = workplace.mirror(kept.epoch, self._ground.token)
        # A round that was decided nowhere, and is made again by the same attempt.
        workplace.storage.delete(name)
        keep(workplace.storage, name, canonical(document))
        faults.reach("F6")
        self.put(kept, expected=kept.epoch - 1)
        self._open = True
        faults.reach("F8")
        return kept

    def note(self, note: Mapping[str, Any]) -> None:
        """Add to the write-ahead log until the engine has it; twice does no harm.

        Raises as ``decide``.
        """
        while True:
            try:
                self._store.append(self._ground.plan.id, [note])
            except Unanswered:
                self._wait_for_engine()
            else:
                return

    def put(self, record: Record, *, expected: int) -> None:
        """Send a record until its fate is known. Raises as ``decide``."""
        document = record_to_json(record)
        pipeline, retain = self._ground.plan.id, self._ground.job.env.checkpoint.retain
        while True:
            try:
                self._store.put(
                    pipeline, document, expected=expected, epoch=record.epoch, retain=retain
                )
                faults.reach("F7")
            except Unanswered:
                self._open = True  # it may have been decided
                if self._arrived(record):
                    return
            except EpochConflict:
                if not self._arrived(record):
                    raise
                return
            else:
                return

    def publish(self, record: Record) -> None:
        """Make a decided epoch visible in all its sinks, under the token of this attempt, whoever
        decided it: the sinks may have been told already that they are this attempt's.

        Raises ``Fenced``, ``SinkProblem``, ``ObjectLost``.
        """
        if record.decided is None:
            return
        kept_hash = record_hash(record)
        if record.decided.back_to is not None:
            self._take_back(record, record.decided.back_to, kept_hash)
        for name, staged in record.decided.sinks.items():
            epoch = self._ground.epoch(name, record.decided.epoch)
            self.sink(name).publish(self.expanded(staged), epoch, kept_hash)
        self._open = False
        faults.reach("F15")

    def _take_back(self, record: Record, back_to: int, kept_hash: str) -> None:
        for name, sink in self.taking_back().items():
            epoch = self._ground.epoch(name, record.epoch)
            sink.take_back(epoch, back_to, kept_hash)

    def taking_back(self) -> Mapping[str, TakingBack]:
        """Return all sinks by name. Raises ``SinkProblem`` for one that takes nothing back."""
        names = [*self._ground.sinks, *([DEAD_LETTER] if self._ground.dead_letter else [])]
        found: dict[str, TakingBack] = {}
        for name in names:
            sink: object = self.sink(name)
            if not isinstance(sink, TakingBack):
                raise SinkProblem(
                    "CANNOT_TAKE_BACK",
                    f"The sink {name} cannot take back what is published.",
                    retryable=False,
                )
            found[name] = sink
        return found

    def withdraw(self, name: str, number: int) -> None:
        """Have a sink take back what this attempt staged for an epoch that nobody decided.

        One that cannot, or has a bug, is logged: what it keeps is collected later, and what has
        ended the attempt must be told, whatever happens here.
        """
        sink: object = self.sink(name)
        if not isinstance(sink, Withdrawing):
            return
        about = {"action": "staged_kept", "pipeline": self._ground.plan.id}
        about |= {"sink": name, "epoch": str(number)}
        try:
            sink.withdraw(self._ground.epoch(name, number))
        except (SinkProblem, OSError) as error:
            logger.warning("A sink keeps what it has staged", extra={**about, "error": str(error)})
        except Exception:
            logger.exception("A sink keeps what it has staged", extra=about)

    def sink(self, name: str) -> Sink:
        """Return a sink by the name that records use."""
        if name == DEAD_LETTER and self._ground.dead_letter is not None:
            return self._ground.dead_letter
        return self._ground.sinks[name]

    def expanded(self, staged: Staged) -> Staged:
        """Return what a sink staged, read from where it was too long for the record."""
        if _OBJECT not in staged:
            return staged
        found: Mapping[str, Any] = json.loads(
            fetch(self._ground.workplace.storage, str(staged[_OBJECT]))
        )
        return found

    def end(self, record: Record, state: PipelineState, reason: str = "") -> Record:
        """Write the state that a pipeline ends in, at its newest epoch."""
        ended = replace(record, state=state, token=self._ground.token, reason=reason)
        self.put(ended, expected=record.epoch)
        return ended

    def kept(self) -> Kept:
        """Read what the engine keeps, until it answers. Raises as ``decide``."""
        while True:
            try:
                return self._store.get(self._ground.plan.id)
            except Unanswered:
                self._wait_for_engine()

    def pinned(self) -> tuple[Record, ...] | None:
        """Return what savepoints hold of the pipeline; ``None`` when the engine does not answer."""
        try:
            return tuple(map(record_from_json, self._store.pinned(self._ground.plan.id)))
        except Unanswered:
            return None

    def mirrored(self, epoch: int, wanted_hash: str) -> Record:
        """Find the copy of a record that a sink proves. Raises ``ObjectLost``."""
        workplace = self._ground.workplace
        for name in workplace.mirrors(epoch):
            record = record_from_json(json.loads(workplace.storage.read(name)))
            if record_hash(record) == wanted_hash:
                return record
        raise ObjectLost(
            f"A sink shows epoch {epoch}, and the work directory has no copy of its record."
        )

    def _arrived(self, record: Record) -> bool:
        """Look whether the engine has that record, until it answers."""
        kept = self.kept()
        if kept.record is None:
            return False
        there = record_from_json(kept.record)
        if there.token > self._ground.token:
            raise Fenced
        return record_hash(there) == record_hash(record)

    def _wait_for_engine(self) -> None:
        if self._control.interrupts:
            raise Interrupted("The engine does not answer.") from None
        logger.warning("The engine does not answer", extra={"action": "store_unanswered"})
        self._control.rest(_ASK_EVERY_S)

    def _without_long_lists(self, record: Record) -> Record:
        decided, limit = record.decided, self._ground.job.env.checkpoint.inline_bytes
        if decided is None:
            return record
        sinks = {
            name: self._shortened(name, staged, limit // max(1, 2 * len(decided.sinks)), record)
            for name, staged in decided.sinks.items()
        }
        return replace(record, decided=replace(decided, sinks=sinks))

    def _shortened(self, name: str, staged: Staged, limit: int, record: Record) -> Staged:
        content = canonical(staged)
        if len(content) <= limit:
            return staged
        workplace = self._ground.workplace
        reference = keep(
            workplace.storage, workplace.object(f"staged-{name}", record.epoch), content
        )
        return {_OBJECT: reference, "rows": staged["rows"]}
