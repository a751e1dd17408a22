"""What each pipeline of a job begins with: what the engine keeps, if this job may follow it.

A job may have been edited since, and an operator may want to go back to an older record. What that
would lose or repeat is refused here, before anything runs, with all reasons at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from conductor_py.errors import ConductorError
from conductor_py.pipelines import spec
from conductor_py.pipelines.edits import Difference, Permissions, carried, compare
from conductor_py.pipelines.plan import JobPlan, PipelinePlan
from conductor_py.pipelines.record import Record
from conductor_py.pipelines.record_form import record_from_json
from conductor_py.records import dataclass
from conductor_workers.pipelines.rewinds import refusal
from conductor_workers.pipelines.storage import StoreAway
from conductor_workers.pipelines.store import Kept
from conductor_workers.pipelines.workplace import Workplace

_NOTHING = Kept()


class RewindRefused(ConductorError):
    """A pipeline may not go on from the older record that somebody wants; it stays as it is."""

    code = "REWIND_REFUSED"


class JobChanged(ConductorError):
    """The job may not follow what is kept; the message says what stands against it."""

    code = "JOB_CHANGED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """``successor_of``: the record of a pipeline of other nodes that this one goes on from."""

    kept: Kept = _NOTHING
    successor_of: Record | None = None

    def again(self, kept: Kept, *, token: int) -> Beginning:
        """Return what it begins with once more, in the attempt of that token: until it keeps
        something of its own, it goes on from the same.
        """
        if kept.record is None:
            return Beginning(kept=kept, successor_of=self.successor_of)
        if kept.resume is None and record_from_json(kept.record).token < token:
            # Told what the sinks show, the engine has forgotten what an operator wants. It stands.
            return Beginning(kept=replace(kept, resume=self.kept.resume))
        return Beginning(kept=kept)


def rewind_refused(reasons: Iterable[str]) -> RewindRefused:
    """Make the refusal of these reasons, each of which names its pipeline."""
    return RewindRefused(f"The task cannot go on from there: {'; '.join(reasons)}.")


def beginnings(
    kept: Mapping[str, Kept],
    job: spec.Job,
    plan: JobPlan,
    permissions: Permissions,
    workplace: Callable[[PipelinePlan], Workplace],
) -> dict[str, Beginning]:
    """Return what each pipeline begins with, by id; ``workplace`` opens where one keeps things.

    Raises ``RewindRefused`` and ``JobChanged``.
    """
    records = {
        name: record_from_json(each.record)
        for name, each in kept.items()
        if each.record is not None
    }
    refused = tuple(_refused_rewinds(kept, records, job, plan, workplace))
    if refused:
        raise rewind_refused(refused)
    older = {
        name: record_from_json(each.resume.record)
        for name, each in kept.items()
        if each.resume is not None
    }
    comparison = compare({**records, **older}, job, plan, permissions)
    against = list(map(_reason, comparison.refused))
    begun = {}
    for pipeline in plan.pipelines:
        before = comparison.successors.get(pipeline.id, pipeline.id)
        begun[pipeline.id] = Beginning(kept=kept.get(pipeline.id, Kept()))
        if before != pipeline.id:
            record = records[before]
            if before in older:
                against.append(
                    f"{before}: it is to go on from an older record; resume it unchanged"
                )
            if record.published < record.epoch:
                against.append(f"{before}: its last epoch is not published; resume it unchanged")
            begun[pipeline.id] = Beginning(successor_of=carried(record, pipeline))
    if against:
        raise JobChanged(f"The job cannot go on from what is kept: {'; '.join(against)}.")
    return begun


def _reason(difference: Difference) -> str:
    """Say what stands against a change, and what would allow it."""
    reason = f"{difference.node or difference.pipeline}: {difference.message}"
    return f"{reason} ({difference.permission})" if difference.permission else reason


def _refused_rewinds(
    kept: Mapping[str, Kept],
    records: Mapping[str, Record],
    job: spec.Job,
    plan: JobPlan,
    workplace: Callable[[PipelinePlan], Workplace],
) -> Iterator[str]:
    for pipeline in plan.pipelines:
        point = kept.get(pipeline.id, Kept()).resume
        if point is None or pipeline.id not in records:
            continue
        with suppress(StoreAway):  # whoever recovers the pipeline asks again
            reason = refusal(records[pipeline.id], point, job, pipeline, workplace(pipeline))
            if reason:
                yield f"{pipeline.id}: {reason}"
