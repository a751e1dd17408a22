"""I4: every deadline of what is open has a timer that fires in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from conductor_py.adapters.memory.claims import claim_side
from conductor_py.adapters.memory.inspector import setback_of
from conductor_py.adapters.memory.space import Execution, Partition
from conductor_py.codec.event import load_event
from conductor_py.codec.execution import load_attempt, load_header
from conductor_py.decider.scheduling import POLL_ALERTED, TASK_ALERTED, TOTAL_ALERTED
from conductor_py.model.event import Continue, DeadlinePassed, Event, ResultReported
from conductor_py.model.execution import Attempt, Header

_AGAIN_MS: Final = 30_000
"""What was told and is not decided yet is told again after this."""


def unarmed(stored: Execution, partition: Partition, now_ms: int) -> Iterator[str]:
    """Say which deadlines nothing will fire for; none of what is paused, goes on with something
    that was cut into pieces, or is set back. A timer that is due is none too late: what is past
    when it is set is due at once.
    """
    header = load_header(stored.fields["h"])
    if stored.terminal or stored.status == "PAUSED" or header.awaits_admission or header.walk:
        return
    events = [load_event(event) for event in stored.inbox]
    if setback_of(stored) is not None or _is_behind(header, events):
        return
    timers = partition.timers[stored.home].scores
    woken = timers.get(f"x:{stored.id}")
    # Whoever decides on it holds the timer until its lease ends.
    latest = max(header.due_at, stored.lease_until, now_ms)
    if header.due_at and not events and (woken is None or woken > latest):
        yield f"its deadline is at {header.due_at}, and it has no timer before {woken}"
    told = {event.seq for event in events if isinstance(event, DeadlinePassed | ResultReported)}
    for name, text in stored.fields.items():
        attempt = load_attempt(int(name[2:]), text) if name.startswith("a:") else None
        if attempt is None or not _counts(header, attempt) or attempt.seq in told:
            continue
        at = _deadline(stored, header, attempt)
        armed = timers.get(f"a:{stored.id}-{attempt.seq}")
        if at and (armed is None or armed > max(at + _AGAIN_MS, now_ms)):
            yield f"{attempt.ref} has a deadline at {at} and no timer before {armed}"


def _counts(header: Header, attempt: Attempt) -> bool:
    return (
        attempt.open
        and attempt.generation == header.generation
        and attempt.seq >= header.first_seq
        and not attempt.ahead
    )


def _is_behind(header: Header, events: Sequence[Event]) -> bool:
    """Tell whether something is to be taken up that may be about a deadline that has passed."""
    pieces = any(isinstance(event, Continue) for event in events)
    return pieces or header.taken_up < header.postponed


def _deadline(stored: Execution, header: Header, attempt: Attempt) -> int:
    """Tell the nearest deadline that is still to be acted on; 0: none."""
    side = claim_side(stored, attempt.seq)
    if side.closed:
        return 0
    began = side.first if attempt.queue else attempt.started_at
    is_open_yet = began and not (attempt.start_at and not attempt.queue)
    resumed = attempt.scheduled_at < header.last_retried_at
    candidates = (
        0 if attempt.alerted & TOTAL_ALERTED else attempt.deadline,
        began + attempt.timeout_ms
        if attempt.timeout_ms and is_open_yet and not attempt.alerted & TASK_ALERTED
        else 0,
        attempt.poll_by
        if not side.held and not resumed and not attempt.alerted & POLL_ALERTED
        else 0,
        side.until if side.held else 0,
    )
    return min((at for at in candidates if at), default=0)


__all__ = ["unarmed"]
