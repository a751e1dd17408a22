"""Executions on their way into the index, with their archive once they have ended.

One that has ended and is too large to be read whole takes long; its archive is written bit by bit.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from conductor_py.codec.execution import load_header
from conductor_py.engine.patience import Handled
from conductor_py.engine.reading.archiving import Archiving, archivable
from conductor_py.engine.reading.loading import load_all
from conductor_py.engine.reading.reading import HEAD
from conductor_py.engine.reading.wide_archiving import WideArchiving
from conductor_py.errors import Overloaded, StoreUnavailable
from conductor_py.model.execution import Header
from conductor_py.model.ids import ExecutionId
from conductor_py.model.search import Archived, ExecutionDocument
from conductor_py.ports.outbox import Pending
from conductor_py.ports.reader import ExecutionChanged, ExecutionReader, Whole
from conductor_py.ports.search import DocumentRefused, Search
from conductor_py.ports.store import ExecutionStore
from conductor_py.wire.outside import PLACE

_LOG = logging.getLogger(__name__)
_HEAVY_S = 10.0
_WHOLE_BYTES = 4 << 20
"""Of an execution that is read whole to be archived."""
_INDEX_FAILS = (StoreUnavailable, DocumentRefused)
"""What is no fault of an execution that is read."""


class TakesLong(Exception):
    """More is to be done for an execution than others may wait for."""


class Indexing:
    """Puts executions into the index. Safe for threads."""

    def __init__(
        self,
        *,
        store: ExecutionStore,
        reader: ExecutionReader,
        search: Search,
        archiving: Archiving,
        wide: WideArchiving,
    ) -> None:
        """Work over these collaborators."""
        self._store = store
        self._reader = reader
        self._search = search
        self._archiving = archiving
        self._wide = wide

    def several(self, partition: int, effects: Sequence[Pending]) -> Handled:
        """Put the executions of these effects into the index as they are now."""
        documents: list[ExecutionDocument] = []
        handled = Handled()
        small = self._reader.several(partition, [execution_of(effect) for effect in effects])
        for effect in effects:
            execution = execution_of(effect)
            try:
                with PLACE.scope():
                    document = self._read(execution, small.get(execution))
                    if document is not None and PLACE.is_own:
                        self._search.put([document])  # a wide one, while it has the place
                    elif document is not None:
                        documents.append(document)
            except Overloaded:
                continue  # it comes again
            except TakesLong:
                handled.long.append(effect)
                continue
            except _INDEX_FAILS:
                raise
            except Exception:  # noqa: BLE001 - whatever a damaged one raises costs it alone
                _LOG.exception(
                    "An execution cannot be indexed",
                    extra={"action": "index_failed", "workflow_id": execution},
                )
                continue
            handled.done.append(effect)
        if documents:
            self._search.put(documents)
        return handled

    def one(self, partition: int, effect: Pending) -> bool:
        """Put one into the index; whether it is there. ``TakesLong``: it is too large for that."""
        handled = self.several(partition, [effect])
        if handled.long:
            raise TakesLong
        return bool(handled.done)

    def go_on(self, _partition: int, effects: Sequence[Pending]) -> Handled:
        """Go on for a while with the archive of the execution of an effect."""
        (effect,) = effects
        is_done = self.archived(execution_of(effect)) is not None
        return Handled([effect]) if is_done else Handled(long=[effect])

    def archived(self, execution: ExecutionId) -> ExecutionDocument | None:
        """Go on for a while with the archive of one that takes long; what has been put into the
        index, when that is all. ``ExecutionChanged``, ``Overloaded``: not now.
        """
        with PLACE.scope():
            head = load_all(self._store, execution, HEAD)
            if head is None or not _leaves(load_header(head[1]["h"])):
                raise ExecutionChanged  # the next look at it says what it is now
            document = self._wide.go_on(execution, *head)
            if document is not None:
                self._search.put([document])
            return document

    def is_whole(self, execution: ExecutionId, archived: Archived) -> bool | None:
        """Whether an archive can be read; ``None``: that is not known after a while."""
        return self._wide.is_whole(execution, archived)

    def _read(self, execution: ExecutionId, read: Whole | None) -> ExecutionDocument | None:
        """Make the document of an execution, which may have been ``read`` with others."""
        if read is not None:
            return self._archiving.document(execution, read)
        head = load_all(self._store, execution, HEAD)
        if head is None:
            return None
        header, read = load_header(head[1]["h"]), Whole(version=head[0], fields=head[1])
        if not _leaves(header):
            return self._archiving.document(execution, read)
        found = self._reader.snapshot(execution, before_more=_be_heavy)
        if found is None:
            return None
        return self._archiving.document(execution, Whole(version=found[0], fields=found[1]))


def execution_of(effect: Pending) -> ExecutionId:
    """The execution that an effect is about."""
    return ExecutionId(effect.id.split(":", 1)[0])


def _leaves(header: Header) -> bool:
    """Whether an execution goes into the archive."""
    return archivable(header) and not header.forget


def _be_heavy(size: int) -> None:
    """Have the place of what is heavy; ``Overloaded`` when it does not come free in time."""
    if size > _WHOLE_BYTES:
        raise TakesLong
    if not PLACE.take(_HEAVY_S):
        raise Overloaded
