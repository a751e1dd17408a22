"""``file``: CSV, JSON lines, Parquet and ORC on local or mounted disks.

Settings: ``paths`` (patterns or directories), ``format``, ``options`` (Spark's, for CSV:
``header``, ``sep``, ``quote``, ``nullValue``, ``multiLine``, ``dateFormat``, ``timestampFormat``),
``watch`` (new files are discovered for ever) and ``changed_file`` (``fail``). Columns come from the
declared schema, or are inferred once from the first files; either is pinned in the record. CSV
columns are taken by the names in each file's header, so files with their columns in another order
are no trap.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import RAW, SourceProblem, SplitReader
from conductor_workers.pipelines.csv_form import form_options, quote_of, separator_of, whole_only
from conductor_workers.pipelines.enforcement import declared, demanded, enforced
from conductor_workers.pipelines.places import in_order, placed_by_spark
from conductor_workers.pipelines.reading import frame_of
from conductor_workers.pipelines.settings import SettingRefused
from conductor_workers.pipelines.shapes import arrow_schema
from conductor_workers.pipelines.sources.compression import decompressed
from conductor_workers.pipelines.sources.drift import EXTRA, LENIENT, DriftRule
from conductor_workers.pipelines.sources.listing import (
    CutRule,
    FileEnumerator,
    extended,
    file_enumerator,
    files_of,
    unchanged,
)
from conductor_workers.pipelines.sources.pieces import GroupReader, LineReader, header_of
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from conductor_workers.pipelines.registry import Place

_TEXT: Final = ("csv", "json")
_INFERRED_FROM: Final = 4
_WHOLE: Final = CutRule()
#: What makes Spark take the name of a file for a pattern.
_GLOB: Final = re.compile(r"[\\\[\]{}*?]")


def open_source(node: spec.Source, place: Place) -> FileSource:
    """Make the source of a node."""
    del place
    settings = node.settings
    rule = node.split or spec.SplitRule(by="file")
    form = str(settings.get("format", "parquet"))
    return FileSource(
        name=node.id,
        patterns=tuple(_local(path) for path in settings["paths"]),
        format=form,
        options=form_options(form, settings.get("options", {})),
        declared=node.schema,
        rule=CutRule(by=rule.by, size=rule.size_bytes),
        watch=bool(settings.get("watch", False)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """See the module."""

    name: str
    patterns: tuple[str, ...]
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    declared: spec.Schema | None = None
    rule: CutRule = _WHOLE
    watch: bool = False
    placing: bool = False
    """Whether ``frame`` says where each row stands."""

    def schema(self, spark: SparkSession) -> StructType:
        """See ``Source``. Raises ``SOURCE_UNAVAILABLE`` where there is nothing to infer from."""
        if self.declared is not None:
            extra = f", {EXTRA} string" if self.declared.extra_columns == "capture" else ""
            return spark.createDataFrame([], declared(self.declared) + extra).schema
        files = [file.path for file in files_of(self.patterns) if file.size][:_INFERRED_FROM]
        if not files:
            raise SourceProblem(
                "SOURCE_UNAVAILABLE",
                f"No file matches {', '.join(self.patterns)}, and without one or a declared schema "
                "the columns are not known.",
                retryable=True,
            )
        reader = spark.read.options(**self.options)
        if self.format == "csv":
            reader = reader.option("inferSchema", "true")
        return reader.format(self.format).load(_literally(files)).schema

    def enumerator(self, restored: Mapping[str, Any]) -> FileEnumerator:
        """See ``Source``."""
        rule = self.rule
        if whole_only(self.format, self.options):
            rule = CutRule(by="file", size=rule.size)
        return file_enumerator(restored, self.patterns, self.format, rule, watch=self.watch)

    def extends(self, snapshot: Mapping[str, Any]) -> bool:
        """See ``Extending``."""
        return extended(self.patterns, snapshot)

    def reader(self, schema: StructType) -> SplitReader:
        """See ``Source``."""
        if self.format in _TEXT:
            return TypedLines(self.lines(schema), arrow_schema(schema))
        return self.groups(schema)

    def frame(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``NativeSource``."""
        for split in splits:
            unchanged(split)
        apart = self._read_apart
        if apart and (odd := whole_only(self.format, self.options)):
            raise SettingRefused(
                f"{self.name}.options.{odd[0]} cannot be heeded while schema tells of columns that "
                "come or go."
            )
        whole = [each for each in splits if not apart and not _is_piece(each)]
        pieces = [each for each in splits if apart or _is_piece(each)]
        frames: list[DataFrame] = []
        if whole:
            paths = [str(each.descriptor["path"]) for each in whole]
            frames.extend(
                self._text_frames(spark, paths, schema)
                if self.format in _TEXT
                else self._typed_frames(spark, paths, schema)
            )
        if pieces:
            frames.append(self._piece_frame(spark, pieces, schema))
        return functools.reduce(lambda left, right: left.unionByName(right), frames)

    def placed(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``Placing``."""
        return replace(self, placing=True).frame(spark, splits, schema)

    def ordered(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``Ordering``: what tasks of ours read, and one file by itself, have their order."""
        if len(splits) == 1 or all(self._read_apart or _is_piece(each) for each in splits):
            return self.frame(spark, splits, schema)
        rows = self.placed(spark, splits, schema)
        return None if rows is None else in_order(rows, splits)

    def verify(self, splits: Sequence[SplitDescriptor]) -> None:
        """See ``Verified``."""
        for split in splits:
            unchanged(split)

    def _text_frames(
        self, spark: SparkSession, paths: list[str], schema: StructType
    ) -> Iterator[DataFrame]:
        options = {
            **self.options,
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": RAW,
            "columnPruning": "false",
            "enforceSchema": "true",
        }
        if self.format == "json":
            names = _without_extra(schema)
            reader = spark.read.options(**options).schema(_all_text((*names, RAW)))
            rows = reader.json(_literally(paths))
            yield self.with_types(self._native(rows), schema)
            return
        for names, group in self._by_header(paths, schema).items():
            self._drift.check(names, _without_extra(schema), group[0])
            reader = spark.read.options(**options).schema(_all_text((*names, RAW)))
            rows = reader.csv(_literally(group))
            captured = self._captured(self._native(rows), names, schema)
            yield self.with_types(captured, schema)

    def _typed_frames(
        self, spark: SparkSession, paths: list[str], schema: StructType
    ) -> Iterator[DataFrame]:
        wanted = arrow_schema(schema)
        for path in paths:
            # Spark would read a column that vanished as NULL, and say nothing.
            self._drift.check_types(_footer(path, self.format), wanted, path)
        reader = spark.read.options(**self.options).schema(schema)
        rows = reader.format(self.format).load(_literally(paths))
        yield self._demanded(self._native(rows))

    def _piece_frame(
        self, spark: SparkSession, splits: list[SplitDescriptor], schema: StructType
    ) -> DataFrame:
        if self.format in _TEXT:
            lines = self.lines(schema)
            text = _text_schema(spark, lines.made)
            rows = frame_of(spark, lines, splits, text, placed=self.placing)
            return self.with_types(rows, schema)
        rows = frame_of(spark, self.groups(schema), splits, schema, placed=self.placing)
        return self._demanded(rows)

    def _native(self, rows: DataFrame) -> DataFrame:
        return placed_by_spark(rows) if self.placing else rows

    def _demanded(self, rows: DataFrame) -> DataFrame:
        return rows if self.declared is None else demanded(rows, self.declared)

    def with_types(self, rows: DataFrame, schema: StructType) -> DataFrame:
        """Give rows of text their types, as the node declares them."""
        rule = self.declared or spec.Schema(columns=())
        formats = {
            kind: self.options[option]
            for kind, option in (("date", "dateFormat"), ("timestamp", "timestampFormat"))
            if option in self.options
        }
        return enforced(rows, schema, rule, formats=formats)

    def lines(self, schema: StructType) -> LineReader:
        """Return what reads the lines of the node's files, each column as text."""
        return LineReader(
            format=self.format,
            columns=_without_extra(schema),
            header=self._has_header,
            separator=separator_of(self.options),
            quote=quote_of(self.options),
            null_text=self.options.get("nullValue", ""),
            numbered=self.placing,
            drift=self._drift,
        )

    def groups(self, schema: StructType) -> GroupReader:
        """Return what reads the row groups or stripes of the node's files."""
        return GroupReader(format=self.format, schema=arrow_schema(schema), drift=self._drift)

    @property
    def _drift(self) -> DriftRule:
        if self.format == "json" and self.declared is None:
            return LENIENT  # a row has what it has
        return DriftRule.of(self.declared)

    @property
    def _read_apart(self) -> bool:
        """Whether whole files are read in tasks of ours, too: Spark tells nothing of what a schema
        does not name, nor which keys of JSON are there.
        """
        if self.format == "json":
            return self._drift != LENIENT
        return self._drift.captures and self.format != "csv"

    @property
    def _has_header(self) -> bool:
        return self.format == "csv" and self.options.get("header") == "true"

    def _by_header(self, paths: list[str], schema: StructType) -> dict[tuple[str, ...], list[str]]:
        """Group files by their columns; an empty file has none and is left out by Spark."""
        grouped: dict[tuple[str, ...], list[str]] = {}
        declared_names = _without_extra(schema)
        for path in paths:
            names = declared_names
            if self._has_header:
                names = _header(path, self.options) or names
            grouped.setdefault(names, []).append(path)
        return grouped

    def _captured(self, rows: DataFrame, names: tuple[str, ...], schema: StructType) -> DataFrame:
        if EXTRA not in schema.names:
            return rows
        from pyspark.sql import functions as f

        extra = [f.col(quoted(name)) for name in names if name not in schema.names]
        return rows.withColumn(EXTRA, f.to_json(f.struct(*extra)) if extra else f.lit(None))


@dataclass(frozen=True, slots=True)
class TypedLines:
    """Lines with the types of the schema; a value that does not fit is NULL."""

    lines: LineReader
    schema: pa.Schema

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``."""
        import pyarrow as pa

        for batch in self.lines.read(split):
            columns = [
                _cast(batch.column(batch.schema.get_field_index(each.name)), each.type)
                if each.name in batch.schema.names
                else pa.nulls(batch.num_rows, each.type)
                for each in self.schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _cast(column: Any, kind: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa

    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([_scalar(value, kind) for value in column], kind)


def _scalar(value: Any, kind: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa

    try:
        return value.cast(kind).as_py()
    except pa.ArrowInvalid:
        return None


def _literally(paths: Sequence[str]) -> list[str]:
    return [_GLOB.sub(r"\\\g<0>", path) for path in paths]


def _without_extra(schema: StructType) -> tuple[str, ...]:
    return tuple(each.name for each in schema if each.name != EXTRA)


def _all_text(names: Sequence[str]) -> str:
    return ", ".join(f"{quoted(name)} string" for name in names)


def _text_schema(spark: SparkSession, names: Sequence[str]) -> StructType:
    return spark.createDataFrame([], _all_text(names)).schema


def _footer(path: str, data_format: str) -> pa.Schema:
    try:
        if data_format == "parquet":
            import pyarrow.parquet as pq

            return pq.read_schema(path)
        from pyarrow import orc

        return orc.ORCFile(path).schema
    except (OSError, ValueError) as error:
        raise SourceProblem(
            "SOURCE_CHANGED", f"The file {path} is no readable {data_format} file: {error}"
        ) from error


def _header(path: str, options: Mapping[str, str]) -> tuple[str, ...]:
    with Path(path).open("rb") as stored, decompressed(stored, path) as file:
        return header_of(file.readline(), options)


def _is_piece(split: SplitDescriptor) -> bool:
    return "start" in split.descriptor or "first" in split.descriptor


def _local(path: str) -> str:
    return path.removeprefix("file://")
