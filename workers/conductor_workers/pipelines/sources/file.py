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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import RAW, SourceProblem, SplitReader
from conductor_workers.pipelines.csv_form import form_options, whole_only
from conductor_workers.pipelines.enforcement import declared, demanded, enforced
from conductor_workers.pipelines.places import in_order, placed_by_spark
from conductor_workers.pipelines.reading import frame_of
from conductor_workers.pipelines.settings import SettingRefused
from conductor_workers.pipelines.shapes import arrow_schema
from conductor_workers.pipelines.sources.drift import EXTRA, LENIENT, DriftRule
from conductor_workers.pipelines.sources.folders import with_folders
from conductor_workers.pipelines.sources.groups import GroupReader
from conductor_workers.pipelines.sources.header import columns_of, names_in
from conductor_workers.pipelines.sources.line_reader import LineReader, TypedLines
from conductor_workers.pipelines.sources.listing import (
    CutRule,
    FileEnumerator,
    extended,
    file_enumerator,
    files_of,
    unchanged,
)
from conductor_workers.pipelines.sources.pieces import Lines
from conductor_workers.pipelines.sources.plain_rows import PlainRows
from conductor_workers.pipelines.sources.taken_apart import TextForm, all_text
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from conductor_workers.pipelines.registry import Place

    _Head = Callable[[SplitDescriptor], Sequence[str | None]]

