"""Executions on their way out of the store: into the archive alone, or for good.

One that is archived goes when the archive has exactly that version, and can be read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import orjson

from conductor_py.codec.event import dump_event
from conductor_py.codec.execution import load_header
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.effects.indexing import Indexing, TakesLong, execution_of
from conductor_py.engine.executions.idempotency import release_key
from conductor_py.engine.patience import Handled
from conductor_py.engine.reading.archives import pages_of
from conductor_py.engine.reading.archiving import archivable
from conductor_py.errors import StoreDamaged, StoreUnavailable
from conductor_py.model.event import Operation
from conductor_py.model.ids import ExecutionId
from conductor_py.model.search import Archived
from conductor_py.ports.outbox import Outbox, Pending
from conductor_py.ports.reader import ExecutionChanged, ExecutionReader
from conductor_py.ports.search import DocumentRefused, Search
from conductor_py.ports.store import ExecutionStore, Outcome

_LOG = logging.getLogger(__name__)
_IS_GONE = {Outcome.OK, Outcome.GONE}
_SOON_MS = 1_000
_MENDED_MS = 60_000
"""When an archive is looked at again of which a page was lost: it may be lost again."""
AGAIN_MS = 600_000
"""How long an index may refuse what has ended before that gets another version, and after which a
document is put again that was refused.
"""


class Removing:
    """Takes executions out of the store. Safe for threads."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        store: ExecutionStore,
        reader: ExecutionReader,
        snapshots: Snapshots,
        search: Search,
        indexing: Indexing,
        left: Callable[[str], None],
    ) -> None:
        """``left`` hears of executions that are gone for good."""
        self._outbox = outbox
        self._store = store
        self._reader = reader
        self._snapshots = snapshots
        self._search = search
        self._indexing = indexing
        self._left = left

    def several(self, partition: int, effects: Sequence[Pending]) -> Handled:
        """Take the executions of these effects out of the store, if the archive has them."""
        plain = self._archived(map(execution_of, effects))
        outcomes = zip(plain, self._reader.remove_plain(partition, plain), strict=True)
        gone = {id_ for (id_, _), outcome in outcomes if outcome in _IS_GONE}
        handled = Handled()
        for effect in effects:
            execution = execution_of(effect)
            try:
                if execution in gone or self._removed(partition, effect):
                    handled.done.append(effect)
            except TakesLong:
                handled.long.append(effect)
            except StoreUnavailable:
                if not gone:
                    raise
            except DocumentRefused:
                raise
            except Exception:  # noqa: BLE001 - whatever a damaged one raises costs it alone
                _LOG.exception(
                    "An execution cannot be read and stays in the store",
                    extra={"action": "remove_failed", "workflow_id": execution},
                )
        return handled

    def _archived(self, executions: Iterable[ExecutionId]) -> list[tuple[ExecutionId, int]]:
        """Those whose archive is one document that can be read, with its version; what is wrong
        with one is told where it is alone. Damage may look like an index that is away: two are not
        damaged at once.
        """
        found: list[tuple[ExecutionId, int]] = []
        away: StoreUnavailable | None = None
        for execution in executions:
            try:
                archived = self._search.archived(execution)
                if archived is not None and not pages_of(archived.document):
                    found.append((execution, archived.version))
            except StoreDamaged:
                continue
            except StoreUnavailable as raised:
                if away is not None:
                    raise
                away = raised
        return found

    def _removed(self, partition: int, effect: Pending) -> bool:
        """Take one execution out; whether nothing is left to do for this effect. ``TakesLong``:
        its archive has to be looked at, or to be made.
        """
        archived = self._search.archived(execution_of(effect))
        if archived is not None and pages_of(archived.document):
            raise TakesLong
        return self._taken_out(partition, effect, archived)

    def go_on(self, partition: int, effects: Sequence[Pending]) -> Handled:
        """Go on for a while to take an execution out of which the archive takes long."""
        (effect,) = effects
        execution = execution_of(effect)
        archived, found = self._search.archived(execution), self._store.load(execution, ["h"])
        if found is None:
            return Handled([effect])
        # An archive that is older is made anew, whatever its pages are.
        whole: bool | None = True
        if archived is not None and archived.version >= found[0]:
            whole = self._indexing.is_whole(execution, archived)
        if whole is None:
            return Handled(long=[effect])
        if not whole and archived is not None and archived.version > found[0]:
            # The store has lost what that is of; this is archived above it.
            self._give_later_version(partition, execution, found[0])
            return self._later(effect, _MENDED_MS)
        if whole:
            with suppress(TakesLong):
                is_done = self._taken_out(partition, effect, archived)
                return Handled([effect]) if is_done else self._later(effect, _SOON_MS)
        document = self._indexing.archived(execution)
        if document is None:
            return Handled(long=[effect])
        pages = pages_of(document.archive or b"")
        self._have_it_taken(partition, execution, document.version, pages)
        return Handled(long=[effect]) if whole else self._later(effect, _MENDED_MS)

    def _later(self, effect: Pending, later_ms: int) -> Handled:
        return Handled(later=[(effect, self._store.now_ms() + later_ms)])

    def _taken_out(self, partition: int, effect: Pending, archived: Archived | None) -> bool:
        """Take one out whose archive can be read, or archive it; whether nothing is left to do."""
        execution = execution_of(effect)
        if archived is None:
            return self._unarchived(partition, execution, effect)
        fragments = self._fragments(execution)
        if self._reader.remove(execution, archived.version) in _IS_GONE:
            # A crash before this leaves them to the collector: their owner is gone.
            self._snapshots.collect(partition, fragments)
            return True
        return self._moved_on(partition, effect, archived.version)

    def _unarchived(self, partition: int, execution: ExecutionId, effect: Pending) -> bool:
        """Archive what has ended and is not archived; whether nothing is left to do for it."""
        found = self._store.load(execution, ["h"])
        stored = found[1]["h"] if found is not None else None
        if found is None or stored is None:
            return found is None
        header = load_header(stored)
        if not archivable(header) or header.forget or not self._indexing.one(partition, effect):
            return False
        with suppress(DocumentRefused):  # it comes again before that
            self._have_it_taken(partition, execution, found[0])
        return False

    def _have_it_taken(
        self, partition: int, execution: ExecutionId, version: int, pages: Sequence[int] = ()
    ) -> None:
        """See to it that the index has the archive that it was given (``DocumentRefused``).

        An index that does not take it was told to forget it, in a later version, and the store has
        lost that removal; or it has one of that version whose pages have other tasks. A commit
        gives it a version above. Not often, as an index that loses what it is given looks the same.
        """
        archived = self._search.archived(execution)
        if archived is not None and (
            archived.version > version
            or (archived.version == version and pages_of(archived.document) == tuple(pages))
        ):
            return
        if self._store.now_ms() - version > AGAIN_MS:
            self._give_later_version(partition, execution, version)
        raise DocumentRefused(f"The index does not keep {execution}.")

    def _give_later_version(self, partition: int, execution: ExecutionId, version: int) -> None:
        id_ = f"{execution}:archive:{version}"
        again = Operation(id=id_, name="remove", arguments={"archive": True})
        post = {"kind": "post", "to": execution, "event": dump_event(again).decode()}
        self._outbox.order(partition, [(id_, orjson.dumps(post))])

    def forget(self, partition: int, effects: Sequence[Pending]) -> Handled:
        """Out of the store first: what is not there is not put into the index again."""
        handled = Handled()
        for effect in effects:
            try:
                if self._forgotten(partition, execution_of(effect), effect):
                    handled.done.append(effect)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - whatever a damaged one raises costs it alone
                _LOG.exception(
                    "An execution cannot be read and is not forgotten",
                    extra={"action": "forget_failed", "workflow_id": execution_of(effect)},
                )
        return handled

    def _forgotten(self, partition: int, execution: ExecutionId, effect: Pending) -> bool:
        # Nothing newer: should the store lose the removal and go on, it is archived again.
        found, version = self._store.load(execution, ["h", "meta"]), effect.stamp
        if found is not None:
            release_key(self._reader, execution, found[1])
            fragments = self._fragments(execution)
            outcome = self._reader.remove(execution, found[0])
            if outcome is Outcome.OK:
                version = found[0]
            elif outcome is not Outcome.GONE:
                return False
            self._snapshots.collect(partition, fragments)
        self._search.delete(execution, version)
        self._left(execution)
        return True

    def _fragments(self, execution: ExecutionId) -> tuple[str, ...]:
        """The plans that only this execution uses."""
        found = self._store.load(execution, ["h"])
        stored = found[1]["h"] if found is not None else None
        if found is None or stored is None or not load_header(stored).fragments:
            return ()
        plans: set[str] = set()
        with suppress(ExecutionChanged):  # nor is it removed then
            for fields in self._reader.scan(execution, found[0]):
                plans |= {value.decode() for name, value in fields.items() if name[:2] == "d:"}
        return tuple(plans)

    def _moved_on(self, partition: int, effect: Pending, archived: int) -> bool:
        """A newer version exists than the archive's: nothing to remove while it runs.

        When it has ended, a commit that orders no effects (an operation on what had ended already,
        the end of a child) came after its archive: archive it again, so that the next round of
        this effect finds the two alike.
        """
        execution = execution_of(effect)
        found = self._store.load(execution, ["h"])
        stored = found[1]["h"] if found is not None else None
        if stored is None or not archivable(load_header(stored)):
            return True
        if found is not None and archived > found[0]:
            # The store has lost what was archived since: the archive goes on from this version.
            return self._reader.remove(execution, found[0]) in _IS_GONE
        self._indexing.one(partition, effect)
        return False
