"""What a job that was changed between two runs may go on from, and what must be said aloud first.

A pipeline's id comes from the ids of its nodes, so a node more or less makes another pipeline: it
goes on from the record that it shares nodes with. Changes that give the data no other meaning have
no difference here. Nothing is dropped or begun anew without a permission that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum

from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.meaning import ENVIRONMENT
from conductor_py.pipelines.plan import JobPlan, PipelinePlan
from conductor_py.pipelines.record import Decided, PipelineState, Record
from conductor_py.pipelines.spec import DEAD_LETTER, Job
from conductor_py.records import dataclass, field

_NEITHER = frozenset({ENVIRONMENT, DEAD_LETTER})


class Change(StrEnum):
    """What is different."""

    PIPELINE_ADDED = "pipeline added"
    PIPELINE_REMOVED = "pipeline removed"
    NODE_ADDED = "node added"
    NODE_REMOVED = "node removed"
    NODE_CHANGED = "node changed"
    STATE_DROPPED = "state dropped"
    SOURCE_ABANDONED = "source abandoned"
    BUCKETS_CHANGED = "buckets changed"
    FINISHED_CHANGED = "finished pipeline changed"
    STAGE_LEFT = "stage left"
    PIPELINES_MERGED = "pipelines merged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """What the task's inputs agree to: ``acceptPlanChange``, ``dropState`` and ``abandon``."""

    plan_change: bool = False
    drop_state: frozenset[str] = frozenset()
    abandon: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference. ``permission`` is what would allow it, empty when it is free or nothing
    would; ``allowed`` says whether it may be now.
    """

    change: Change
    pipeline: str
    node: str = ""
    allowed: bool = True
    permission: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All differences, and the pipelines by the kept ones that they go on from, by id."""

    differences: tuple[Difference, ...] = ()
    successors: Mapping[str, str] = field(default_factory=dict)

    @property
    def refused(self) -> tuple[Difference, ...]:
        """Return what stands against the resume."""
        return tuple(each for each in self.differences if not each.allowed)


def compare(
    kept: Mapping[str, Record],
    job: Job,
    plan: JobPlan,
    permissions: Permissions = Permissions(),  # noqa: B008 - it is frozen
) -> Comparison:
    """Compare what is kept, by pipeline, with the plan of the job as it is now."""
    present = {each.id for each in plan.pipelines}
    orphans = {name: record for name, record in kept.items() if name not in present}
    differences: list[Difference] = []
    successors: dict[str, str] = {}
    for pipeline in plan.pipelines:
        related = _related(pipeline, kept, orphans)
        if not related:
            differences.append(Difference(change=Change.PIPELINE_ADDED, pipeline=pipeline.id))
        elif len(related) > 1:
            differences.append(_merged(pipeline, related))
        else:
            ((name, record),) = related.items()
            successors[pipeline.id] = name
            moved = frozenset(each for other in plan.pipelines for each in other.nodes)
            differences += _between(record, pipeline, job, permissions, moved)
    removed = orphans.keys() - set(successors.values())
    removed -= {name for name in removed if _is_named(name, differences)}
    differences += [
        Difference(change=Change.PIPELINE_REMOVED, pipeline=name) for name in sorted(removed)
    ]
    return Comparison(differences=tuple(differences), successors=successors)


def carried(record: Record, pipeline: PipelinePlan) -> Record:
    """Make the record that a changed pipeline goes on from; the old one must be published.

    The state of nodes that changed is gone. A pipeline of another id counts its epochs from 0,
    because its sinks' evidence does, and has from the old one what its sources have done.
    """
    if record.plan_hash == pipeline.plan_hash:
        return record
    same = {
        name for name, each in pipeline.node_hashes.items() if record.node_hashes.get(name) == each
    }
    taken = replace(
        record,
        plan_hash=pipeline.plan_hash,
        node_hashes=pipeline.node_hashes,
        keyed_state={name: each for name, each in record.keyed_state.items() if name in same},
        lookups={name: each for name, each in record.lookups.items() if name in same},
    )
    if record.pipeline == pipeline.id:
        return taken
    nodes = set(pipeline.nodes)
    return replace(
        taken,
        pipeline=pipeline.id,
        epoch=0,
        published=0,
        decided=None,
        stage=0,
        exchanges={},
        sources={name: each for name, each in record.sources.items() if name in nodes},
    )


def _related(
    pipeline: PipelinePlan, kept: Mapping[str, Record], orphans: Mapping[str, Record]
) -> dict[str, Record]:
    if pipeline.id in kept:
        return {pipeline.id: kept[pipeline.id]}
    own = set(pipeline.nodes)
    return {name: record for name, record in orphans.items() if own & _nodes(record)}


def _nodes(record: Record) -> set[str]:
    return set(record.node_hashes) - _NEITHER


def _merged(pipeline: PipelinePlan, related: Iterable[str]) -> Difference:
    names = ", ".join(sorted(related))
    return Difference(
        change=Change.PIPELINES_MERGED,
        pipeline=pipeline.id,
        allowed=False,
        message=f"it joins {names}, which have epochs of their own; keep them apart",
    )


def _is_named(name: str, differences: Iterable[Difference]) -> bool:
    return any(
        each.change is Change.PIPELINES_MERGED and name in each.message for each in differences
    )


