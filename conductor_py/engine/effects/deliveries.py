"""Effects that leave the engine: for each kind, who carries it out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.effects.event_actions import EventActions
from conductor_py.engine.effects.event_delivery import EventDelivery
from conductor_py.engine.effects.keyed_starts import KeyedStarts
from conductor_py.engine.effects.notifications import Listeners, Notifications
from conductor_py.engine.effects.posts import Posts
from conductor_py.engine.effects.shared_admission import KIND, Admissions
from conductor_py.engine.effects.shared_limits import SharedLimits
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.patience import EffectHandler, Patience
from conductor_py.engine.payloads.disposal import DISCARD, Disposal
from conductor_py.engine.payloads.holding import PayloadHolding
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.engine.port_set import Ports
from conductor_py.engine.reading.task_index import TaskIndex
from conductor_py.engine.reading.views import Views
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.touched import EFFECT


def deliveries(
    ports: Ports,
    *,
    executor: Executor,
    executions: Executions,
    tasks: Tasks,
    operations: Operations,
    snapshots: Snapshots,
    clock: StoreClock,
    listeners: Listeners,
    patience: Patience,
    limits: SharedLimits,
    views: Views,
    payloads: PayloadReader,
    holding: PayloadHolding,
    restore: Callable[[ExecutionId], bool],
    most_bytes: int,
) -> dict[str, EffectHandler]:
    """Carry out the effects that leave the engine, by kind. ``most_bytes``: what an event handler
    makes of a message.
    """
    disposal = Disposal(ports.payloads, ports.outbox, clock, patience)
    events = EventDelivery(
        store=ports.events,
        actions=EventActions(
            ports.events,
            executions,
            tasks,
            operations,
            most_in_chain=executor.deliberation.limits.chain,
            most_bytes=most_bytes,
        ),
        scripts=ports.scripts,
        payloads=payloads,
        holding=holding,
        drop=disposal.drop,
        sinks=ports.sinks,
        clock=clock,
        patience=patience,
    )
    notifications = Notifications(
        listeners=listeners,
        webhook=ports.webhook,
        sinks=ports.sinks,
        store=ports.events,
        outbox=ports.outbox,
        payloads=payloads,
        drop=disposal.drop,
        workflow=partial(executions.document, include_tasks=False),
        task=tasks.document,
        clock=clock,
        patience=patience,
    )
    index = TaskIndex(ports.touched, ports.store, views, ports.search, clock.elapsed_ms)
    keys = KeyedStarts(executions, tasks, operations, ports.store, snapshots, payloads, clock)
    return {
        "publish": events.deliver,
        "notify": notifications.deliver,
        "start": keys.handle,
        "post": Posts(ports.store, executor, restore).handle,
        KIND: Admissions(limits, executor).handle,
        EFFECT: index.handle,
        DISCARD: disposal.handle,
    }
