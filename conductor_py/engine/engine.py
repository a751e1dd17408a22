"""The engine: one object that holds a service a noun. HTTP, and later gRPC, are thin fronts of
it.
"""

from __future__ import annotations

from collections.abc import Callable

from conductor_py.engine.auditing.audit import Auditor
from conductor_py.engine.catalog.applying import Applying
from conductor_py.engine.catalog.catalog import Catalog
from conductor_py.engine.catalog.exporting import Exporting
from conductor_py.engine.catalog.importing import Importing
from conductor_py.engine.catalog.lineage import Lineages
from conductor_py.engine.catalog.minting import Minter
from conductor_py.engine.catalog.publishing import Publishing
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.decisions.long_scripts import LongScripts
from conductor_py.engine.definitions.collection import Collector
from conductor_py.engine.definitions.definitions import Definitions
from conductor_py.engine.definitions.schemas import Schemas
from conductor_py.engine.definitions.tags import Tags
from conductor_py.engine.effects.effects import Effects
from conductor_py.engine.effects.events import Events
from conductor_py.engine.executions.awaiting import Awaiting
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.executions.lookups import Lookups
from conductor_py.engine.executions.messages import Messages
from conductor_py.engine.executions.open_tasks import OpenTasks
from conductor_py.engine.executions.quarantine import Quarantine
from conductor_py.engine.executions.recovery import Recovery
from conductor_py.engine.executions.repairs import Repairs
from conductor_py.engine.executions.steering import Steering
from conductor_py.engine.executions.trials import Trials
from conductor_py.engine.explaining.why import Why
from conductor_py.engine.health import Check, health
from conductor_py.engine.payloads.file_retention import FileRetention
from conductor_py.engine.payloads.files import Files
from conductor_py.engine.payloads.payloads import PayloadLocations
from conductor_py.engine.payloads.retention import PayloadRetention
from conductor_py.engine.quiet import Quiet
from conductor_py.engine.schedules.backfills import Backfills
from conductor_py.engine.schedules.scheduler import Scheduler
from conductor_py.engine.schedules.schedules import Schedules
from conductor_py.engine.shards import Shards
from conductor_py.engine.sweeping.erasure import Erasure
from conductor_py.engine.sweeping.queue_names import QueueNames
from conductor_py.engine.sweeping.retention import Retention
from conductor_py.engine.sweeping.sweeper import Relay, Sweeper
from conductor_py.engine.system_worker.worker import SystemWorkers
from conductor_py.engine.tasks.checkpoints import Checkpoints
from conductor_py.engine.tasks.lookout import Lookout
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.engine.tasks.workers import Workers
from conductor_py.model.json import JsonObject
from conductor_py.ports.named_values import NamedValues
from conductor_py.records import dataclass


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
    lookout: Lookout
    quiet: Quiet | None
    """Hears of all that changes the store; ``None``: others may work on it, too."""
    files: Files | None
    """Files of executions; ``None``: there are none."""
    check_script: Callable[[str], str | None]
    """Say why a JavaScript program does not parse."""
    checks: tuple[Check, ...] = ()

    def health(self) -> JsonObject:
        """Say how the stores are, in Conductor's shape: ``healthy`` and one result a store."""
        return health(self.checks)
