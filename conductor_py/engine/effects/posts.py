"""Posts: events for executions of other partitions, which no commit reaches.

They leave by the outbox. Each order is carried out once, as it is known by its id and stamp; the
end of a child only has its parent look at it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

import orjson

from conductor_py.codec.event import dump_event, load_event
from conductor_py.codec.execution import load_attempt, load_header
from conductor_py.decider import parents_word
from conductor_py.decider.adoption import ASKED_BY_PARENT, is_asked_by_parent
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.patience import Handled
from conductor_py.errors import Conflict, StoreUnavailable
from conductor_py.model.event import ChildEnded, ChildRevived, Event, Operation
from conductor_py.model.ids import ExecutionId, split_task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.status import WorkflowStatus
from conductor_py.ports.outbox import Pending
from conductor_py.ports.store import ExecutionStore, Outcome

_LOG = logging.getLogger(__name__)
_AGAIN_MS: Final = 5_000


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
        """Put each event into the inbox it is for. What has left the store is brought back for a
        retry that its parent waits for, and to hear of a child that has begun anew.
        """
        handled = Handled()
        for effect in effects:
            post = orjson.loads(effect.document)
            to, event = ExecutionId(post["to"]), str(post["event"]).encode()
            name = f"{effect.id}:{effect.stamp}"
            if not self._send(to, name, event):
                try:
                    self._missed(to, name, load_event(event))
                except StoreUnavailable:  # it takes room, or the index: the others take neither
                    handled.later.append((effect, self._store.now_ms() + _AGAIN_MS))
                    continue
            handled.done.append(effect)
        return handled

    def _send(self, to: ExecutionId, name: str, event: bytes) -> bool:
        """Send it, and go on with whom it is for; false when the store has no such execution."""
        holder = self._executor.name()
        reply = self._store.send(to, name, event, holder, self._executor.lease_ms)
        self._executor.go_on(reply.loaded, holder)
        return reply.outcome is not Outcome.GONE

    def _missed(self, to: ExecutionId, name: str, event: Event) -> None:
        """What becomes of an event whose receiver left the store since its sender has looked."""
        if isinstance(event, ChildRevived) and self._is_back(to):
            self._send(to, name, dump_event(event))
        elif isinstance(event, Operation) and is_asked_by_parent(event):
            self._retry(to, name, event)

    def _retry(self, child: ExecutionId, name: str, retry: Operation) -> None:
        """Retry a child that left, if its parent waits for it. A termination may have come before
        it was back, and found nobody; a parent whose child cannot be brought back looks again.
        """
        parent, seq = split_task_id(retry.id.removeprefix(ASKED_BY_PARENT))
        if self._word_after(parent, seq) is not None:
            return
        if self._is_back(child) and self._send(child, name, dump_event(retry)):
            word = self._word_after(parent, seq)
            if word is not None:
                arguments: JsonObject = {
                    "reason": "Parent workflow has ended",
                    parents_word.WORD: word,
                }
                end = Operation(id=f"{name}:late", name="terminate", arguments=arguments)
                self._send(child, end.id, dump_event(end))
            return
        gone = ChildEnded(
            seq=seq,
            child=child,
            child_generation=0,
            status=WorkflowStatus.TERMINATED,
            reason=None,
            output={},
        )
        self._send(parent, f"{name}:gone", dump_event(gone))

    def _word_after(self, parent: ExecutionId, seq: int) -> int | None:
        """Number a word of a parent whose task waits no more; ``None`` when it waits."""
        found = self._store.load(parent, ["h", f"a:{seq}"])
        fields = found[1] if found is not None else {}
        header, attempt = fields.get("h"), fields.get(f"a:{seq}")
        if header is None or attempt is None:
            return parents_word.leaving(seq + 1)
        head = load_header(header)
        is_current = not head.status.terminal and seq >= head.first_seq
        waits = is_current and load_attempt(seq, attempt).open
        return None if waits else parents_word.leaving(head.next_seq)

    def _is_back(self, execution: ExecutionId) -> bool:
        try:
            return self._restore(execution)
        except StoreUnavailable:
            raise
        except Conflict:
            return False  # archived without what that needs
        except Exception:  # noqa: BLE001 - whatever a damaged archive raises
            facts = {"action": "restore_failed", "workflow_id": execution}
            _LOG.exception("An archived execution cannot be brought back", extra=facts)
            return False
