"""A streaming source of Spark that gives a query what rounds feed it, portion by portion.

A portion is a file ``<number>.json`` that lists, by input, files of rows in Parquet. Its number is
the offset that Spark keeps. The file is made whole or not at all, by whoever feeds; it is taken
away when the portion is in the query's state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from conductor_py.records import dataclass
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.shapes import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

OFFSET: Final = "portion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Portions:
    """The portions in a directory that the driver has."""

    place: Path

    def put(self, number: int, files: Mapping[str, Sequence[str]]) -> None:
        """Make a portion of files by input; the query takes it when it looks next."""
        self.place.mkdir(parents=True, exist_ok=True)
        aside = self.place / f".{number}"
        aside.write_text(json.dumps({name: list(each) for name, each in files.items()}))
        aside.rename(self._file(number))

    def newest(self) -> int:
        """Return the number of the newest portion, 0 when there is none."""
        return max((int(file.stem) for file in self.place.glob("*.json")), default=0)

    def files(self, number: int, name: str) -> Sequence[str]:
        """Return what a portion has for an input."""
        listed: dict[str, list[str]] = json.loads(self._file(number).read_text())
        return listed.get(name, [])

    def _file(self, number: int) -> Path:
        return self.place / f"{number}.json"


class FeedSource(DataSource):
    """See the module. Options: ``place`` and ``input``; the schema is given by whoever reads."""

    @classmethod
    def name(cls) -> str:
        """See ``DataSource``."""
        return "conductor_feed"

    def streamReader(self, schema: StructType) -> FeedReader:  # noqa: N802 - Spark's name
        """See ``DataSource``."""
        portions = Portions(place=Path(self.options["place"]))
        return FeedReader(portions, self.options["input"], arrow_schema(schema))


class _File(InputPartition):
    """One file of rows."""


class FeedReader(DataSourceStreamReader):
    """Tells Spark of portions, and reads their files in tasks."""

    def __init__(self, portions: Portions, name: str, schema: pa.Schema) -> None:
        """Read one input of the portions."""
        self._portions = portions
        self._name = name
        self._schema = schema

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """See ``DataSourceStreamReader``."""
        return {OFFSET: 0}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:  # noqa: N802 - Spark's name
        """See ``DataSourceStreamReader``."""
        del limit
        return {OFFSET: max(start[OFFSET], self._portions.newest())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Any]:
        """See ``DataSourceStreamReader``."""
        return [
            _File(file)
            for number in range(start[OFFSET] + 1, end[OFFSET] + 1)
            for file in self._portions.files(number, self._name)
        ]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:  # noqa: ANN401 - an _File
        """See ``DataSourceStreamReader``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        faults.reach("F3")
        # Nanoseconds, which are the default, end in 2262.
        with pq.ParquetFile(partition.value, coerce_int96_timestamp_unit="us") as file:
            for batch in file.iter_batches(columns=self._schema.names):
                yield from pa.Table.from_batches([batch]).cast(self._schema).to_batches()
