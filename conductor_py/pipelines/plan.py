"""What a job is cut into.

A *pipeline* is a connected component of the job's graph: it checkpoints, restores, fails and
finishes by itself. A *stage* is what rounds of splits run through without meeting a transform that
must see everything; such a transform begins the next stage, which reads what the one before left in
an *exchange*.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from conductor_py.pipelines.spec import Guarantee
from conductor_py.records import dataclass, field


class Reach(StrEnum):
    """How much of its input a transform must see."""

    ROW = "row"
    LOOKUP = "lookup"
    KEYED = "keyed"
    BLOCKING = "blocking"
    EVENT_TIME = "event_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Nodes by id, in the order that they run in.

    ``exchanges`` names the transform of a later stage, input by input, that this stage's rows are
    kept for: ``{(transform id, input name): output name}`` flattened to ``transform/input``.
    """

    number: int
    sources: tuple[str, ...]
    reads: tuple[str, ...] = ()
    """Exchanges (``transform/input``) that this stage reads instead of, or beside, sources."""
    transforms: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    exchanges: Mapping[str, str]
    """Exchange (``transform/input``) to the output that is written to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelinePlan:
    """One pipeline. ``id`` depends on its node ids alone, ``plan_hash`` on all that gives the data
    its meaning: not on parallelism, rates, round sizes or restarts.
    """

    id: str
    stages: tuple[Stage, ...]
    plan_hash: str
    node_hashes: Mapping[str, str]
    guarantees: Mapping[str, Guarantee]
    """By sink id."""
    unbounded: bool = False
    reaches: Mapping[str, Reach] = field(default_factory=dict)
    """Of the transforms, by id."""

    @property
    def event_time(self) -> tuple[str, ...]:
        """The transforms whose state Spark keeps in a streaming query, in running order."""
        return tuple(name for name in self.nodes if self.reaches.get(name) is Reach.EVENT_TIME)

    @property
    def nodes(self) -> tuple[str, ...]:
        """All node ids, in running order, without repetition."""
        found: dict[str, None] = {}
        for stage in self.stages:
            found.update(dict.fromkeys((*stage.sources, *stage.transforms, *stage.sinks)))
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """All pipelines of a job, by id in the order of their first source."""

    pipelines: tuple[PipelinePlan, ...]