def _between(
    record: Record, pipeline: PipelinePlan, job: Job, given: Permissions, present: frozenset[str]
) -> Iterator[Difference]:
    after = pipeline.node_hashes
    # What is in another pipeline now was not removed.
    before = {
        name: each
        for name, each in record.node_hashes.items()
        if name in after or name not in present
    }
    changes = {
        name: _change(name, before, after)
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }
    if record.state is PipelineState.FINISHED:
        yield from _finished(record, changes)
        return
    begun = record.epoch > 0
    yield from _buckets(record, job)
    for name, change in changes.items():
        yield Difference(
            change=change,
            pipeline=record.pipeline,
            node=name,
            allowed=not begun or given.plan_change,
            permission="acceptPlanChange" if begun else "",
            message="rows that are out already keep their form" if begun else "",
        )
        yield from _state(record, name, change, given)
        if change is Change.NODE_REMOVED:
            yield from _abandoned(record, name, given)
    if record.stage and changes.keys() - _NEITHER:
        yield Difference(
            change=Change.STAGE_LEFT,
            pipeline=record.pipeline,
            allowed=False,
            message=f"it is in stage {record.stage}, and earlier stages are not run again",
        )


def _change(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> Change:
    if name not in before:
        return Change.NODE_ADDED
    return Change.NODE_CHANGED if name in after else Change.NODE_REMOVED


def _finished(record: Record, changes: Mapping[str, Change]) -> Iterator[Difference]:
    for name in changes.keys() - _NEITHER:
        yield Difference(
            change=Change.FINISHED_CHANGED,
            pipeline=record.pipeline,
            node=name,
            allowed=False,
            message="it has finished and will not run again; give its nodes other ids to run them",
        )


def _buckets(record: Record, job: Job) -> Iterator[Difference]:
    """Compare with what exchanges have: equal keys must be in one bucket. Keyed state is read as a
    whole, in whatever number it was written.
    """
    for name, exchange in record.exchanges.items():
        buckets = exchange["buckets"]
        if exchange.get("keyed", True) and buckets != job.env.buckets:
            yield Difference(
                change=Change.BUCKETS_CHANGED,
                pipeline=record.pipeline,
                node=name,
                allowed=False,
                message=f"its rows were written in {buckets} buckets; set env.buckets to that",
            )


def _state(record: Record, name: str, change: Change, given: Permissions) -> Iterator[Difference]:
    if name in record.keyed_state and change is not Change.NODE_ADDED:
        yield Difference(
            change=Change.STATE_DROPPED,
            pipeline=record.pipeline,
            node=name,
            allowed=name in given.drop_state,
            permission=f"dropState: {name}",
            message="what it remembers was made by the node as it was",
        )


def _abandoned(record: Record, name: str, given: Permissions) -> Iterator[Difference]:
    state = record.sources.get(name)
    if state is None:
        return
    settled = state.done | state.quarantined
    undone = len(Intervals.range(0, state.discovered) - settled)
    if undone or not state.complete:
        yield Difference(
            change=Change.SOURCE_ABANDONED,
            pipeline=record.pipeline,
            node=name,
            allowed=name in given.abandon,
            permission=f"abandon: {name}",
            message=f"{undone} of its {state.discovered} known splits are not done",
        )


def rewind_refusal(
    record: Record, to_epoch: int, job: Job, pipeline: PipelinePlan, *, rewind: bool
) -> str | None:
    """Return why a pipeline cannot go on from an older epoch, ``None`` when it can.

    What is decided is published, whatever happens. It must be taken back from the sinks, and of
    those that are known here only files under a manifest can be. ``rewind`` is the permission.
    """
    if to_epoch > record.epoch or to_epoch < 0:
        return f"there is no epoch {to_epoch}; the newest is {record.epoch}"
    if to_epoch == record.epoch:
        return None
    if to_epoch in record.taken_back:
        return f"epoch {to_epoch} was taken back"
    if not rewind:
        return f"epoch {record.epoch} is published already; --rewind would take it back"
    if pipeline.event_time:
        return f"the state of {', '.join(pipeline.event_time)} cannot go back"
    fixed = [
        sink.id
        for sink in (*job.sinks, *((job.dead_letter,) if job.dead_letter else ()))
        if sink.id in {*pipeline.nodes, DEAD_LETTER}
        and "." not in sink.kind  # whoever opens one of a third party asks it
        and (sink.kind != "file" or sink.settings.get("visibility") != "manifest")
    ]
    if fixed:
        return f"these sinks cannot take back what is published: {', '.join(fixed)}"
    return None


def rewound(record: Record, older: Record, *, token: int) -> Record:
    """Make the record that takes a pipeline back to an older one of its own.

    Its epoch follows the newest, because an epoch never means two things; to publish it is to take
    back what sinks show of those in between.
    """
    epoch = record.epoch + 1
    return replace(
        older,
        epoch=epoch,
        token=token,
        state=PipelineState.RUNNING,
        reason="",
        decided=Decided(epoch=epoch, sinks={}, back_to=older.epoch),
        published=record.epoch,
        taken_back=record.taken_back | Intervals.range(older.epoch + 1, epoch),
    )
