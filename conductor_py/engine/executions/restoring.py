"""Restoring: an execution that left the store comes back from the archive, to be taken up again.

It comes back as it was, under a version above the archived one, with the definitions it uses; when
nothing follows it leaves again after the usual time. The store knows of the attempt before the
archive is read: while a server stands still in between, another may bring the execution back, take
it further and see it leave, and what that server read must not come back then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from conductor_py.codec.execution import load_header
from conductor_py.codec.kept_execution import KeptExecution, load_kept
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.payloads.holding import PayloadHolding
from conductor_py.errors import Conflict, NotFound, StoreUnavailable
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.restore import Restore
from conductor_py.ports.search import Search
from conductor_py.ports.store import Outcome

_LOG = logging.getLogger(__name__)
_TRIES: Final = 3


class Restoring:
    """Brings executions back."""

    def __init__(
        self,
        search: Search,
        reader: ExecutionReader,
        snapshots: Snapshots,
        holding: PayloadHolding,
        new_token: Callable[[], str],
    ) -> None:
        """Work over these collaborators; ``new_token`` gives names that nobody else gives."""
        self._search = search
        self._reader = reader
        self._snapshots = snapshots
        self._holding = holding
        self._new_token = new_token

    def restore(self, execution: ExecutionId) -> bool:
        """Bring one back; false when the archive has none of it. ``Conflict`` when it was archived
        without what this needs; ``StoreUnavailable`` when it did not come back this time.
        """
        for _ in range(_TRIES):
            if self._search.archived_version(execution) is None:
                return False
            outcome = self._attempt(execution)
            if outcome is Outcome.EXISTS:
                return True  # somebody else was faster
            if outcome is Outcome.OK:
                _LOG.info(
                    "An archived execution was brought back",
                    extra={"action": "restored", "workflow_id": execution},
                )
                return True
        raise StoreUnavailable(
            f"Workflow {execution} could not be brought back from the archive: what was put into"
            " the store was lost meanwhile. Try again."
        )

    def look(self, execution: ExecutionId) -> Mapping[str, bytes]:
        """Read all fields of an execution where it is, in the store or in the archive
        (``NotFound``). ``Conflict`` as above.
        """
        found = self._reader.snapshot(execution)
        if found is not None:
            return found[1]
        if self._search.archived_version(execution) is None:
            raise NotFound(f"No such workflow found by id: {execution}")
        stored = self._search.kept(execution)
        if stored is None:
            raise _not_kept(execution)
        whole = load_kept(stored.document)
        self._snapshots.adopt(whole.plans)
        return whole.fields

    def _attempt(self, execution: ExecutionId) -> Outcome:
        token = self._reader.begin_restore(execution, self._new_token())
        if token is None:
            return Outcome.EXISTS
        stored = self._search.kept(execution)
        if stored is None and self._search.archived_version(execution) is None:
            return Outcome.GONE  # deleted meanwhile
        if stored is None:
            raise _not_kept(execution)
        kept = load_kept(stored.document)
        restore = _restore(execution, token, stored.version, kept)
        partition = partition_of(execution)
        self._holding.hold_stored(execution, kept.fields.values())
        self._snapshots.adopt(kept.plans)
        self._snapshots.store(partition, tuple(kept.plans))
        outcome = self._reader.restore(restore)
        if outcome is Outcome.NEED_PLAN:
            self._snapshots.store(partition, tuple(kept.plans))
            outcome = self._reader.restore(restore)
        return outcome


def _not_kept(execution: ExecutionId) -> Conflict:
    return Conflict(
        f"Workflow {execution} is archived without what is needed to bring it back"
        " (it is too large, or was archived by an earlier version)."
    )


def _restore(execution: ExecutionId, token: str, version: int, kept: KeptExecution) -> Restore:
    header = load_header(kept.fields["h"])
    return Restore(
        execution=execution,
        token=token,
        version=version,
        home=header.home,
        status=header.status.value,
        generation=header.generation,
        claim=kept.claim,
        fields=kept.fields,
        logs=kept.logs,
        plans=tuple(kept.plans),
        effect=f"{execution}:remove",
        checkpoints=kept.checkpoints,
    )
