"""The engine: one object that holds a service a noun. HTTP, and later gRPC, are thin fronts of
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conductor_py.engine.collection import Collector
from conductor_py.engine.definitions import Definitions
from conductor_py.engine.effects import Effects
from conductor_py.engine.executions import Executions
from conductor_py.engine.executor import Executor
from conductor_py.engine.payloads import PayloadLocations
from conductor_py.engine.retention import Retention
from conductor_py.engine.shards import Shards
from conductor_py.engine.sweeper import Relay, Sweeper
from conductor_py.engine.tasks import Tasks
from conductor_py.errors import ConductorError
from conductor_py.model.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Everything the engine does, by noun. ``check`` asks each store in turn and raises when one is
    away.
    """

    version: str
    executions: Executions
    tasks: Tasks
    definitions: Definitions
    payloads: PayloadLocations
    executor: Executor
    effects: Effects
    sweeper: Sweeper
    relay: Relay
    collector: Collector
    retention: Retention
    shards: Shards
    checks: tuple[tuple[str, Callable[[], object]], ...] = ()

    def health(self) -> JsonObject:
        """Say whether the stores answer, in Conductor's shape: ``healthy`` and one result a
        store.
        """
        results: list[JsonObject] = []
        for name, check in self.checks:
            try:
                check()
            except ConductorError as away:
                results.append({"name": name, "healthy": False, "message": away.message})
            else:
                results.append({"name": name, "healthy": True})
        return {
            "healthResults": results,
            "suppressedHealthResults": [],
            "healthy": all(result["healthy"] for result in results),
        }
