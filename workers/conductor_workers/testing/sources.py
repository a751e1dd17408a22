"""What every source promises.

Derive a class whose name begins with ``Test``, give it the fixture ``sample``, and have a fixture
``spark`` (see ``spark_session``)::

    class TestMySource(SourceContract):
        @pytest.fixture
        def sample(self):
            return SourceSample(source=MySource(...), rows=[(1, "a"), (2, "b")])
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import (
    AT,
    BAD,
    RAW,
    NativeSource,
    Placing,
    Source,
    SourceProblem,
    going_on,
)
from conductor_workers.pipelines.reading import frame_of

_PAGES = 1000


def _nothing() -> Mapping[str, Source]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSample:
    """A source and what is in it. Without ``bounded`` it never says that it is complete.

    ``broken`` are sources that cannot be read as declared, by the code of the problem.
    """

    source: Source
    rows: Sequence[tuple[Any, ...]]
    bounded: bool = True
    broken: Callable[[], Mapping[str, Source]] = field(default=_nothing)


class SourceContract:
    """Derive from it; see the module."""

    @pytest.fixture
    def sample(self) -> SourceSample:
        """Return the source to hold to its promises."""
        raise NotImplementedError

    def test_every_row_is_in_exactly_one_split(
        self, sample: SourceSample, spark: SparkSession
    ) -> None:
        """The union of the splits is the whole, and no row comes twice."""
        splits, _ = walked(sample, limit=1000)
        assert _rows(sample.source, spark, splits) == _counted(sample.rows)

    def test_spark_reads_the_same_rows_in_tasks(
        self, sample: SourceSample, spark: SparkSession
    ) -> None:
        """The reader travels to the tasks, and comes back with the same rows."""
        splits, _ = walked(sample, limit=1000)
        schema = sample.source.schema(spark)
        reader = sample.source.reader(schema)
        frame = frame_of(spark, reader, splits, _with_reserved(spark, sample.source, splits))
        assert _counted(_plain(frame.select(*schema.names).collect())) == _counted(sample.rows)

    def test_spark_reads_the_same_rows_by_itself(
        self, sample: SourceSample, spark: SparkSession
    ) -> None:
        """Where Spark reads natively, it reads what the reader does."""
        source = sample.source
        if not isinstance(source, NativeSource):
            pytest.skip("the source has no native reader")
        splits, _ = walked(sample, limit=1000)
        schema = source.schema(spark)
        frame = source.frame(spark, splits, schema)
        if frame is None:
            pytest.skip("Spark does not read this source by itself")
        rows = _plain(frame.select(*schema.names).collect())
        assert _counted(rows) == _counted(sample.rows)

    def test_rows_that_tell_where_they_stand_are_the_same(
        self, sample: SourceSample, spark: SparkSession
    ) -> None:
        """Dead letters are read once more, and no two rows stand in the same place."""
        source = sample.source
        if not isinstance(source, Placing):
            pytest.skip("the source does not tell where its rows stand")
        splits, _ = walked(sample, limit=1000)
        schema = source.schema(spark)
        frame = source.placed(spark, splits, schema)
        if frame is None:
            pytest.skip("Spark does not read this source by itself")
        rows = frame.select(*schema.names, f"{AT}.*").collect()
        width = len(schema.names)
        assert _counted(_plain(row[:width] for row in rows)) == _counted(sample.rows)
        assert len({tuple(row[width:]) for row in rows}) == len(rows)

    def test_a_split_read_twice_gives_the_same_rows(
        self, sample: SourceSample, spark: SparkSession
    ) -> None:
        """A round that is redone reads what it read before."""
        splits, _ = walked(sample, limit=1000)
        assert _rows(sample.source, spark, splits) == _rows(sample.source, spark, splits)

    def test_the_same_snapshot_gives_the_same_splits(self, sample: SourceSample) -> None:
        """Discovery is repeated after a kill, and must not find something else."""
        first, _ = walked(sample, limit=1000)
        again, _ = walked(sample, limit=1000)
        assert again == first

    def test_pages_of_one_split_make_the_same_list(self, sample: SourceSample) -> None:
        """Where a page ends has no influence on what is found."""
        whole, _ = walked(sample, limit=1000)
        pages, _ = walked(sample, limit=1)
        assert pages == whole

    def test_a_restored_enumerator_goes_on_where_the_snapshot_was(
        self, sample: SourceSample
    ) -> None:
        """Whatever page the snapshot was taken after, nothing is lost and nothing comes twice."""
        whole, _ = walked(sample, limit=1000)
        snapshot: Mapping[str, Any] = {}
        found: list[SplitDescriptor] = []
        for _ in range(_PAGES):
            kept = json.loads(json.dumps(snapshot))
            enumerator = going_on(sample.source, kept, found)
            page = enumerator.discover(first_ord=len(found), limit=2)
            snapshot = enumerator.snapshot()
            enumerator.close()
            found.extend(page.found)
            if page.complete or (not sample.bounded and not page.found):
                break
        assert tuple(found) == whole

    def test_splits_are_numbered_from_where_the_coordinator_is(self, sample: SourceSample) -> None:
        """Ords are dense, and begin where they are told to."""
        enumerator = sample.source.enumerator({})
        page = enumerator.discover(first_ord=7, limit=3)
        enumerator.close()
        assert [split.ord for split in page.found] == list(range(7, 7 + len(page.found)))

    def test_splits_and_snapshot_are_json(self, sample: SourceSample) -> None:
        """They are kept in a record."""
        splits, snapshot = walked(sample, limit=1000)
        stored = [dict(split.descriptor) for split in splits]
        assert json.loads(json.dumps([stored, snapshot])) == [stored, dict(snapshot)]

    def test_only_a_bounded_source_completes(self, sample: SourceSample) -> None:
        """A bounded source says so once all is found, again and again; others never do."""
        enumerator = sample.source.enumerator({})
        pages = [enumerator.discover(first_ord=0, limit=1000) for _ in range(3)]
        enumerator.close()
        assert pages[-1].complete is sample.bounded
        assert not pages[-1].found

    def test_what_cannot_be_read_is_a_problem_with_a_code(
        self, sample: SourceSample, spark: SparkSession
    ) -> None:
        """One sentence, and never the client's own exception."""
        broken = sample.broken()
        if not broken:
            pytest.skip("the sample names no source that cannot be read")
        for code, source in broken.items():
            with pytest.raises(SourceProblem) as caught:
                _read_all(source, spark)
            assert caught.value.code == code
            assert "\n" not in str(caught.value)


