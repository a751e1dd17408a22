"""Posts: events for executions of other partitions, which no commit reaches.

They leave by the outbox. An operation is carried out once, as it is known by its id; the end of a
child only has its parent look at it.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.patience import Handled
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.outbox import Pending
from conductor_py.ports.store import ExecutionStore


class Posts:
    """Carries out the effects of kind ``post``."""

    def __init__(self, store: ExecutionStore, executor: Executor) -> None:
        """Deliver by ``store``; ``executor`` goes on with whom it was for."""
        self._store = store
        self._executor = executor

    def handle(self, _partition: int, effects: Sequence[Pending]) -> Handled:
        """Put each event into the inbox it is for; what has left the store gets none."""
        handled = Handled()
        for effect in effects:
            post = orjson.loads(effect.document)
            holder = self._executor.name()
            reply = self._store.send(
                ExecutionId(post["to"]),
                effect.id,
                str(post["event"]).encode(),
                holder,
                self._executor.lease_ms,
            )
            self._executor.go_on(reply.loaded, holder)
            handled.done.append(effect)
        return handled
