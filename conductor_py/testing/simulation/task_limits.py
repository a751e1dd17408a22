"""I10: how many claims of a task definition there are at once, and within a window."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from conductor_py.adapters.memory.claims import attempt_of, claim_side, is_open
from conductor_py.adapters.memory.space import Execution
from conductor_py.model.ids import ExecutionId

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World


class TaskLimits:
    """The claims that were handed out, counted without the store's own permits."""

    def __init__(self, world: World) -> None:
        """Know of no claim."""
        self._world = world
        self._held: dict[tuple[str, str, int], int] = {}
        self._times: defaultdict[str, list[int]] = defaultdict(list)

    def forget(self) -> None:
        """Know of no claim any more."""
        self._held.clear()
        self._times.clear()

    def handed_out(
        self, place: tuple[str, int], attempt: dict[str, Any], claim: int, now: int
    ) -> None:
        """See that a claim is within the limits of its definition, whatever partition it is in."""
        definition, limit = attempt["def"], attempt["lim"]
        if limit:
            others = sum(self._is_held(other, now) for other in self._of(definition))
            if others >= limit:
                task = self._world.names.of_attempt(*place)
                self._world.violated("I10", f"{task} is above the limit of {definition}")
            self._held[definition, *place] = claim
        rate, window_ms = attempt["rl"], attempt["rw"]
        if rate and window_ms:
            times = self._times[definition]
            times.append(now)
            within = sum(1 for at in times if now - window_ms < at <= now)
            if within > rate:
                said = f"{within} claims of {definition} within {window_ms} ms"
                self._world.violated("I10", said)

    def _of(self, definition: str) -> list[tuple[str, str, int]]:
        return [held for held in self._held if held[0] == definition]

    def _is_held(self, held: tuple[str, str, int], now: int) -> bool:
        """Tell whether a claim holds its task still; one that does not is forgotten."""
        stored, seq = self._find(held[1]), held[2]
        side = claim_side(stored, seq) if stored is not None else None
        if stored is None or side is None or not side.held or side.k != self._held[held]:
            del self._held[held]
            return False
        return (side.until == 0 or side.until > now) and _open(stored, seq)

    def _find(self, execution: str) -> Execution | None:
        known = ExecutionId(execution)
        return self._world.space.of(known).executions.get(known)


def _open(stored: Execution, seq: int) -> bool:
    text = stored.fields.get(f"a:{seq}")
    return text is not None and is_open(stored, seq, attempt_of(text))


__all__ = ["TaskLimits"]