def walked(
    sample: SourceSample, *, limit: int
) -> tuple[tuple[SplitDescriptor, ...], Mapping[str, Any]]:
    """Discover all there is, in pages; return the splits and the last snapshot."""
    enumerator = sample.source.enumerator({})
    found: list[SplitDescriptor] = []
    for _ in range(_PAGES):
        page = enumerator.discover(first_ord=len(found), limit=limit)
        found.extend(page.found)
        if page.complete or (not sample.bounded and not page.found):
            break
    snapshot = enumerator.snapshot()
    enumerator.close()
    return tuple(found), snapshot


def _read_all(source: Source, spark: SparkSession) -> None:
    enumerator = source.enumerator({})
    try:
        page = enumerator.discover(first_ord=0, limit=1000)
        _rows(source, spark, page.found)
    finally:
        enumerator.close()


def _rows(
    source: Source, spark: SparkSession, splits: Iterable[SplitDescriptor]
) -> Counter[tuple[Any, ...]]:
    schema = source.schema(spark)
    reader = source.reader(schema)
    found: list[tuple[Any, ...]] = []
    for split in splits:
        for batch in reader.read(split):
            columns = [batch.column(name).to_pylist() for name in schema.names]
            found.extend(zip(*columns, strict=True))
    return _counted(found)


def _with_reserved(spark: SparkSession, source: Source, splits: Sequence[SplitDescriptor]) -> Any:  # noqa: ANN401 - a StructType
    """Return the schema with the reserved columns, if the reader's batches have them."""
    from pyspark.sql.types import StringType, StructType

    schema = source.schema(spark)
    batch = next((b for s in splits for b in source.reader(schema).read(s)), None)
    named = () if batch is None else [name for name in (BAD, RAW) if name in batch.schema.names]
    made = StructType(list(schema.fields))
    for name in named:
        made = made.add(name, StringType())
    return made


def _plain(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows]


def _counted(rows: Iterable[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(_comparable(value) for value in row) for row in rows)


def _comparable(value: Any) -> Any:  # noqa: ANN401 - values of any type
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return tuple(value)
    # Spark's rows bring moments without a zone, in the session's: UTC.
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None else value
