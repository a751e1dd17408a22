"""I9: an execution has its own definitions, those that were registered when it began, for as long
as it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from conductor_py.adapters.memory.space import Execution
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.store import Start
from conductor_py.testing.simulation.findings import Before

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

Call = Callable[..., Any]


class OwnDefinitions:
    """Looks at the snapshots that executions name."""

    def __init__(self, world: World) -> None:
        """Read the store of ``world``."""
        self._world = world

    def unchanged(self, before: Before, stored: Execution) -> None:
        """Nobody changes the snapshot of an execution unasked."""
        was, is_ = _plan_of(before.fields), _plan_of(stored.fields)
        asked = any(b'"upgrade"' in event or b'"restart"' in event for event in before.inbox)
        if was != is_ and not asked:
            name = self._world.names.of_execution(stored.id)
            self._bad(f"the definition of {name} changes, and nobody asked for that")

    def present(self, stored: Execution, start: Start) -> None:
        """What begins has the definition that is registered at that moment."""
        if start.meta_revision is None or not self._world.scenario.registered:
            return
        space = self._world.space
        plan = space.partition(partition_of(stored.id)).plans.get(str(_plan_of(stored.fields)))
        if plan is None:
            return
        used = orjson.loads(plan.blob)["definition"]
        present = space.workflows.get(used["name"], {}).get(used.get("version", 1))
        said = orjson.loads(present).get("description") if present is not None else None
        if used.get("description") != said:
            name = self._world.names.of_execution(stored.id)
            self._bad(f"{name} begins with a definition that is not the registered one")

    def stored(self, execution: ExecutionId, plans: Iterable[str]) -> None:
        """What a start or commit names is stored."""
        there = self._world.space.of(execution).plans
        for plan in plans:
            if plan not in there:
                name = self._world.names.of_execution(execution)
                self._bad(f"{name} names a definition that is not stored")

    def collect(self, call: Call, partition: int, *given: Any) -> Any:
        """What an execution names is not collected."""
        reply = call(partition, *given)
        state = self._world.space.partition(partition)
        for stored in state.executions.values():
            if str(_plan_of(stored.fields)) not in state.plans:
                name = self._world.names.of_execution(stored.id)
                self._bad(f"the definition of {name} is collected")
        return reply

    def _bad(self, sentence: str) -> None:
        self._world.violated("I9", sentence)


def _plan_of(fields: Mapping[str, bytes]) -> object:
    return orjson.loads(fields.get("h", b"{}")).get("plan")


__all__ = ["OwnDefinitions"]
