"""Posts: events for executions of other partitions, which no commit reaches.

They leave by the outbox. Each order is carried out once, as it is known by its id and stamp; the
end of a child only has its parent look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson

from conductor_py.codec.event import dump_event, load_event
from conductor_py.decider.adoption import ASKED_BY_PARENT, is_asked_by_parent
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.patience import Handled
from conductor_py.errors import Conflict
from conductor_py.model.event import ChildEnded, Operation
from conductor_py.model.ids import ExecutionId, split_task_id
from conductor_py.model.status import WorkflowStatus
from conductor_py.ports.outbox import Pending
from conductor_py.ports.store import ExecutionStore, Outcome


class Posts:
    """Carries out the effects of kind ``post``."""

    def __init__(
        self, store: ExecutionStore, executor: Executor, restore: Callable[[ExecutionId], bool]
    ) -> None:
        """Deliver by ``store``; ``executor`` goes on with whom it was for. ``restore`` brings an
        archived execution back.
        """
        self._store = store
        self._executor = executor
        self._restore = restore

    def handle(self, _partition: int, effects: Sequence[Pending]) -> Handled:
        """Put each event into the inbox it is for. What has left the store is brought back for it,
        but for the end of a child: who has ended, too, does not wait for it.
        """
        handled = Handled()
        for effect in effects:
            post = orjson.loads(effect.document)
            to, event = ExecutionId(post["to"]), str(post["event"]).encode()
            name = f"{effect.id}:{effect.stamp}"
            if not self._send(to, name, event):
                self._missed(to, name, event)
            handled.done.append(effect)
        return handled

    def _send(self, to: ExecutionId, name: str, event: bytes) -> bool:
        """Send it, and go on with whom it is for; false when the store has no such execution."""
        holder = self._executor.name()
        reply = self._store.send(to, name, event, holder, self._executor.lease_ms)
        self._executor.go_on(reply.loaded, holder)
        return reply.outcome is not Outcome.GONE

    def _missed(self, to: ExecutionId, name: str, stored: bytes) -> None:
        """Bring back who left the store since the sender has looked. A parent whose child cannot be
        brought back looks again.
        """
        event = load_event(stored)
        if isinstance(event, ChildEnded) or (self._is_back(to) and self._send(to, name, stored)):
            return
        if not (isinstance(event, Operation) and is_asked_by_parent(event)):
            return
        parent, seq = split_task_id(event.id.removeprefix(ASKED_BY_PARENT))
        gone = ChildEnded(
            seq=seq,
            child=to,
            child_generation=0,
            status=WorkflowStatus.TERMINATED,
            reason=None,
            output={},
        )
        self._send(parent, f"{name}:gone", dump_event(gone))

    def _is_back(self, execution: ExecutionId) -> bool:
        try:
            return self._restore(execution)
        except Conflict:
            return False  # archived without what that needs
