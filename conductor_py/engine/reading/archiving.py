"""What the index and the archive are given of an execution."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from conductor_py.codec.execution import load_claim, load_header
from conductor_py.codec.kept_execution import KeptExecution, dump_kept
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.payloads.holding import PayloadHolding
from conductor_py.engine.reading.reading import written
from conductor_py.engine.reading.views import Views
from conductor_py.model.afresh import mapped
from conductor_py.model.execution import Header
from conductor_py.model.ids import ExecutionId, partition_of, task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.search import ExecutionDocument
from conductor_py.model.view import ExecutionView
from conductor_py.ports.reader import Beside, ExecutionReader, Whole
from conductor_py.wire.masking import log_maskers
from conductor_py.wire.summaries import execution_summary, task_summary


def archivable(header: Header) -> bool:
    """Whether an execution has ended, and nothing of it is still to be cleaned up."""
    return header.status.terminal and not header.drain


class Archiving:
    """Makes documents of executions."""

    def __init__(
        self,
        reader: ExecutionReader,
        snapshots: Snapshots,
        views: Views,
        holding: PayloadHolding,
        *,
        index_tasks: bool = True,
    ) -> None:
        """Without ``index_tasks`` tasks can be read, but not searched. ``holding`` hears of what is
        archived.
        """
        self._reader = reader
        self._snapshots = snapshots
        self._views = views
        self._holding = holding
        self._index_tasks = index_tasks

    def document(self, execution: ExecutionId, read: Whole) -> ExecutionDocument | None:
        """Write what was read for the index, with its archive when it has ended and is drained;
        ``None`` of what is to be forgotten.
        """
        header, fields, beside = load_header(read.fields["h"]), read.fields, read.beside
        if header.forget:
            return None
        ended = archivable(header)
        view = self._views.execution(execution, read.version, fields, include_tasks=ended)
        archive: bytes | None = None
        kept: bytes | None = None
        if ended:
            # Again, though each commit did: a server before this version, or a store that lost its
            # last writes, did not.
            self._holding.hold_stored(execution, fields.values())
            beside = beside or self._reader.beside(execution)
            kept = self._kept(execution, header, fields, beside)
            logs = archived_logs(view, beside.logs)
            archive = written(view, {"taskLogs": logs} if logs else {})
        return ExecutionDocument(
            version=read.version,
            summary=execution_summary(view),
            tasks=mapped(task_summary, view.tasks) if self._index_tasks else (),
            archive=archive,
            kept=kept,
        )

    def _kept(
        self, execution: ExecutionId, header: Header, fields: Mapping[str, bytes], beside: Beside
    ) -> bytes | None:
        """What the execution can be restored from; ``None`` when it is too large for that."""
        wanted = {value.decode() for name, value in fields.items() if name.startswith("d:")}
        claims = [load_claim(value).claim for name, value in fields.items() if name[:2] == "c:"]
        kept = KeptExecution(
            fields=fields,
            plans=blobs(self._snapshots, execution, wanted | {header.plan}),
            logs=beside.logs,
            claim=max(claims, default=0),
            checkpoints=beside.checkpoints,
        )
        return dump_kept(kept)


def blobs(
    snapshots: Snapshots, execution: ExecutionId, wanted: Collection[str]
) -> dict[str, bytes]:
    """The plans of an execution that are there, as they are stored."""
    found = ((plan, snapshots.blob(partition_of(execution), plan)) for plan in wanted)
    return {plan: blob for plan, blob in found if blob is not None}


def archived_logs(view: ExecutionView, logs: Sequence[tuple[int, int, str]]) -> list[JsonObject]:
    """The log of an execution in wire form; the view has at least the tasks that wrote it."""
    maskers = log_maskers(view, {seq for seq, _, _ in logs})
    return [
        {
            "taskId": task_id(ExecutionId(view.execution), seq),
            "createdTime": at,
            "log": maskers[seq].text(line) if seq in maskers else line,
        }
        for seq, at, line in logs
    ]
