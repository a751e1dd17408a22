"""Restoring: an execution that left the store comes back from the archive, to be taken up again.

It comes back as it was, under a version above the archived one, with the definitions it uses; when
nothing follows it leaves again after the usual time.
"""

from __future__ import annotations

import logging

from conductor_py.codec.execution import load_header
from conductor_py.codec.kept_execution import KeptExecution, load_kept
from conductor_py.engine.snapshots import Snapshots
from conductor_py.errors import Conflict
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.restore import Restore
from conductor_py.ports.search import Search
from conductor_py.ports.store import Outcome

_LOG = logging.getLogger(__name__)


class Restoring:
    """Brings executions back."""

    def __init__(self, search: Search, reader: ExecutionReader, snapshots: Snapshots) -> None:
        """Work over these collaborators."""
        self._search = search
        self._reader = reader
        self._snapshots = snapshots

    def restore(self, execution: ExecutionId) -> bool:
        """Bring one back; false when the archive has none of it. ``Conflict`` when it was archived
        without what this needs.
        """
        stored = self._search.kept(execution)
        if stored is None:
            if self._search.archived(execution) is None:
                return False
            raise Conflict(
                f"Workflow {execution} is archived without what is needed to bring it back"
                " (it is too large, or was archived by an earlier version)."
            )
        kept = load_kept(stored.document)
        restore = _restore(execution, stored.version, kept)
        partition = partition_of(execution)
        self._snapshots.adopt(kept.plans)
        self._snapshots.store(partition, tuple(kept.plans))
        outcome = self._reader.restore(restore)
        if outcome is Outcome.NEED_PLAN:
            self._snapshots.store(partition, tuple(kept.plans))
            outcome = self._reader.restore(restore)
        _LOG.info(
            "An archived execution was brought back",
            extra={
                "action": "restored",
                "workflow_id": execution,
                "outcome": outcome.value,
            },
        )
        return True


def _restore(execution: ExecutionId, version: int, kept: KeptExecution) -> Restore:
    header = load_header(kept.fields["h"])
    return Restore(
        execution=execution,
        version=version,
        home=header.home,
        status=header.status.value,
        generation=header.generation,
        claim=kept.claim,
        fields=kept.fields,
        logs=kept.logs,
        plans=tuple(kept.plans),
        effect=f"{execution}:remove",
    )
