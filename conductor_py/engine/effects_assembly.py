"""The part of an engine that carries effects out, over its ports."""

from __future__ import annotations

from collections.abc import Callable

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.effects.deliveries import deliveries
from conductor_py.engine.effects.effects import Effects
from conductor_py.engine.effects.indexing import Indexing
from conductor_py.engine.effects.notifications import Listeners
from conductor_py.engine.effects.removing import Removing
from conductor_py.engine.effects.shared_limits import SharedLimits
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.patience import Patience
from conductor_py.engine.payload_assembly import PayloadParts
from conductor_py.engine.port_set import Ports
from conductor_py.engine.reading.archiving import Archiving
from conductor_py.engine.reading.views import Views
from conductor_py.engine.reading.wide_archiving import WideArchiving
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.model.ids import ExecutionId


def effects_part(
    ports: Ports,
    *,
    clock: StoreClock,
    snapshots: Snapshots,
    views: Views,
    kept: PayloadParts,
    executor: Executor,
    operations: Operations,
    executions: Executions,
    tasks: Tasks,
    limits: SharedLimits,
    listeners: Listeners,
    patience: Patience,
    restore: Callable[[ExecutionId], bool],
    most_bytes: int,
    index_tasks: bool,
    left: Callable[[str], None],
) -> Effects:
    """Make it. ``restore`` brings an archived execution back. ``most_bytes``: what an event handler
    makes of a message. ``index_tasks`` puts tasks into the index with their execution. ``left``
    hears of an execution that is gone for good.
    """
    indexing = Indexing(
        store=ports.store,
        reader=ports.reader,
        search=ports.search,
        archiving=Archiving(ports.reader, snapshots, views, kept.holding, index_tasks=index_tasks),
        wide=WideArchiving(
            store=ports.store,
            reader=ports.reader,
            search=ports.search,
            snapshots=snapshots,
            views=views,
            holding=kept.holding,
            elapsed_ms=clock.elapsed_ms,
            index_tasks=index_tasks,
        ),
    )
    return Effects(
        outbox=ports.outbox,
        store=ports.store,
        indexing=indexing,
        removing=Removing(
            outbox=ports.outbox,
            store=ports.store,
            reader=ports.reader,
            snapshots=snapshots,
            search=ports.search,
            indexing=indexing,
            left=left,
        ),
        elapsed_ms=clock.elapsed_ms,
        others=deliveries(
            ports,
            executor=executor,
            executions=executions,
            tasks=tasks,
            operations=operations,
            snapshots=snapshots,
            clock=clock,
            listeners=listeners,
            patience=patience,
            limits=limits,
            views=views,
            payloads=kept.reader,
            holding=kept.holding,
            restore=restore,
            most_bytes=most_bytes,
        ),
    )
