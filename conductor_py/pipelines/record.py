"""What a commit keeps of a pipeline: all that a restore needs.

``epoch`` is the number of the newest decided round, 0 before the first. A record that was accepted
*is* the decision: the sinks' effects that it names will become visible exactly once, whoever does
it; what no record names never will. ``token`` is the claim of whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from conductor_py.pipelines.intervals import NOTHING, Intervals
from conductor_py.records import dataclass, field

Staged = Mapping[str, Any]
"""What a sink's ``stage`` returned: JSON, enough to publish from."""


class PipelineState(StrEnum):
    """Where a pipeline is."""

    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    FINISHED = "FINISHED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitDescriptor:
    """A piece of a source that is read once and accounted for.

    ``ord`` counts densely in the order of discovery and is the split's identity; ``descriptor`` is
    the source's own; sizes are estimates.
    """

    ord: int
    descriptor: Mapping[str, Any]
    bytes: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """How often a split that is not done was in a round that came to nothing.

    ``failures`` are rounds that failed, ``deaths`` rounds whose worker was never heard of again.
    """

    failures: int = 0
    deaths: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """The account of one source: a split is undiscovered, pending, assigned, done or quarantined.

    ``tables`` are objects that hold the descriptors of all discovered splits, page by page;
    ``pages`` hold those that are not in an object yet. ``enumerator`` is its own snapshot.
    ``blame`` is kept here because a commit deletes the notes that it was counted from.
    """

    discovered: int = 0
    complete: bool = False
    tables: tuple[str, ...] = ()
    pages: tuple[SplitDescriptor, ...] = ()
    done: Intervals = NOTHING
    quarantined: Intervals = NOTHING
    blame: Mapping[int, Blame] = field(default_factory=dict)
    enumerator: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    """The pinned schema, as Spark writes it in JSON."""
    event_time: float | None = None
    """Newest event time whose epoch is decided, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What the newest epoch put into its sinks, by sink id.

    With ``back_to`` it puts nothing there: it takes back what they show of all epochs after that
    one.
    """

    epoch: int
    sinks: Mapping[str, Staged]
    back_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """See the module. ``keyed_state``, ``exchanges`` and ``lookups`` name objects by node id."""

    pipeline: str
    plan_hash: str
    epoch: int = 0
    token: int = 0
    state: PipelineState = PipelineState.RUNNING
    stage: int = 0
    sources: Mapping[str, SourceState] = field(default_factory=dict)
    """By source id, and by exchange (``transform/input``) for what a later stage reads."""
    lookups: Mapping[str, Any] = field(default_factory=dict)
    keyed_state: Mapping[str, Any] = field(default_factory=dict)
    exchanges: Mapping[str, Any] = field(default_factory=dict)
    node_hashes: Mapping[str, str] = field(default_factory=dict)
    decided: Decided | None = None
    published: int = 0
    taken_back: Intervals = NOTHING
    """Epochs that readers saw and see no more: their records are nothing to go on from."""
    counters: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


class NoteKind(StrEnum):
    """What a note says."""

    DISCOVER = "DISCOVER"
    """Descriptors were found."""
    ASSIGN = "ASSIGN"
    """Splits were taken for ``epoch``."""
    FAILED = "FAILED"
    """The round that had taken them failed."""
    RETURNED = "RETURNED"
    """They were given back through no fault of theirs: a stop, a sink that does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A line of the write-ahead log, kept until the next commit. ``splits`` are ords by source.

    Of discovery: ``pages`` are descriptors, ``enumerators`` the snapshots after them and
    ``complete`` the sources that have no more, by source.
    """

    kind: NoteKind
    epoch: int
    token: int
    splits: Mapping[str, Intervals] = field(default_factory=dict)
    attempt: int = 1
    at_ms: int | None = None
    """When the splits were taken, in milliseconds since 1970."""
    reason: str = ""
    pages: Mapping[str, tuple[SplitDescriptor, ...]] = field(default_factory=dict)
    enumerators: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    complete: tuple[str, ...] = ()
