"""Cached outputs: a worker task whose output is known already is not done again.

``cacheConfig`` of a task gives a key and a life. The key may name members of the task's own input
(``${customer}-${region}``), and anything else that an expression reads. It belongs to the
workflow's name, the task's reference and its name, which a DYNAMIC task learns as it runs: tasks
that share not all three share no outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider.expressions.expressions import TooLarge, compile_template, resolve
from conductor_py.decider.need import CachedWanted, Evaluated, digest
from conductor_py.decider.parameters import Reader
from conductor_py.decider.references import lookup_in
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.decision import Kept
from conductor_py.model.execution import Attempt, External
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.status import TaskStatus
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True)
class CacheRule:
    """What a task's ``cacheConfig`` says."""

    key: str
    ttl_ms: int


def rule_of(spot: Spot) -> CacheRule | None:
    """The rule of a task, ``None`` when its outputs are not cached."""
    config = spot.node.task.cache_config or {}
    key, ttl = config.get("key"), config.get("ttlInSecond")
    if not isinstance(key, str) or not key or not isinstance(ttl, int) or ttl <= 0:
        return None
    return CacheRule(key, ttl * 1000)


def key_of(ws: Workspace, spot: Spot, given: JsonObject) -> str:
    """The key under which the output for this input is kept; empty when none is, as for one that is
    too large to be looked at.
    """
    rule = rule_of(spot)
    if rule is None:
        return ""
    outer = lookup_in(ws, Reader(spot=spot))

    def lookup(root: str, member: str) -> JsonValue:
        if root not in given:
            value: JsonValue = outer(root, member)  # type: ignore[assignment]  # MISSING passes on
            return value
        found = given[root]
        if not member:
            return found
        return found.get(member) if isinstance(found, Mapping) else None

    try:
        value = resolve(
            compile_template(rule.key), lookup, task_id=None, most=ws.limits.input_bytes
        )
    except TooLarge:
        return ""
    return digest([ws.header.name, spot.node.ref, spot.node.task.name, value])


def output_for(ws: Workspace, key: str) -> JsonObject | None:
    """The output that is kept under a key, ``None`` when there is none."""
    if not key:
        return None
    found = ws.answer(f"cache:{key}", CachedWanted(key))
    value = found.value if isinstance(found, Evaluated) else None
    return value if isinstance(value, dict) else None


def keep(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Keep the output of an attempt that has completed."""
    rule = rule_of(spot) if attempt.cache_key else None
    if rule is None or attempt.status is not TaskStatus.COMPLETED:
        return
    output = ws.raw_document(f"o:{attempt.seq}")
    if not isinstance(output, External):
        ws.kept.append(Kept(key=attempt.cache_key, output=output, ttl_ms=rule.ttl_ms))
