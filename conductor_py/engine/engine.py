"""The engine: one object that holds a service a noun. HTTP, and later gRPC, are thin fronts of
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conductor_py.engine.applying import Applying
from conductor_py.engine.audit import Auditor
from conductor_py.engine.awaiting import Awaiting
from conductor_py.engine.backfills import Backfills
from conductor_py.engine.catalog import Catalog
from conductor_py.engine.checkpoints import Checkpoints
from conductor_py.engine.collection import Collector
from conductor_py.engine.definitions import Definitions
from conductor_py.engine.effects import Effects
from conductor_py.engine.erasure import Erasure
from conductor_py.engine.events import Events
from conductor_py.engine.executions import Executions
from conductor_py.engine.executor import Executor
from conductor_py.engine.exporting import Exporting
from conductor_py.engine.file_retention import FileRetention
from conductor_py.engine.files import Files
from conductor_py.engine.importing import Importing
from conductor_py.engine.lineage import Lineages
from conductor_py.engine.long_scripts import LongScripts
from conductor_py.engine.lookups import Lookups
from conductor_py.engine.messages import Messages
from conductor_py.engine.minting import Minter
from conductor_py.engine.open_tasks import OpenTasks
from conductor_py.engine.payload_retention import PayloadRetention
from conductor_py.engine.payloads import PayloadLocations
from conductor_py.engine.publishing import Publishing
from conductor_py.engine.quarantine import Quarantine
from conductor_py.engine.queue_names import QueueNames
from conductor_py.engine.quiet import Quiet
from conductor_py.engine.recovery import Recovery
from conductor_py.engine.repairs import Repairs
from conductor_py.engine.retention import Retention
from conductor_py.engine.scheduler import Scheduler
from conductor_py.engine.schedules import Schedules
from conductor_py.engine.schemas import Schemas
from conductor_py.engine.shards import Shards
from conductor_py.engine.steering import Steering
from conductor_py.engine.sweeper import Relay, Sweeper
from conductor_py.engine.system_worker import SystemWorkers
from conductor_py.engine.tags import Tags
from conductor_py.engine.tasks import Tasks
from conductor_py.engine.trials import Trials
from conductor_py.engine.why import Why
from conductor_py.engine.workers import Workers
from conductor_py.errors import ConductorError
from conductor_py.model.json import JsonObject
from conductor_py.ports.named_values import NamedValues


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Everything the engine does, by noun. ``check`` asks each store in turn and raises when one is
    away.
    """

    version: str
    executions: Executions
    steering: Steering
    checkpoints: Checkpoints
    awaiting: Awaiting
    tasks: Tasks
    definitions: Definitions
    catalog: Catalog
    publishing: Publishing
    lineages: Lineages
    exporting: Exporting
    importing: Importing
    applying: Applying
    schemas: Schemas
    tags: Tags
    secrets: NamedValues
    environment: NamedValues
    events: Events
    payloads: PayloadLocations
    executor: Executor
    effects: Effects
    long_scripts: LongScripts
    sweeper: Sweeper
    relay: Relay
    collector: Collector
    auditor: Auditor
    quarantine: Quarantine
    queue_names: QueueNames
    why: Why
    retention: Retention
    payload_retention: PayloadRetention
    erasure: Erasure
    shards: Shards
    workers: Workers
    system_workers: SystemWorkers
    schedules: Schedules
    scheduler: Scheduler
    backfills: Backfills
    trials: Trials
    lookups: Lookups
    open_tasks: OpenTasks
    repairs: Repairs
    recovery: Recovery
    messages: Messages
    codes: Minter
    file_retention: FileRetention
    quiet: Quiet | None
    """Hears of all that changes the store; ``None``: others may work on it, too."""
    files: Files | None
    """Files of executions; ``None``: there are none."""
    check_script: Callable[[str], str | None]
    """Say why a JavaScript program does not parse."""
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
