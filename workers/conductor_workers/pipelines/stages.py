"""What the present stage of a pipeline reads, and how its splits are accounted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from conductor_py.pipelines.plan import Stage
from conductor_py.pipelines.reaches import is_one_group
from conductor_py.pipelines.record import Record, SplitDescriptor
from conductor_workers.pipelines.exchanges import exchange_splits
from conductor_workers.pipelines.intake import Intake
from conductor_workers.pipelines.kept_rows import write_rows
from conductor_workers.pipelines.pinning import pinned, unpinned
from conductor_workers.pipelines.reading import rows_of
from conductor_workers.pipelines.rounds import Ground
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_PAGE: Final = 1000
Found = Mapping[str, tuple[SplitDescriptor, ...]]


class StageInputs:
    """The sources, lookups and exchanges of one stage after the other."""

    def __init__(self, ground: Ground, intake: Intake) -> None:
        """Open none yet."""
        self._ground = ground
        self._intake = intake
        self._schemas: dict[str, StructType] = {}
        self._stage = ground.plan.stages[0]

    @property
    def stage(self) -> Stage:
        """The open stage."""
        return self._stage

    @property
    def schemas(self) -> Mapping[str, StructType]:
        """The pinned columns of sources and lookups."""
        return self._schemas

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources whose splits are discovered."""
        return tuple(
            name for name in self._stage.sources if self._ground.source(name).read_as == "splits"
        )

    @property
    def units(self) -> tuple[str, ...]:
        """What splits are accounted under: the sources, and one exchange of each transform."""
        return (*self.sources, *self._leaders.values())

    def open(self, record: Record) -> Record:
        """Open the record's stage: pin columns, begin accounts, keep what lookups need.

        Raises ``SourceProblem``.
        """
        self._stage = self._ground.plan.stages[record.stage]
        for name in self._stage.sources:
            self._pin(name)
            if self._ground.source(name).read_as == "lookup" and name not in record.lookups:
                kept = self._look_up(name, record.epoch + 1)
                record = replace(record, lookups={**record.lookups, name: kept})
        for name in self._leaders.values():
            self._intake.begin(name, exchange_splits(record.exchanges.get(name)))
        return record

    def owes(self, record: Record) -> bool:
        """Say whether a later stage needs the columns of this one, though it had no splits.

        An aggregate of one group has a row for no rows, and only a round tells its columns.
        """
        later = self._ground.plan.stages[self._stage.number + 1 :]
        whole = (self._ground.transform(name) for each in later for name in each.transforms)
        missing = self._stage.exchanges.keys() - record.exchanges.keys()
        return bool(missing) and any(map(is_one_group, whole))

    def widened(self, found: Found) -> Found:
        """Give the splits of one exchange to the others of the same transform: they are buckets."""
        wide = dict(found)
        for name in self._stage.reads:
            wide[name] = found.get(self._leaders[name.partition("/")[0]], ())
        return wide

    @property
    def _leaders(self) -> dict[str, str]:
        first: dict[str, str] = {}
        for name in self._stage.reads:
            first.setdefault(name.partition("/")[0], name)
        return first

    def _pin(self, name: str) -> None:
        state = self._intake.state(name)
        if state.schema is None:
            schema = self._ground.sources[name].schema(self._ground.spark)
            state = replace(state, schema=pinned(schema))
        self._schemas[name] = unpinned(state.schema or {})
        self._intake.pin(name, state)

    def _look_up(self, name: str, epoch: int) -> str:
        """Keep a side input as it is now: all epochs see the same."""
        enumerator = self._ground.sources[name].enumerator({})
        found: list[SplitDescriptor] = []
        complete = False
        while not complete:
            page = enumerator.discover(first_ord=len(found), limit=_PAGE)
            found.extend(page.found)
            complete = page.complete
        enumerator.close()
        rows = rows_of(self._ground.spark, self._ground.sources[name], found, self._schemas[name])
        kept = self._ground.workplace.frame(f"lookup-{name}", epoch)
        columns = [quoted(column) for column in self._schemas[name].names]
        write_rows(self._ground.workplace, kept, rows.selectExpr(*columns))
        return kept
