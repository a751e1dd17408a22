"""The parts of an engine that keep and remove payloads, over its ports."""

from __future__ import annotations

from collections.abc import Callable

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.effects.events import HELD_LIMIT
from conductor_py.engine.payloads.holding import (
    EFFECT,
    GRACE_MS,
    HELD,
    SCHEDULE,
    NotedPayloads,
    PayloadHolding,
)
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.engine.payloads.retention import PayloadRetention
from conductor_py.engine.port_set import Ports
from conductor_py.model.ids import ExecutionId, is_execution_id, partition_of
from conductor_py.model.search import OneOf, Or, SearchRequest
from conductor_py.ports.payloads import MOST_BYTES, Payloads
from conductor_py.records import dataclass
from conductor_py.wire.outside import OutsideJson

_FIELDS = ("externalInputPayloadStoragePath", "externalOutputPayloadStoragePath")


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadParts:
    """Who keeps payloads, their storage with notes of what is stored, who reads, and who removes
    them.
    """

    holding: PayloadHolding
    payloads: Payloads
    reader: PayloadReader
    retention: PayloadRetention


def payload_parts(
    ports: Ports,
    clock: StoreClock,
    limits: PayloadLimits,
    *,
    grace_ms: int | None,
    partitions: int,
) -> PayloadParts:
    """Build them; without ``grace_ms`` payloads are not collected."""
    collects, grace_ms = grace_ms is not None, grace_ms or GRACE_MS
    holders = ports.payload_holders
    holding = PayloadHolding(holders, clock, grace_ms=grace_ms, collects=collects)
    payloads = NotedPayloads(ports.payloads, holding)
    return PayloadParts(
        holding=holding,
        payloads=payloads,
        reader=PayloadReader(
            payloads,
            outside=OutsideJson(max_values=limits.values),
            most_bytes=max(MOST_BYTES, limits.largest),
        ),
        retention=PayloadRetention(
            holders if collects else None,
            ports.payloads,
            clock,
            is_there=_looks(ports, partitions),
            named_by=_finds(ports),
            grace_ms=grace_ms,
        ),
    )


def _looks(ports: Ports, partitions: int) -> Callable[[str, str], bool]:
    """Tell whether a holder still needs a payload. An execution does in the store and in the
    archive, an effect until it is carried out, messages of an event while they are kept, a schedule
    while it starts executions with it.
    ``ValueError`` for a holder of a kind that another version has.
    """

    def needs(holder: str, path: str) -> bool:
        kind, _, name = holder.partition(" ")
        if kind == EFFECT:
            partition, _, effect = name.partition(" ")
            return bool(ports.outbox.read(int(partition), [effect]))
        if kind == HELD:
            kept = ports.events.held(name, HELD_LIMIT)
            return any(path.encode() in each for each in kept)
        if kind == SCHEDULE:
            stored = ports.schedules.read([name])
            return any(path.encode() in each.document for each in stored)
        if not is_execution_id(holder):
            raise ValueError(holder)
        if partition_of(ExecutionId(holder)) >= partitions:
            return False
        is_stored = ports.store.load(ExecutionId(holder), ["h"]) is not None
        return is_stored or ports.search.archived_version(holder) is not None

    return needs


def _finds(ports: Ports) -> Callable[[str], str | None]:
    """Find an execution, by itself or by a task of it, that the index has under a path."""

    def named_by(path: str) -> str | None:
        query = Or(terms=tuple(OneOf(field=field, values=(path,)) for field in _FIELDS))
        asked = SearchRequest(query=query, size=1)
        for execution in ports.search.search(asked).results:
            return execution.execution_id
        for task in ports.search.search_tasks(asked).results:
            return task.execution_id
        return None

    return named_by
