"""I8: no child goes on when what waits for it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from conductor_py.adapters.memory.space import Execution
from conductor_py.testing.simulation.findings import Before

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

_OPEN = frozenset({"SCHEDULED", "IN_PROGRESS"})


class Families:
    """Looks at the children of what ends."""

    def __init__(self, world: World) -> None:
        """Read the store of ``world``."""
        self._world = world

    def ended(self, before: Before, stored: Execution, fields: Any) -> None:
        """After a commit: the child of a task that it has ended has ended, or is told to."""
        for name, text in fields.items():
            if not name.startswith("a:") or b'"child"' not in text:
                continue
            a, was = orjson.loads(text), before.fields.get(name)
            if a["st"] in _OPEN or a.get("foll") or was is None:
                continue
            child = self._orphan(a["child"])
            if orjson.loads(was)["st"] in _OPEN and child is not None:
                names = self._world.names
                self._world.violated(
                    "I8",
                    f"{a['ref']} of {names.of_execution(stored.id)} has ended, and its child "
                    f"{names.of_execution(child.id)} goes on",
                )

    def _orphan(self, execution: str) -> Execution | None:
        """Find a child that runs, was never begun anew, and has no event to come."""
        for partition in self._world.space.partitions:
            child = partition.executions.get(execution)
            if child is not None and not child.terminal and not child.inbox:
                return child if child.generation == 1 else None
        return None


__all__ = ["Families"]
