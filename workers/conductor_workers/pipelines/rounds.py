"""One round: the splits' rows are read, transformed, and staged in every sink of the stage.

Nothing here decides anything. What comes out (``Harvest``) is what a record would have to name; if
no record does, the round never was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines import spec
from conductor_py.pipelines.orders import in_order
from conductor_py.pipelines.plan import PipelinePlan, Reach, Stage
from conductor_py.pipelines.record import Record, SplitDescriptor, Staged
from conductor_py.records import dataclass, field
from conductor_workers.paths import NOWHERE, AllowedPaths
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.badrows import BadRows, Suspects, dead_letters, judged
from conductor_workers.pipelines.connectors import (
    BAD,
    RAW,
    Epoch,
    Outlook,
    Owner,
    Sink,
    Sizing,
    Source,
    SourceProblem,
    Verified,
)
from conductor_workers.pipelines.event_time import grouped
from conductor_workers.pipelines.exchanges import (
    Writing,
    exchange_keys,
    read_exchange,
    write_exchange,
)
from conductor_workers.pipelines.joint_types import joint_types
from conductor_workers.pipelines.kept_rows import read_rows
from conductor_workers.pipelines.keyed import (
    Keeping,
    last_of_each,
    once_each,
    partial_sums,
    remember,
    totals,
    with_turns,
)
from conductor_workers.pipelines.observing import Figures, NotObserved, observed, told_by
from conductor_workers.pipelines.reading import rows_of
from conductor_workers.pipelines.sinks.sizes import expected_bytes
from conductor_workers.pipelines.streams import Streams
from conductor_workers.pipelines.transforms import (
    Shop,
    is_determined,
    refuse_unpinned,
    told_the_time,
    transformed,
)
from conductor_workers.pipelines.workplace import Workplace
from conductor_workers.statements import quoted
from conductor_workers.tasks.output import computed_once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: The sink id under which dead letters are committed.
DEAD_LETTER: Final = "dead_letter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What all rounds of one pipeline stand on. ``parallelism`` is the job's: tasks at once."""

    job: spec.Job
    plan: PipelinePlan
    owner: Owner
    token: int
    spark: SparkSession
    workplace: Workplace
    sources: Mapping[str, Source]
    sinks: Mapping[str, Sink]
    dead_letter: Sink | None
    parallelism: int
    modules: tuple[str, ...] = ()
    any_sql: bool = False
    paths: AllowedPaths = NOWHERE

    def source(self, name: str) -> spec.Source:
        """Return a source's node."""
        return next(node for node in self.job.sources if node.id == name)

    def transform(self, name: str) -> spec.Transform:
        """Return a transform's node."""
        return next(node for node in self.job.transforms if node.id == name)

    def sink(self, name: str) -> spec.Sink:
        """Return a sink's node."""
        return next(node for node in self.job.sinks if node.id == name)

    def epoch(self, sink: str, number: int) -> Epoch:
        """Name an epoch of a sink, as this attempt's."""
        return Epoch(
            owner=self.owner,
            pipeline=self.plan.id,
            sink=sink,
            number=number,
            token=self.token,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What is to be done: these splits, by source and by exchange, as the epoch ``number``.

    ``began_ms`` is what its SQL takes for now, in milliseconds since 1970; ``last``: no row will
    come after it, and what event time holds back is let go.
    """

    number: int
    began_ms: int
    stage: Stage
    splits: Mapping[str, Sequence[SplitDescriptor]]
    record: Record
    schemas: Mapping[str, StructType]
    streams: Streams
    last: bool = False


@dataclass(slots=True, kw_only=True)
class Harvest:
    """What a round made: what each sink staged, state and exchanges after it, and figures."""

    sinks: dict[str, Staged] = field(default_factory=dict)
    keyed_state: dict[str, Any] = field(default_factory=dict)
    exchanges: dict[str, Any] = field(default_factory=dict)
    rows_read: dict[str, int] = field(default_factory=dict)
    event_times: dict[str, float] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    bad: BadRows = field(default_factory=BadRows)


def run_round(ground: Ground, task: Round) -> Harvest:
    """Carry a round out. Raises what connectors and Spark raise, and ``BadRowsRefused``."""
    with ExitStack() as cleanup:
        return _Running(ground, task, cleanup).carried_out()


class _Running:
    """The state of one round while it is built and run."""

    def __init__(self, ground: Ground, task: Round, cleanup: ExitStack) -> None:
        self._ground = ground
        self._task = task
        self._cleanup = cleanup
        self._harvest = Harvest()
        self._outputs: dict[str, DataFrame] = {}
        self._figures: dict[str, Figures] = {}
        self._uses = _uses(ground, task.stage)
        self._ordered = in_order(ground.job)
        self._keeping = Keeping(
            spark=ground.spark,
            workplace=ground.workplace,
            epoch=task.number,
            buckets=ground.job.env.buckets,
            parallelism=ground.parallelism,
        )

    def carried_out(self) -> Harvest:
        for name in self._task.stage.sources:
            self._outputs[self._ground.source(name).output] = self._read(name)
        self._shared(*(self._ground.source(name).output for name in self._task.stage.sources))
        for name in self._task.stage.transforms:
            self._transform(self._ground.transform(name))
        self._write()
        self._tell()
        self._judge()
        self._verify()
        return self._harvest

    def _read(self, name: str) -> DataFrame:
        node, ground = self._ground.source(name), self._ground
        if node.read_as == "lookup":
            schema = self._task.schemas[name]
            stored = self._task.record.lookups[name]
            return read_rows(ground.spark, ground.workplace, [stored], schema)
        splits = self._task.splits.get(name, ())
        schema, ordered = self._task.schemas[name], name in self._ordered
        rows = rows_of(ground.spark, ground.sources[name], splits, schema, ordered=ordered)
        if ordered and not is_determined(rows):
            # Their order was made of numbers that Spark takes for drawn ones; here the plan ends.
            rows = self._once(rows)
        if splits:
            rows = self._watched(node, rows)
        if BAD not in rows.columns:
            return rows
        return rows.where(f"`{BAD}` IS NULL").drop(BAD, RAW)

    def _watched(self, node: spec.Source, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as f

        measures = {"rows": f.count(f.lit(1))}
        if BAD in rows.columns:
            measures["bad"] = f.count(f.col(BAD))
            measures["why"] = f.min(f.col(BAD))
        if node.event_time is not None:
            newest = f.max(f.col(quoted(node.event_time.column))).cast("timestamp")
            measures["newest"] = newest.cast("double")
        rows, self._figures[node.id] = observed(rows, **measures)
        return rows

    def _transform(self, node: spec.Transform) -> None:
        stage, known = self._task.stage, self._outputs
        inputs = {
            name: self._input(node, name, output)
            for name, output in node.inputs.items()
            if output in known or f"{node.id}/{name}" in stage.reads
        }
        reach = self._ground.plan.reaches[node.id]
        blocking = reach is Reach.BLOCKING
        if reach is Reach.EVENT_TIME:
            made = self._in_event_time(node, inputs)
        elif node.kind == "dedup":
            (rows,) = inputs.values()
            made = last_of_each(node, rows) if blocking else self._deduplicated(node, rows)
        elif node.kind == "aggregate":
            (rows,) = inputs.values()
            node = told_the_time(node, inputs, self._task.began_ms)
            made = grouped(node, rows) if blocking else self._aggregated(node, rows)
        else:
            ground = self._ground
            shop = Shop(ground.spark, now_ms=self._task.began_ms, modules=ground.modules)
            joint_types(node, ground.spark, self._task.record.exchanges, {})  # or refuses
            sides = frozenset(k for k, output in node.inputs.items() if self._is_lookup(output))
            made = transformed(node, inputs, reach, shop, sides=sides)
        refuse_unpinned(node, made)
        known[node.output] = made
        self._shared(node.output)

    def _input(self, node: spec.Transform, name: str, output: str) -> DataFrame:
        key = f"{node.id}/{name}"
        if key not in self._task.stage.reads:
            return self._outputs[output]
        return read_exchange(
            self._ground.spark,
            self._ground.workplace,
            self._task.record.exchanges[key],
            self._task.splits.get(key, ()),
        )

    def _in_event_time(self, node: spec.Transform, inputs: Mapping[str, DataFrame]) -> DataFrame:
        task, state = self._task, self._task.record.keyed_state.get(node.id)
        passed = task.streams.passed(node, inputs, state, task.number, last=task.last)
        self._harvest.keyed_state[node.id] = passed.state
        self._harvest.late[node.id] = passed.late
        return passed.rows

    def _deduplicated(self, node: spec.Transform, rows: DataFrame) -> DataFrame:
        state = self._task.record.keyed_state.get(node.id)
        if node.id in self._ordered:
            rows = with_turns(rows, self._task.number)
        fresh = self._once(once_each(node, rows, state, self._keeping))
        self._harvest.keyed_state[node.id] = remember(node, fresh, state, self._keeping)
        return fresh

    def _aggregated(self, node: spec.Transform, rows: DataFrame) -> DataFrame:
        state = self._task.record.keyed_state.get(node.id)
        sums = self._once(partial_sums(node, rows))
        self._harvest.keyed_state[node.id] = remember(node, sums, state, self._keeping)
        return totals(node, state, sums, self._keeping)

    def _shared(self, *outputs: str) -> None:
        """Compute what several consumers read once."""
        for output in outputs:
            frame = self._outputs[output]
            if self._uses[output] > 1 and not self._is_lookup(output):
                self._outputs[output] = self._once(frame)

    def _once(self, frame: DataFrame) -> DataFrame:
        once = self._cleanup.enter_context(computed_once(frame))
        told_by(frame, self._figures.values())
        return once

    def _is_lookup(self, output: str) -> bool:
        return any(
            node.output == output and node.read_as == "lookup" for node in self._ground.job.sources
        )

    def _write(self) -> None:
        ground, task = self._ground, self._task
        frames = {key: self._outputs[each] for key, each in task.stage.exchanges.items()}
        for key, frame in frames.items():
            node_id, _, name = key.partition("/")
            node = ground.transform(node_id)
            writing = Writing(
                workplace=ground.workplace,
                epoch=task.number,
                keys=exchange_keys(node, name),
                types=joint_types(node, ground.spark, task.record.exchanges, frames),
                buckets=ground.job.env.buckets,
                parallelism=ground.parallelism,
            )
            known = task.record.exchanges.get(key)
            if node_id in self._ordered:
                frame = with_turns(frame, task.number)  # noqa: PLW2901 - what is kept of it
            self._harvest.exchanges[key] = write_exchange(frame, known, writing)
        for number, name in enumerate(task.stage.sinks):
            if number:
                faults.reach("F4")
            self._stage(name, ground.sinks[name], self._outputs[ground.sink(name).input])
        faults.reach("F5")

    def _stage(self, name: str, sink: Sink, frame: DataFrame) -> None:
        expected = expected_bytes(self._task.splits, self._task.record.counters, name)
        if isinstance(sink, Sizing) and expected:
            outlook = Outlook(bytes=expected, cores=self._ground.parallelism)
            frame = sink.in_files(frame, outlook)
        epoch = self._ground.epoch(name, self._task.number)
        self._harvest.sinks[name] = sink.stage(frame, epoch)

    def _tell(self) -> None:
        for name, figures in self._figures.items():
            try:
                told = figures.read()
            except NotObserved:  # the optimizer saw that no row of it is wanted
                continue
            self._harvest.rows_read[name] = int(told["rows"])
            if told.get("newest") is not None:
                self._harvest.event_times[name] = float(told["newest"])
            if told.get("bad"):
                self._harvest.bad.add(name, int(told["bad"]), str(told["why"]))

    def _judge(self) -> None:
        """Refuse more bad rows than the job allows, and stage those that it wants kept."""
        bad, errors = self._harvest.bad, self._ground.job.env.errors
        if not bad.count:
            return
        judged(bad, errors, self._task.record, sum(self._harvest.rows_read.values()))
        sink = self._ground.dead_letter
        if errors.bad_rows == "dead_letter" and sink is not None:
            self._stage(DEAD_LETTER, sink, self._letters(bad.by_source))
            self._check_letters(bad.count)

    def _check_letters(self, bad: int) -> None:
        """A row that was mended between the two reads would be neither with the rows nor here."""
        letters = int(self._harvest.sinks[DEAD_LETTER]["rows"])
        if letters < bad:
            raise SourceProblem(
                "SOURCE_CHANGED",
                f"{bad} bad rows were read, and {letters} when they were read again to be kept.",
                retryable=True,
            )

    def _letters(self, sources: Iterable[str]) -> DataFrame:
        from pyspark.sql import functions as f

        ground, task = self._ground, self._task
        suspects = []
        for name in sorted(sources):
            splits, schema = task.splits[name], task.schemas[name]
            rows = rows_of(ground.spark, ground.sources[name], splits, schema, placed=True)
            suspects.append(Suspects(source=name, rows=rows, splits=splits))
        about = {
            "pipeline": f.lit(ground.plan.id),
            "epoch": f.lit(task.number),
            "time": f.timestamp_millis(f.lit(task.began_ms)),
        }
        return dead_letters(suspects, about)

    def _verify(self) -> None:
        for name, splits in self._task.splits.items():
            source: object = self._ground.sources.get(name)
            if isinstance(source, Verified):
                source.verify(splits)


def _uses(ground: Ground, stage: Stage) -> Counter[str]:
    return Counter(_consumed(ground, stage))


def _consumed(ground: Ground, stage: Stage) -> Iterator[str]:
    for name in stage.transforms:
        node = ground.transform(name)
        for given, output in node.inputs.items():
            if f"{node.id}/{given}" not in stage.reads:
                yield output
    yield from (ground.sink(name).input for name in stage.sinks)
    yield from stage.exchanges.values()
