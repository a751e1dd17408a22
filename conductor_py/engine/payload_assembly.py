"""The parts of an engine that keep and remove payloads, over its ports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.payload_holding import (
    EFFECT,
    SCHEDULE,
    NotedPayloads,
    PayloadHolding,
)
from conductor_py.engine.payload_retention import PayloadRetention
from conductor_py.engine.port_set import Ports
from conductor_py.model.ids import ExecutionId, is_execution_id, partition_of
from conductor_py.ports.payloads import Payloads


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadParts:
    """Who keeps payloads, their storage with notes of what is stored, and who removes them."""

    holding: PayloadHolding
    payloads: Payloads
    retention: PayloadRetention


def payload_parts(
    ports: Ports, clock: StoreClock, *, grace_ms: int | None, partitions: int
) -> PayloadParts:
    """Build them; without ``grace_ms`` payloads are not collected."""
    if grace_ms is None:
        holders, grace_ms = None, 0
    else:
        holders = ports.payload_holders
    holding = PayloadHolding(holders, clock, grace_ms=grace_ms)
    return PayloadParts(
        holding=holding,
        payloads=NotedPayloads(ports.payloads, holding),
        retention=PayloadRetention(
            holders, ports.payloads, clock, is_there=_looks(ports, partitions), grace_ms=grace_ms
        ),
    )


def _looks(ports: Ports, partitions: int) -> Callable[[str, str], bool]:
    """Tell whether a holder still needs a payload. An execution does in the store and in the
    archive, an effect until it is carried out, a schedule while it starts executions with it.
    """

    def needs(holder: str, path: str) -> bool:
        kind, _, name = holder.partition(" ")
        if kind == EFFECT:
            partition, _, effect = name.partition(" ")
            return bool(ports.outbox.read(int(partition), [effect]))
        if kind == SCHEDULE:
            stored = ports.schedules.read([name])
            return any(path.encode() in each.document for each in stored)
        if not is_execution_id(holder) or partition_of(ExecutionId(holder)) >= partitions:
            return False
        is_stored = ports.store.load(ExecutionId(holder), ["h"]) is not None
        return is_stored or ports.search.archived(holder) is not None

    return needs
