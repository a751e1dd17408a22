"""What a process stands on, and how it is just now.

Nothing executes without the store. A store that is full takes nothing new while what it has taken
goes on, and without the index executions go on unfound: both are degraded, which is no reason to
take a server out of service. ``healthy`` is false only for what is down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from conductor_py.errors import ConductorError, StoreFull
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass

UP: Final = "UP"
DEGRADED: Final = "DEGRADED"
DOWN: Final = "DOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing to ask: ``ask`` raises ConductorError when it is not well. Executions need what is
    ``vital`` to go on.
    """

    name: str
    ask: Callable[[], object]
    vital: bool = True

    def result(self) -> JsonObject:
        """Ask, and say how it is; ``message`` says what is wrong."""
        try:
            self.ask()
        except ConductorError as wrong:
            degraded = not self.vital or isinstance(wrong, StoreFull)
            return {
                "name": self.name,
                "healthy": degraded,
                "status": DEGRADED if degraded else DOWN,
                "message": wrong.message,
            }
        return {"name": self.name, "healthy": True, "status": UP}


def health(checks: Iterable[Check]) -> JsonObject:
    """Say how everything is, in Conductor's shape: ``healthy``, and one result each."""
    results = [check.result() for check in checks]
    return {
        "healthResults": results,
        "suppressedHealthResults": [],
        "healthy": all(result["healthy"] for result in results),
    }
