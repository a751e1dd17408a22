"""I5: what is sent again after its answer was lost is answered as before, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from conductor_py.adapters.memory.changes import answer_of
from conductor_py.adapters.memory.space import Execution
from conductor_py.ports.store import Commit, Outcome, Start
from conductor_py.testing.simulation.findings import Before

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World


class Repeats:
    """Looks at calls whose operation the store knows already."""

    def __init__(self, world: World) -> None:
        """Read the store of ``world``."""
        self._world = world

    def commit(self, before: Before, stored: Execution, commit: Commit, outcome: Outcome) -> None:
        """A commit that was the last one."""
        name = self._world.names.of_execution(stored.id)
        if before.last != commit.operation:
            return
        if outcome is not Outcome.OK:
            self._bad(f"a commit on {name} that was applied is refused when it is sent again")
        if not before.is_still(stored):
            self._bad(f"a commit on {name} is applied again")

    def start(self, start: Start, there: Execution | None, outcome: Outcome) -> None:
        """A start that had succeeded."""
        begun = there is not None and there.begun == start.operation
        if begun and outcome is not Outcome.OK:
            name = self._world.names.of_execution(start.execution)
            self._bad(f"the start of {name} is refused when it is sent again")

    def send(
        self, stored: Execution | None, operation: str, call: Callable[..., Any], *given: Any
    ) -> Any:
        """An operation that waits for its answer, or has it."""
        known = stored is not None and answer_of(stored, operation, self._world.space.clock())
        waiting = len(stored.inbox) if stored is not None else 0
        reply = call(*given)
        if stored is not None and known and len(stored.inbox) != waiting:
            name = self._world.names.of_execution(stored.id)
            self._bad(f"an operation on {name} is put into its inbox again")
        return reply

    def _bad(self, sentence: str) -> None:
        self._world.violated("I5", sentence)


__all__ = ["Repeats"]