_TEXT: Final = ("csv", "json")
_INFERRED_FROM: Final = 4
_WHOLE: Final = CutRule()
_HEADS_AT_ONCE: Final = 8
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
        if self.format == "json":  # a line that cannot be read is a bad row, and no column
            reader = reader.option("mode", "DROPMALFORMED")
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
            return TypedLines(self.line_reader(schema, self.lines), arrow_schema(schema))
        return self.groups(schema)

    def frame(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``NativeSource``."""
        for split in splits:
            unchanged(split)
        return with_folders(splits, schema, partial(self._frame, spark))

    def _frame(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame:
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
            read = self._text_frames if self.format in _TEXT else self._typed_frames
            frames.extend(read(spark, whole, schema))
        if pieces and self.format in _TEXT:
            frames.extend(self.text_pieces(spark, pieces, schema, self.lines))
        elif pieces:
            rows = frame_of(spark, self.groups(schema), pieces, schema, placed=self.placing)
            frames.append(self._demanded(rows))
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
        ours = len(splits) == 1 or all(self._read_apart or _is_piece(each) for each in splits)
        if ours and self._is_one_frame(splits):
            return self.frame(spark, splits, schema)
        rows = self.placed(spark, splits, schema)
        return None if rows is None else in_order(rows, splits)

    def _is_one_frame(self, splits: Sequence[SplitDescriptor]) -> bool:
        """Say whether no other header, and no value of a folder, sets some of the splits apart."""
        paths = {str(each.descriptor["path"]) for each in splits}
        return len(paths) == 1 or not (self._has_header or any("=" in path for path in paths))

    def verify(self, splits: Sequence[SplitDescriptor]) -> None:
        """See ``Verified``."""
        for split in splits:
            unchanged(split)

    def text_pieces(
        self,
        spark: SparkSession,
        splits: Sequence[SplitDescriptor],
        schema: StructType,
        lines: Lines,
        *,
        explained: Callable[[Any], Any] = lambda reader: reader,
    ) -> Iterator[DataFrame]:
        """Return the rows of splits of text, whose lines are read in tasks; ``explained`` gives a
        reader words for what may go wrong.
        """
        wanted = _without_extra(schema)
        if self.format == "json":
            reader = self.line_reader(schema, lines)
            text = _text_schema(spark, reader.made)
            rows = frame_of(spark, explained(reader), splits, text, placed=self.placing)
            yield self.with_types(rows, schema)
            return
        heads = explained(lines)

        def head(split: SplitDescriptor) -> Sequence[str]:
            return names_in(heads.head(split), self.options)

        for names, group in self._by_header(splits, wanted, head).items():
            plain = PlainRows(lines=lines, columns=len(names), options=self.options)
            text = _text_schema(spark, plain.made)
            rows = frame_of(spark, explained(plain), group, text, placed=self.placing)
            yield self._as_declared(self._form.rows(rows, names, schema), names, schema)

    def _text_frames(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> Iterator[DataFrame]:
        wanted, form = _without_extra(schema), self._form
        for names, group in self._by_header(splits, wanted, self._spark_heads(spark)).items():
            reader = spark.read.options(**form.options).schema(all_text((*names, RAW)))
            paths = _literally([str(each.descriptor["path"]) for each in group])
            rows = reader.format(self.format).load(paths)
            yield self._as_declared(form.cleared(self._native(rows), names, schema), names, schema)

    def _as_declared(self, rows: DataFrame, names: Sequence[str], schema: StructType) -> DataFrame:
        return self.with_types(self._captured(rows, names, schema), schema)

    def _typed_frames(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> Iterator[DataFrame]:
        wanted, paths = arrow_schema(schema), [str(each.descriptor["path"]) for each in splits]
        for path in paths:
            # Spark would read a column that vanished as NULL, and say nothing.
            self._drift.check_types(_footer(path, self.format), wanted, path)
        reader = spark.read.options(**self.options).schema(schema)
        rows = reader.format(self.format).load(_literally(paths))
        yield self._demanded(self._native(rows))

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

    @property
    def lines(self) -> Lines:
        """What reads the lines of the node's files."""
        return Lines(format=self.format, header=self._has_header)

    def line_reader(self, schema: StructType, lines: Lines) -> LineReader:
        """Return what takes lines apart in Python, each column as text."""
        wanted = _without_extra(schema)
        return LineReader(lines=lines, columns=wanted, options=self.options, drift=self._drift)

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

    def _by_header(
        self, splits: Sequence[SplitDescriptor], wanted: tuple[str, ...], head: _Head
    ) -> dict[tuple[str, ...], list[SplitDescriptor]]:
        """Group splits by the columns of their files; an empty file has none."""
        if not self._has_header:
            return {wanted: list(splits)}
        grouped: dict[tuple[str, ...], list[SplitDescriptor]] = {}
        of_files = {str(each.descriptor["path"]): each for each in splits}
        with ThreadPoolExecutor(_HEADS_AT_ONCE) as pool:
            heads = dict(zip(of_files, pool.map(head, of_files.values()), strict=True))
        for split in splits:
            path = str(split.descriptor["path"])
            names = columns_of(heads[path], self.options, wanted, path) or wanted
            self._drift.check(names, wanted, path)
            grouped.setdefault(names, []).append(split)
        return grouped

    def _spark_heads(self, spark: SparkSession) -> _Head:
        """Return what tells the values of a file's first line: Spark itself where it alone heeds
        how they are written.
        """
        if not whole_only(self.format, self.options):
            return lambda split: names_in(self.lines.head(split), self.options)
        options = {**self.options, "header": "false", "inferSchema": "false"}

        def first(split: SplitDescriptor) -> Sequence[str | None]:
            paths = _literally([str(split.descriptor["path"])])
            return spark.read.options(**options).csv(paths).first() or ()

        return first

    @property
    def _form(self) -> TextForm:
        return TextForm(format=self.format, given=self.options)

    def _captured(self, rows: DataFrame, names: Sequence[str], schema: StructType) -> DataFrame:
        if EXTRA not in schema.names:
            return rows
        from pyspark.sql import functions as f

        extra = [f.col(quoted(name)) for name in names if name not in schema.names]
        return rows.withColumn(EXTRA, f.to_json(f.struct(*extra)) if extra else f.lit(None))


def _literally(paths: Sequence[str]) -> list[str]:
    return [_GLOB.sub(r"\\\g<0>", path) for path in paths]


def _without_extra(schema: StructType) -> tuple[str, ...]:
    return tuple(each.name for each in schema if each.name != EXTRA)


def _text_schema(spark: SparkSession, names: Sequence[str]) -> StructType:
    return spark.createDataFrame([], all_text(names)).schema


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


def _is_piece(split: SplitDescriptor) -> bool:
    return "start" in split.descriptor or "first" in split.descriptor


def _local(path: str) -> str:
    return path.removeprefix("file://")
