"""Effects: what commits ordered to be done outside. At least once, idempotent by effect id,
confirmed when done.

``index`` puts an execution into the index as it is now, with its archive when it has ended and is
drained; ``remove`` takes a finished execution out of the store once the archive holds exactly that
version; ``forget`` takes one out of store, index and archive, without a trace. What is wrong with
one execution never keeps the effects of another from being carried out.

A worker may be killed at any moment, so what executions wait for goes first, and what is done is
confirmed in small slices.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import orjson

from conductor_py.codec.event import dump_event
from conductor_py.codec.execution import load_header
from conductor_py.engine.decisions.precedence import AWAITED
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.effects.orders import read_order
from conductor_py.engine.patience import BATCH_MS, EffectHandler, Handled
from conductor_py.engine.reading.archiving import Archiving, archivable
from conductor_py.errors import Overloaded, StoreDamaged, StoreFailure, StoreUnavailable
from conductor_py.model.event import Operation
from conductor_py.model.ids import ExecutionId
from conductor_py.model.search import ExecutionDocument
from conductor_py.ports.outbox import Outbox, Pending
from conductor_py.ports.reader import ExecutionReader, Whole
from conductor_py.ports.search import DocumentRefused, Search
from conductor_py.ports.store import ExecutionStore, Outcome
from conductor_py.wire.outside import PLACE

_LOG = logging.getLogger(__name__)
_SLICE = 20
_HEAVY_S = 10.0
_SLICES = {"start": 1, "post": _SLICE, "index": _SLICE, "remove": _SLICE, "forget": _SLICE}
"""Confirmed slice by slice: a worker that is killed again and again gets on all the same. The other
kinds bound their batches by time.
"""
_AGAIN_MS = 600_000
"""How long an index may refuse what has ended before that gets another version, and after which a
document is put again that was refused.
"""
_IS_GONE = {Outcome.OK, Outcome.GONE}
_INDEX_FAILS = (StoreUnavailable, DocumentRefused)
"""What is no fault of an execution that is read."""


class Effects:
    """Carries out effects in bulk."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        store: ExecutionStore,
        reader: ExecutionReader,
        snapshots: Snapshots,
        search: Search,
        archiving: Archiving,
        others: Mapping[str, EffectHandler] = MappingProxyType({}),
        elapsed_ms: Callable[[], int],
        left: Callable[[str], None],
    ) -> None:
        """``others`` carry out the further kinds, those behind that take longer, but for what
        executions wait for. ``elapsed_ms`` grows evenly; ``left`` hears of executions that are
        gone for good.
        """
        awaited = {kind: others[kind] for kind in AWAITED if kind in others}
        self._handlers: dict[str, EffectHandler] = {
            **awaited,
            "index": lambda partition, effects: Handled(self._index(partition, effects)),
            "remove": lambda partition, effects: Handled(self._remove(partition, effects)),
            "forget": lambda partition, effects: Handled(self._forget(partition, effects)),
            **{kind: handler for kind, handler in others.items() if kind not in awaited},
        }
        self._elapsed_ms = elapsed_ms
        self._store = store
        self._snapshots = snapshots
        self._outbox = outbox
        self._reader = reader
        self._search = search
        self._archiving = archiving
        self._left = left

    def run(self, partition: int, ids: Sequence[str]) -> int:
        """Carry out the effects of these ids and confirm those that are done; returns how many.

        Raises ``StoreUnavailable`` when the store or the index is away: everything not confirmed
        comes again. One kind that cannot be carried out does not keep the others from it.
        """
        life = self._outbox.life(partition)
        by_kind = self._readable(partition, self._outbox.read(partition, ids))
        done, away = 0, None
        for kind, handle in self._handlers.items():
            wanted = by_kind.pop(kind, [])
            began = self._elapsed_ms()
            try:
                size = _SLICES.get(kind, max(len(wanted), 1))
                for first in range(0, len(wanted), size):
                    if kind in AWAITED and self._elapsed_ms() - began > BATCH_MS:
                        break  # the others of this batch have waited, too
                    done += self._carried(
                        partition, kind, handle, wanted[first : first + size], life
                    )
            except StoreFailure as raised:
                away = raised
        for kind, unknown in by_kind.items():
            _LOG.error(
                "Effects of an unknown kind stay in the outbox",
                extra={"action": "unknown_effect", "kind": kind, "count": len(unknown)},
            )
        if away is not None:
            raise away
        return done

    def _readable(self, partition: int, pending: Sequence[Pending]) -> dict[str, list[Pending]]:
        """The effects by kind; those that lack what they order are put aside."""
        by_kind: dict[str, list[Pending]] = {}
        damaged: list[tuple[str, int, str]] = []
        for effect in pending:
            kind, problem = read_order(effect)
            if problem:
                damaged.append((effect.id, effect.stamp, problem))
            else:
                by_kind.setdefault(kind, []).append(effect)
        self._outbox.put_aside(partition, damaged)
        return by_kind

    def _carried(
        self,
        partition: int,
        kind: str,
        handle: EffectHandler,
        effects: Sequence[Pending],
        life: str,
    ) -> int:
        """Carry out some of one kind; returns how many are done. When something else is wrong than
        that the store is away, each is carried out alone: one costs only itself, and comes again.
        """
        try:
            return self._settle(partition, handle(partition, effects), life)
        except StoreUnavailable:
            raise
        except Exception as broken:  # noqa: BLE001 - logged when it is one effect's alone
            if len(effects) > 1:
                return sum(self._carried(partition, kind, handle, [one], life) for one in effects)
            if isinstance(broken, DocumentRefused):
                again = (effects[0].id, effects[0].stamp, self._store.now_ms() + _AGAIN_MS)
                self._outbox.postpone(partition, [again])
            _LOG.exception(
                "An effect cannot be carried out; it comes again",
                extra={"action": "effect_failed", "kind": kind, "effect": effects[0].id},
            )
            return 0

    def _settle(self, partition: int, handled: Handled, life: str) -> int:
        """Confirm what is done and put off what is not; returns how many are done."""
        done = [(effect.id, effect.stamp) for effect in handled.done]
        self._outbox.confirm(partition, done, life)
        self._outbox.postpone(
            partition, [(effect.id, effect.stamp, at) for effect, at in handled.later]
        )
        return len(handled.done)

    def _index(self, partition: int, effects: Sequence[Pending]) -> list[Pending]:
        documents: list[ExecutionDocument] = []
        done: list[Pending] = []
        small = self._reader.several(partition, [_execution(effect) for effect in effects])
        for effect in effects:
            execution = _execution(effect)
            try:
                with PLACE.scope():
                    document = self._read(execution, small.get(execution))
                    if document is not None and PLACE.is_own:
                        self._search.put([document])  # a wide one, while it has the place
                    elif document is not None:
                        documents.append(document)
            except Overloaded:
                continue  # it comes again
            except _INDEX_FAILS:
                raise
            except Exception:  # noqa: BLE001 - whatever a damaged one raises costs it alone
                _LOG.exception(
                    "An execution cannot be indexed",
                    extra={"action": "index_failed", "workflow_id": execution},
                )
                continue
            done.append(effect)
        if documents:
            self._search.put(documents)
        return done

    def _read(self, execution: ExecutionId, read: Whole | None) -> ExecutionDocument | None:
        """Make the document of an execution, which may have been ``read`` with others."""
        if read is None:
            found = self._reader.snapshot(execution, before_more=_be_heavy)
            if found is None:
                return None
            read = Whole(version=found[0], fields=found[1])
        return self._archiving.document(execution, read)

    def _remove(self, partition: int, effects: Sequence[Pending]) -> list[Pending]:
        plain = self._archived(map(_execution, effects))
        outcomes = zip(plain, self._reader.remove_plain(partition, plain), strict=True)
        gone = {id_ for (id_, _), outcome in outcomes if outcome in _IS_GONE}
        done: list[Pending] = []
        for effect in effects:
            execution = _execution(effect)
            try:
                if execution in gone or self._removed(partition, execution, effect):
                    done.append(effect)
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
        return done

    def _archived(self, executions: Iterable[ExecutionId]) -> list[tuple[ExecutionId, int]]:
        """Those whose archive can be read, with its version; what is wrong with one is told where
        it is alone. Damage may look like an index that is away: two are not damaged at once.
        """
        found: list[tuple[ExecutionId, int]] = []
        away: StoreUnavailable | None = None
        for execution in executions:
            try:
                archived = self._search.archived(execution)
            except StoreDamaged:
                continue
            except StoreUnavailable as raised:
                if away is not None:
                    raise
                away = raised
                continue
            if archived is not None:
                found.append((execution, archived.version))
        return found

    def _removed(self, partition: int, execution: ExecutionId, effect: Pending) -> bool:
        """Take one execution out; whether nothing is left to do for this effect."""
        archived = self._search.archived(execution)
        if archived is None:
            return self._unarchived(partition, execution, effect)
        fragments = self._fragments(execution)
        if self._reader.remove(execution, archived.version) in _IS_GONE:
            # A crash before this leaves them to the collector: their owner is gone.
            self._snapshots.collect(partition, fragments)
            return True
        return self._moved_on(partition, effect, archived.version)

    def _unarchived(self, partition: int, execution: ExecutionId, effect: Pending) -> bool:
        """Archive what has ended and is not archived; whether nothing is left to do for it.

        An index that does not take it was told to forget it, in a later version, and the store has
        lost that removal: a commit gives it a version above. Not often, as an index that loses what
        it is given looks the same.
        """
        found = self._store.load(execution, ["h"])
        stored = found[1]["h"] if found is not None else None
        if found is None or stored is None:
            return found is None
        header = load_header(stored)
        if not archivable(header) or header.forget or not self._index(partition, [effect]):
            return False
        is_old = self._store.now_ms() - found[0] > _AGAIN_MS
        if is_old and self._search.archived_version(execution) is None:
            id_ = f"{execution}:archive:{found[0]}"
            again = Operation(id=id_, name="remove", arguments={"archive": True})
            post = {"kind": "post", "to": execution, "event": dump_event(again).decode()}
            self._outbox.order(partition, [(id_, orjson.dumps(post))])
        return False

    def _forget(self, partition: int, effects: Sequence[Pending]) -> list[Pending]:
        """Out of the store first: what is not there is not put into the index again."""
        done: list[Pending] = []
        for effect in effects:
            try:
                if self._forgotten(partition, _execution(effect), effect):
                    done.append(effect)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - whatever a damaged one raises costs it alone
                _LOG.exception(
                    "An execution cannot be read and is not forgotten",
                    extra={"action": "forget_failed", "workflow_id": _execution(effect)},
                )
        return done

    def _forgotten(self, partition: int, execution: ExecutionId, effect: Pending) -> bool:
        # Nothing newer: should the store lose the removal and go on, it is archived again.
        found, version = self._store.load(execution, ["h"]), effect.stamp
        if found is not None:
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
        if stored is None or not load_header(stored).fragments:
            return ()
        whole = self._reader.snapshot(execution)
        fields = whole[1] if whole is not None else {}
        return tuple({value.decode() for name, value in fields.items() if name.startswith("d:")})

    def _moved_on(self, partition: int, effect: Pending, archived: int) -> bool:
        """A newer version exists than the archive's: nothing to remove while it runs.

        When it has ended, a commit that orders no effects (an operation on what had ended already,
        the end of a child) came after its archive: archive it again, so that the next round of
        this effect finds the two alike.
        """
        execution = _execution(effect)
        found = self._store.load(execution, ["h"])
        stored = found[1]["h"] if found is not None else None
        if stored is None or not archivable(load_header(stored)):
            return True
        if found is not None and archived > found[0]:
            # The store has lost what was archived since: the archive goes on from this version.
            return self._reader.remove(execution, found[0]) in _IS_GONE
        self._index(partition, [effect])
        return False


def _be_heavy(_size: int) -> None:
    """Have the place of what is heavy; ``Overloaded`` when it does not come free in time."""
    if not PLACE.take(_HEAVY_S):
        raise Overloaded


def _execution(effect: Pending) -> ExecutionId:
    return ExecutionId(effect.id.split(":", 1)[0])
