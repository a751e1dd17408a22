"""Retention of files: they go with their execution, and an upload that nobody ends is given up.

An execution has left when it was said to be gone for good; one that nobody called gone is missed
for a month first, as for payloads: its index may be empty because it is being restored.

Bounded ticks, nothing remembered. A file that goes is FAILED first, from what was seen: from then
on nobody completes or reads it, as every version knows. Its bytes go next and its record last, so a
look that is cut off leaves one that the next look ends, and nothing that nobody knows of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from conductor_py.codec.files import dump_file, load_file
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.payloads.files import CHECK_MS, MOST_FILES
from conductor_py.engine.payloads.retention import MISSED_MS
from conductor_py.engine.port_set import FilePorts
from conductor_py.errors import NotFound, StoreUnavailable
from conductor_py.model.files import FileRecord, UploadStatus
from conductor_py.model.json import JsonObject
from conductor_py.ports.files import Changed, RecordChange
from conductor_py.ports.payload_holders import PRESENT

_LOG = logging.getLogger(__name__)

_NOTED_MS: Final = 2 * MISSED_MS
"""How long it is noted that an execution is gone, whose files should have left by then. Without
the note it is missed anew, so all that a file loses by it is time.
"""
UPLOAD_MS: Final = 24 * 3_600_000
"""How long an upload may go on after its last change."""


def let_go_files(ports: FilePorts | None, clock: StoreClock, execution: str) -> None:
    """Note that an execution is gone for good, so that its files leave when they are looked at."""
    if ports is not None:
        now_ms = clock.now_ms()
        ports.records.let_go(execution, now_ms, now_ms - _NOTED_MS)


class FileRetention:
    """Removes files. Any number may run, on any number of servers."""

    def __init__(
        self,
        ports: FilePorts | None,
        clock: StoreClock,
        *,
        workflow: Callable[[str], JsonObject],
        removed: Callable[[], None],
        batch: int = 100,
    ) -> None:
        """``workflow`` reads an execution, archived or not (``NotFound``); ``removed`` hears of
        records that are gone; ``batch`` bounds one tick. Without ``ports`` there are no files.
        """
        self._ports = ports
        self._clock = clock
        self._workflow = workflow
        self._removed = removed
        self._batch = batch

    def tick(self) -> int:
        """Look at one batch of files that are due; returns how many.

        Raises ``StoreUnavailable`` in the end when something was away; the others were looked at.
        """
        if self._ports is None:
            return 0
        looked_at = 0
        away: StoreUnavailable | None = None
        for file_id in self._ports.records.due(self._clock.now_ms(), self._batch):
            stored = self._ports.records.read(file_id)
            if stored is None:
                self._put_off(self._ports, file_id)
                continue
            try:
                self._look_at(self._ports, stored)
                looked_at += 1
            except StoreUnavailable as error:
                away = error
                self._put_off(self._ports, file_id)
            except Exception:  # noqa: BLE001 - whatever a damaged one raises costs it alone
                _LOG.exception(
                    "A file cannot be looked at, and stays",
                    extra={"action": "file_unreadable", "file_id": file_id},
                )
                self._put_off(self._ports, file_id)
        if away is not None:
            raise away
        return looked_at

    def _look_at(self, ports: FilePorts, stored: bytes) -> None:
        record, now_ms = load_file(stored), self._clock.now_ms()
        if self._has_left(ports, record.workflow_id, now_ms):
            self._remove(ports, record, stored, now_ms)
            return
        has_failed = record.status is UploadStatus.FAILED
        late = now_ms - record.updated_ms >= UPLOAD_MS
        if record.status is UploadStatus.UPLOADING and late:
            has_failed = self._fail(ports, record, stored, now_ms) is not None
            if has_failed:
                _LOG.info("An upload that nobody completed was given up", extra=_shown(record))
        else:
            self._settle(ports, record, stored, stored)
        if has_failed:
            ports.contents.drop_all(record.file_id)

    def _remove(self, ports: FilePorts, record: FileRecord, stored: bytes, now_ms: int) -> None:
        """Remove bytes and record; nothing when somebody changes it meanwhile, and it is looked at
        again.
        """
        leaving: bytes | None = stored
        if record.status is not UploadStatus.FAILED:
            leaving = self._fail(ports, record, stored, now_ms)
        if leaving is None:
            return
        ports.contents.drop_all(record.file_id)
        if self._settle(ports, record, leaving, None):
            self._removed()
            _LOG.info("The file of a removed execution was removed", extra=_shown(record))

    def _fail(
        self, ports: FilePorts, record: FileRecord, stored: bytes, now_ms: int
    ) -> bytes | None:
        """End it, whatever there is of it; what is stored then, ``None`` when it was changed."""
        ended = replace(
            record, status=UploadStatus.FAILED, content="", upload_id="", updated_ms=now_ms
        )
        after = dump_file(ended)
        return after if self._settle(ports, record, stored, after) else None

    def _has_left(self, ports: FilePorts, owner: str, now_ms: int) -> bool:
        """Whether an execution is gone for good, or has been missed for long enough."""
        noted = ports.records.noted(owner)
        if self._exists(owner):
            if noted != PRESENT:
                ports.records.note(owner, noted, PRESENT)
            return False
        if noted == PRESENT:
            ports.records.note(owner, PRESENT, -now_ms)
            return False
        return noted > 0 or now_ms + noted >= MISSED_MS

    def _exists(self, workflow_id: str) -> bool:
        try:
            self._workflow(workflow_id)
        except NotFound:
            return False
        return True

    def _put_off(self, ports: FilePorts, file_id: str) -> None:
        """Others come first: it would be the longest overdue for ever."""
        ports.records.put_off(file_id, self._clock.now_ms() + CHECK_MS)

    def _settle(
        self, ports: FilePorts, record: FileRecord, before: bytes, after: bytes | None
    ) -> bool:
        # What is stored, and not what it would be written as: another version may have written it.
        change = RecordChange(
            file_id=record.file_id,
            owner=record.workflow_id,
            before=before,
            after=after,
            check_ms=self._clock.now_ms() + CHECK_MS,
        )
        return ports.records.change(change, most=MOST_FILES) is Changed.OK


def _shown(record: FileRecord) -> dict[str, str]:
    return {"action": "file_removed", "workflow_id": record.workflow_id, "file_id": record.file_id}
