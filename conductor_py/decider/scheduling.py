"""Offer attempts to workers: queue, urgency, deadlines; or hold them until they may start.

Queue names keep Conductor's form ``[<domain>:]<task type>[@<namespace>][-<isolation group>]``. The
score orders a queue by urgency, then age (``model.priorities``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conductor_py.decider import caching
from conductor_py.decider.need import DomainWanted
from conductor_py.decider.references import reads_parameters, resolve_input
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.definitions import TaskDef
from conductor_py.model.execution import Attempt
from conductor_py.model.priorities import enqueued_at
from conductor_py.model.status import TaskStatus
from conductor_py.records import changed

TOTAL_ALERTED, TASK_ALERTED, POLL_ALERTED = 1, 2, 4
"""Bits of ``Attempt.alerted``: which passed deadlines an ALERT_ONLY policy has recorded."""

LIMITED = "#"
"""Stands between a system type's queue and the definition that has one of its own for its limit."""


def offer(  # noqa: PLR0917 - what, where, when
    ws: Workspace, spot: Spot, attempt: Attempt, queue: str, delay_ms: int, first_at: int = 0
) -> None:
    """Put an attempt into a queue, at once or after a delay; arm what times it while nobody holds
    it. ``first_at`` is when it was first claimed: its own timeout runs on from then.
    """
    due = ws.now_ms + delay_ms if delay_ms > 0 else 0
    definition = spot.node.task.task_definition
    poll = definition.poll_timeout_seconds if definition else None
    poll_by = max(due, ws.now_ms) + poll * 1000 if poll else 0
    ends = first_at + attempt.timeout_ms if first_at and attempt.timeout_ms else 0
    total = 0 if attempt.alerted & TOTAL_ALERTED else attempt.deadline
    ends = 0 if attempt.alerted & TASK_ALERTED else ends
    due_next = min((at for at in (poll_by, total, ends) if at), default=0)
    if due_next:
        ws.timers[attempt.seq] = due_next
    ready = max(due, ws.now_ms)
    place = ws.limits.order.place(
        ws.header.priority,
        spot.node.task.task_priority,
        created_ms=ws.header.created_at,
        enqueued_ms=ready,
        nth=ws.queued_before + len(ws.offered),
    )
    queued_at = 0 if enqueued_at(place) == ready else ready
    ws.put(changed(attempt, queue=queue, score=place, queued_at=queued_at, poll_by=poll_by))
    ws.offered[attempt.seq] = due


def offer_again(ws: Workspace, spot: Spot, attempt: Attempt, delay_ms: int) -> None:
    """Offer a retry: to its queue, or to the decider itself when the delay is over."""
    if attempt.queue:
        offer(ws, spot, attempt, attempt.queue, delay_ms)
        return
    hold(ws, attempt, delay_ms)


def renew_input(ws: Workspace, spot: Spot, attempt: Attempt) -> tuple[Attempt, str | None]:
    """Give an attempt the input that the definition and what it refers to say by now, and the key
    under which the output for that is kept. What was made of parameters stays: a retry is about the
    same. Returns the attempt, and why there is no input by now: what was there stays.
    """
    name = f"i:{attempt.seq}"
    if not reads_parameters(ws, spot):
        renewed = resolve_input(ws, spot, attempt.seq)
        lacking = ws.unresolved.pop(spot.key, None)
        if lacking is not None:
            return attempt, lacking
        ws.documents[name] = renewed
        if attempt.cache_key:
            attempt = changed(attempt, cache_key=caching.key_of(ws, spot, renewed))
    elif attempt.seq >= ws.header.next_seq and attempt.retried_seq:
        ws.documents[name] = ws.raw_document(f"i:{attempt.retried_seq}")
    return attempt, None


def put_off(ws: Workspace, spot: Spot, attempt: Attempt, wanted_s: int) -> Attempt:
    """An attempt that its worker puts off for ``wanted_s``: not at all when it is recalled, and
    then it begins with a new input, as one that is recalled later.
    """
    if not attempt.recalled or attempt.recalled != ws.claim(attempt.seq).claim:
        return replace(attempt, callback_after_s=wanted_s)
    return replace(renew_input(ws, spot, attempt)[0], callback_after_s=0)


def hold(ws: Workspace, attempt: Attempt, delay_ms: int) -> None:
    """Keep an attempt that no worker takes until it may start; decide opens it when its timer
    fires.
    """
    start_at = ws.now_ms + max(delay_ms, 1)
    ws.put(replace(attempt, status=TaskStatus.SCHEDULED, start_at=start_at))
    ws.timers[attempt.seq] = min(start_at, attempt.deadline or start_at)


def policies(definition: TaskDef | None, now_ms: int) -> dict[str, Any]:
    """The limits and timeouts that a task definition stamps on a new attempt, by attribute."""
    if definition is None:
        return {}
    return {
        **clocks(definition, now_ms),
        "response_timeout_ms": definition.response_timeout_seconds * 1000,
        "limit": definition.concurrent_exec_limit or 0,
        "rate": definition.rate_limit_per_frequency,
        "rate_window_ms": definition.rate_limit_frequency_in_seconds * 1000,
    }


def clocks(definition: TaskDef | None, now_ms: int) -> dict[str, Any]:
    """The timeouts alone, for what leads other tasks."""
    if definition is None:
        return {}
    total = definition.total_timeout_seconds * 1000
    return {
        "timeout_ms": definition.timeout_seconds * 1000,
        "deadline": now_ms + total if total else 0,
    }


def queue_name(task_type: str, domain: str, definition: TaskDef | None = None) -> str:
    """Name a queue; worker tasks pass no definition, they carry neither namespace nor isolation
    group.
    """
    name = f"{domain}:{task_type}" if domain else task_type
    if definition is not None and definition.execution_name_space:
        name = f"{name}@{definition.execution_name_space}"
    if definition is not None and definition.isolation_group_id:
        name = f"{name}-{definition.isolation_group_id}"
    return name


def limited_queue(queue: str, definition: str) -> str:
    """Name the queue of a system task's definition that has a limit of its own."""
    return f"{queue}{LIMITED}{definition}"


def domain_of(ws: Workspace, task_type: str) -> str:
    """Choose the domain of a worker task by the execution's task-to-domain map; empty for none.

    An exact key wins over ``*``. Of a list the first domain with an active worker is taken, else
    the last one; ``NO_DOMAIN`` stands for none.
    """
    if not ws.header.has_domains:
        return ""
    domains = ws.document("domains")
    preferences = domains.get(task_type, domains.get("*"))
    if not isinstance(preferences, str) or not preferences.strip():
        return ""
    names = [name.strip() for name in preferences.split(",")]
    if len(names) == 1:
        return "" if names[0].upper() == "NO_DOMAIN" else names[0]
    key = f"domain:{task_type}:{preferences}"
    chosen = ws.answer(key, DomainWanted(task_type, preferences))
    return chosen if isinstance(chosen, str) else ""
