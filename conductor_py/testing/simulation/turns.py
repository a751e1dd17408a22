"""I5: an instant of a schedule is one scheduler's at a time, and is settled once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from conductor_py.ports.schedules import ScheduleSettlement

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

Call = Callable[..., Any]


class Turns:
    """Stands around the calls that claim and settle instants."""

    def __init__(self, world: World) -> None:
        """Know of no claim."""
        self._world = world
        self._claimed: dict[tuple[str, int, int], int] = {}

    def forget(self) -> None:
        """The clock or the store has gone back."""
        self._claimed.clear()

    def claim_due(self, call: Call, limit: int, lease_ms: int) -> Any:
        """An instant that is claimed is nobody else's until its lease has ended."""
        reply = call(limit, lease_ms)
        now, claimed, _ = reply
        for schedule in claimed:
            instant = (schedule.name, schedule.version, schedule.next_ms)
            if now < self._claimed.get(instant, 0):
                self._world.violated("I5", f"an instant of {schedule.name} is claimed twice")
            self._claimed[instant] = now + lease_ms
        return reply

    def settle(self, call: Call, settlement: ScheduleSettlement) -> Any:
        """What has moved on is not moved by a settlement of before."""
        stored = self._world.space.schedules.stored
        before = stored.get(settlement.name)
        reply = call(settlement)
        if before is None:
            return reply
        after = stored[settlement.name]
        present = before.next_ms == settlement.fired_ms
        if not present and (after.next_ms, after.version) != (before.next_ms, before.version):
            name = settlement.name
            self._world.violated("I5", f"{name} had moved on, and an old settlement moves it")
        return reply


__all__ = ["Turns"]
