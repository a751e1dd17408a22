"""The ports of one engine, an adapter behind each. Which these are is decided above (``wiring``,
``testing``).
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.ports.catalog import CatalogStore
from conductor_py.ports.checkpoints import CheckpointStore
from conductor_py.ports.damage import DamageStore
from conductor_py.ports.erasure import Eraser, RemovalRecord
from conductor_py.ports.events import EventStore, Sink, Webhook
from conductor_py.ports.files import FileContents, FileRecords, ServedContents
from conductor_py.ports.inspector import Inspector
from conductor_py.ports.lock import Lock
from conductor_py.ports.metadata import MetadataStore, PlanStore
from conductor_py.ports.named_values import NamedValues
from conductor_py.ports.outbox import Outbox
from conductor_py.ports.output_cache import OutputCache
from conductor_py.ports.payload_holders import PayloadHolders
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.permits import Permits
from conductor_py.ports.presence import Presence
from conductor_py.ports.quarantine import QuarantineStore
from conductor_py.ports.queues import TaskQueues
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.schedules import ScheduleStore
from conductor_py.ports.scripts import Scripts
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore
from conductor_py.ports.timers import Timers
from conductor_py.ports.touched import TouchedTasks
from conductor_py.ports.wakeups import Wakeups
from conductor_py.ports.worker_numbers import WorkerNumbers
from conductor_py.records import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePorts:
    """Where files and their records are; ``served`` when this server itself serves the bytes."""

    records: FileRecords
    contents: FileContents
    served: ServedContents | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePorts:
    """The record of removals, and the files of this deployment that hold what was removed."""

    record: RemovalRecord
    erasers: tuple[Eraser, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """One adapter a port."""

    store: ExecutionStore
    reader: ExecutionReader
    queues: TaskQueues
    permits: Permits
    timers: Timers
    outbox: Outbox
    touched: TouchedTasks
    metadata: MetadataStore
    catalog: CatalogStore
    events: EventStore
    plans: PlanStore
    wakeups: Wakeups
    payloads: Payloads
    payload_holders: PayloadHolders
    search: Search
    scripts: Scripts
    secrets: NamedValues
    environment: NamedValues
    cache: OutputCache
    schedules: ScheduleStore
    presence: Presence
    inspector: Inspector
    quarantine: QuarantineStore
    damage: DamageStore
    checkpoints: CheckpointStore
    numbers: WorkerNumbers
    sinks: Mapping[str, Sink] = field(default_factory=dict)
    webhook: Webhook | None = None
    files: FilePorts | None = None
    lock: Lock | None = None
    """Who decides, when that is not the lease inside the store."""
    erasure: ErasurePorts | None = None
