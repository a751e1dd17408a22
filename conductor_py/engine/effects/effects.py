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
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from conductor_py.engine.decisions.precedence import AWAITED
from conductor_py.engine.effects.indexing import Indexing
from conductor_py.engine.effects.orders import read_order
from conductor_py.engine.effects.removing import AGAIN_MS, Removing
from conductor_py.engine.patience import BATCH_MS, EffectHandler, Handled
from conductor_py.errors import Overloaded, StoreFailure, StoreUnavailable
from conductor_py.ports.outbox import Outbox, Pending
from conductor_py.ports.reader import ExecutionChanged
from conductor_py.ports.search import DocumentRefused
from conductor_py.ports.store import ExecutionStore
from conductor_py.records import dataclass, field

_LOG = logging.getLogger(__name__)
_SLICE = 20
_SLICES = {"start": 1, "post": _SLICE, "index": _SLICE, "remove": _SLICE, "forget": _SLICE}
"""Confirmed slice by slice: a worker that is killed again and again gets on all the same. The other
kinds bound their batches by time.
"""
_SOON_MS = 1_000
_A_WHILE_MS = 300_000
"""More than what takes long may take at once; then somebody else goes on with it."""


@dataclass(slots=True)
class _Batch:
    """What is carried out together; ``long`` are those that take long, with their kinds."""

    partition: int
    life: str
    long: list[tuple[str, Pending]] = field(default_factory=list)


class Effects:
    """Carries out effects in bulk."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        store: ExecutionStore,
        indexing: Indexing,
        removing: Removing,
        others: Mapping[str, EffectHandler] = MappingProxyType({}),
        elapsed_ms: Callable[[], int],
    ) -> None:
        """``others`` carry out the further kinds, those behind that take longer, but for what
        executions wait for. ``elapsed_ms`` grows evenly.
        """
        awaited = {kind: others[kind] for kind in AWAITED if kind in others}
        self._handlers: dict[str, EffectHandler] = {
            **awaited,
            "index": indexing.several,
            "remove": removing.several,
            "forget": removing.forget,
            **{kind: handler for kind, handler in others.items() if kind not in awaited},
        }
        self._goes_on: Mapping[str, EffectHandler] = {
            "index": indexing.go_on,
            "remove": removing.go_on,
        }
        self._elapsed_ms = elapsed_ms
        self._store = store
        self._outbox = outbox

    def run(self, partition: int, ids: Sequence[str]) -> int:
        """Carry out the effects of these ids and confirm those that are done; returns how many.

        Raises ``StoreUnavailable`` when the store or the index is away: everything not confirmed
        comes again. One kind that cannot be carried out does not keep the others from it.
        """
        batch = _Batch(partition, self._outbox.life(partition))
        by_kind = self._readable(partition, self._outbox.read(partition, ids))
        done, away = 0, None
        for kind in self._handlers:
            wanted = by_kind.pop(kind, [])
            began = self._elapsed_ms()
            try:
                size = _SLICES.get(kind, max(len(wanted), 1))
                for first in range(0, len(wanted), size):
                    if kind in AWAITED and self._elapsed_ms() - began > BATCH_MS:
                        break  # the others of this batch have waited, too
                    done += self._carried(batch, kind, wanted[first : first + size])
            except StoreFailure as raised:
                away = raised
        for kind, unknown in by_kind.items():
            _LOG.error(
                "Effects of an unknown kind stay in the outbox",
                extra={"action": "unknown_effect", "kind": kind, "count": len(unknown)},
            )
        try:
            done += self._gone_on(batch)
        except StoreFailure as raised:
            away = raised
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

    def _carried(self, batch: _Batch, kind: str, effects: Sequence[Pending]) -> int:
        """Carry out some of one kind; returns how many are done. When something else is wrong than
        that the store is away, each is carried out alone: one costs only itself, and comes again.
        """
        try:
            handled = self._handlers[kind](batch.partition, effects)
            batch.long += ((kind, effect) for effect in handled.long)
            return self._settle(batch, handled)
        except StoreUnavailable:
            raise
        except Exception as broken:  # noqa: BLE001 - logged when it is one effect's alone
            if len(effects) > 1:
                return sum(self._carried(batch, kind, [one]) for one in effects)
            self._unable(batch, kind, effects[0], broken)
            return 0

    def _gone_on(self, batch: _Batch) -> int:
        """Go on for a while with the first that takes long, at the end of a batch, and have the
        others come again at once. Meanwhile it is due for nobody else.
        """
        if not batch.long:
            return 0
        (kind, effect), *others = batch.long
        self._put_off(batch.partition, [other for _, other in others], 0)
        self._put_off(batch.partition, [effect], _A_WHILE_MS)
        try:
            handled = self._goes_on[kind](batch.partition, [effect])
            if handled.long:
                self._put_off(batch.partition, [effect], 0)
            return self._settle(batch, handled)
        except (Overloaded, ExecutionChanged):
            self._put_off(batch.partition, [effect], _SOON_MS)
            return 0
        except StoreUnavailable:
            self._put_off(batch.partition, [effect], _SOON_MS)
            raise
        except Exception as broken:  # noqa: BLE001 - logged
            self._unable(batch, kind, effect, broken)
            return 0

    def _unable(self, batch: _Batch, kind: str, effect: Pending, broken: Exception) -> None:
        if isinstance(broken, DocumentRefused):
            self._put_off(batch.partition, [effect], AGAIN_MS)
        _LOG.error(
            "An effect cannot be carried out; it comes again",
            exc_info=broken,
            extra={"action": "effect_failed", "kind": kind, "effect": effect.id},
        )

    def _settle(self, batch: _Batch, handled: Handled) -> int:
        """Confirm what is done and put off what is not; returns how many are done."""
        done = [(effect.id, effect.stamp) for effect in handled.done]
        self._outbox.confirm(batch.partition, done, batch.life)
        self._outbox.postpone(
            batch.partition, [(effect.id, effect.stamp, at) for effect, at in handled.later]
        )
        return len(handled.done)

    def _put_off(self, partition: int, effects: Sequence[Pending], later_ms: int) -> None:
        at = self._store.now_ms() + later_ms
        self._outbox.postpone(partition, [(effect.id, effect.stamp, at) for effect in effects])
