"""I7: what leaves the outbox was carried out, what leaves the store is archived as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from conductor_py.adapters.memory.space import Execution
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import Outcome

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

Call = Callable[..., Any]


class Leaving:
    """Stands around the calls by which effects and executions leave."""

    def __init__(self, world: World, forgotten: set[str]) -> None:
        """Of what is ``forgotten`` nothing is to be found."""
        self._world = world
        self._forgotten = forgotten

    def confirm(self, call: Call, partition: int, done: Any, life: str) -> int:
        """I7: what leaves the outbox was carried out."""
        waiting = dict(self._world.space.partition(partition).effects)
        reply: int = call(partition, done, life)
        present = self._world.space.partition(partition).effects
        for effect, stamp in done:
            if effect not in waiting or effect in present:
                continue
            if waiting[effect][0] == stamp:
                self._carried_out(effect, stamp)
            else:
                name = self._world.names.put_into(effect)
                self._world.violated("I7", f"{name} was ordered anew, and is confirmed as before")
        return reply

    def remove(self, call: Call, execution: ExecutionId, version: int) -> Outcome:
        """I7: only what has ended, is drained and archived as it is leaves the store."""
        stored = self._find(execution)
        draining = stored is not None and stored.is_draining()
        reply: Outcome = call(execution, version)
        if reply is Outcome.OK and stored is not None:
            name = self._world.names.of_execution(execution)
            if not stored.terminal or stored.inbox or draining or stored.version != version:
                self._world.violated("I7", f"{name} leaves the store before its time")
            archived = self._world.ports.search.archived(execution)
            known = archived is not None and archived.version >= version
            if not known and execution not in self._forgotten:
                self._world.violated("I7", f"{name} leaves the store and is not archived as it was")
            self._nothing_left(execution)
        return reply

    def _nothing_left(self, execution: ExecutionId) -> None:
        """I3: what leaves the store leaves nothing behind in it."""
        partition = self._world.space.of(execution)
        groups = {
            "queues": (*partition.ready.values(), *partition.delayed.values()),
            "timers": tuple(partition.timers.values()),
            "permits": tuple(partition.permits.values()),
        }
        for what, sets in groups.items():
            left = [name for one in sets for name in one.scores if execution in name]
            if left:
                name = self._world.names.of_execution(execution)
                self._world.violated("I3", f"{name} leaves the store, and not the {what}")

    def restore(self, call: Call, restore: Any) -> Outcome:
        """What comes back from the archive begins anew for what is remembered of its claims."""
        reply: Outcome = call(restore)
        if reply is Outcome.OK:
            stored = self._find(restore.execution)
            archived = self._world.ports.search.archived(restore.execution)
            if stored is not None and archived and stored.version <= archived.version:
                name = self._world.names.of_execution(restore.execution)
                self._world.violated(
                    "I7", f"{name} comes back with a version that is not above its archive's"
                )
        return reply

    def _carried_out(self, effect: str, stamp: int) -> None:
        execution, _, kind = effect.partition(":")
        if kind not in {"index", "remove"} or execution in self._forgotten:
            return
        stored = self._find(ExecutionId(execution))
        archived = self._world.ports.search.archived(execution)
        name = self._world.names.of_execution(execution)
        if stored is None:
            if archived is None:
                self._world.violated(
                    "I7", f"{name} is nowhere, and its order '{kind}' is confirmed"
                )
            return
        settled = stored.terminal and not stored.is_draining() and stored.version == stamp
        if settled and kind == "index" and (archived is None or archived.version < stamp):
            self._world.violated("I7", f"{name} is not archived, and the order for it is confirmed")
        if settled and kind == "remove":
            self._world.violated("I7", f"{name} is still there, and its removal is confirmed")

    def _find(self, execution: ExecutionId) -> Execution | None:
        return self._world.space.of(execution).executions.get(execution)


__all__ = ["Leaving"]
