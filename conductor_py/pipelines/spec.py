"""A job as its author declared it: sources, transforms and sinks wired by named outputs.

Every node has an ``id`` that its state is kept under; nothing is derived from its position.
Sizes are in bytes, times in seconds. ``settings`` hold what only the node's kind knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal

from conductor_py.records import dataclass, field

Settings = Mapping[str, Any]
Expectation = Literal["ignore", "fail", "capture"]


class Guarantee(StrEnum):
    """What a reader of a sink sees of an epoch."""

    EXACTLY_ONCE = "exactly_once"
    """Nothing before the decision, everything once after it."""
    IDEMPOTENT = "idempotent"
    """Perhaps early, and the same again when it is redone."""
    AT_LEAST_ONCE = "at_least_once"
    """Perhaps twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column and its Spark SQL type (``decimal(12,2)``)."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The columns of a source, and what to do about rows that have others."""

    columns: tuple[Column, ...]
    extra_columns: Literal["ignore", "fail", "capture"] = "ignore"
    missing_columns: Literal["null", "fail"] = "null"
    cast_errors: Literal["null", "bad_row", "fail"] = "bad_row"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRule:
    """How a source is cut: ``by`` is one of the source kind's own ways."""

    by: str
    size_bytes: int = 64 << 20
    rows: int = 200_000
    column: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTime:
    """The column that carries the time of an event; sources more than ``max_drift_s`` ahead of the
    slowest wait, one without data for ``idle_after_s`` is not waited for.
    """

    column: str
    max_drift_s: float = 60.0
    idle_after_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Upper bounds of what is read; ``None`` is no bound."""

    rows_per_second: float | None = None
    bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A node that data comes from."""

    id: str
    kind: str
    output: str
    split: SplitRule | None = None
    schema: Schema | None = None
    read_as: Literal["splits", "lookup"] = "splits"
    event_time: EventTime | None = None
    rate: Rate = Rate()
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """A node between; ``inputs`` maps the names its query uses to outputs of other nodes."""

    id: str
    kind: str
    inputs: Mapping[str, str]
    output: str
    parallelism: int | None = None
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A node that data goes to; ``require`` refuses a plan that promises less."""

    id: str
    kind: str
    input: str
    require: Guarantee | None = None
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRule:
    """How large a round may be; it grows towards ``target_s`` of work."""

    target_s: float = 20.0
    min_s: float = 1.0
    min_bytes: int = 64 << 20
    max_bytes: int = 1 << 30
    max_splits: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRule:
    """What is kept of commits."""

    retain: int = 20
    timeout_s: float = 600.0
    inline_bytes: int = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartRule:
    """How often a pipeline starts again by itself, and how long it waits."""

    per_pipeline: int = 3
    delay_s: float = 3.0
    backoff: float = 2.0
    reset_after_epochs: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRule:
    """What bad rows and splits that fail again and again lead to."""

    bad_rows: Literal["fail", "drop", "dead_letter"] = "fail"
    max_rows: int | None = None
    max_ratio: float | None = None
    split_attempts: int = 3
    poison_split: Literal["fail", "quarantine"] = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What all pipelines of a job share."""

    parallelism: int = 0
    """Tasks at once; 0 is what the session has."""
    round: RoundRule = RoundRule()
    checkpoint: CheckpointRule = CheckpointRule()
    restart: RestartRule = RestartRule()
    errors: ErrorRule = ErrorRule()
    rate: Rate = Rate()
    buckets: int = 128
    work_dir: str = ""
    failover: Literal["pipeline", "all"] = "pipeline"
    fail_fast: bool = False
    split_unions: bool = False
    spark: Mapping[str, str] = field(default_factory=dict)


#: The only version of the format.
VERSION: Final = 1

#: The id of the sink that takes bad rows; no other node has it.
DEAD_LETTER: Final = "dead_letter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A whole job. ``dead_letter`` is a member of every pipeline and connects none."""

    name: str
    sources: tuple[Source, ...]
    sinks: tuple[Sink, ...]
    transforms: tuple[Transform, ...] = ()
    mode: Literal["bounded", "unbounded"] = "bounded"
    env: Environment = Environment()
    dead_letter: Sink | None = None
