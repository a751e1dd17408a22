"""``file``: CSV, JSON lines, Parquet and ORC on local or mounted disks.

Settings: ``paths`` (patterns or directories), ``format``, ``options`` (Spark's, for CSV:
``header``, ``sep``, ``quote``, ``nullValue``, ``multiLine``, ``dateFormat``, ``timestampFormat``),
``watch`` (new files are discovered for ever) and ``changed_file`` (``fail``). Columns come from the
declared schema, or are inferred once from the first files; either is pinned in the record. CSV
columns are taken by the names in each file's header, so files with their columns in another order
are no trap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import AT, CODE, RAW, SourceProblem, SplitReader
from conductor_workers.pipelines.csv_form import form_options, whole_only
from conductor_workers.pipelines.enforcement import completed, declared, enforced
from conductor_workers.pipelines.places import in_order, placed_by_spark, together
from conductor_workers.pipelines.reading import frame_of
from conductor_workers.pipelines.settings import SettingRefused
from conductor_workers.pipelines.shapes import arrow_schema
from conductor_workers.pipelines.sources.drift import EXTRA, LENIENT, DriftRule
from conductor_workers.pipelines.sources.folders import Folders, bases_of, folders_of
from conductor_workers.pipelines.sources.groups import GroupReader, read_by_spark
from conductor_workers.pipelines.sources.header import FileColumns, FirstLines, Head, names_in
from conductor_workers.pipelines.sources.line_reader import LineReader, TypedLines
from conductor_workers.pipelines.sources.listing import (
    CutRule,
    FileEnumerator,
    extended,
    file_enumerator,
    files_of,
    straight,
    unchanged,
)
from conductor_workers.pipelines.sources.pieces import Lines
from conductor_workers.pipelines.sources.plain_rows import PlainRows
from conductor_workers.pipelines.sources.spark_files import first_line, footer, literally
from conductor_workers.pipelines.sources.taken_apart import TextForm, all_text, beside_raw
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from conductor_workers.pipelines.registry import Place


_TEXT: Final = ("csv", "json")
_INFERRED_FROM: Final = 4
_WHOLE: Final = CutRule()


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
    folders: Folders = Folders()
    """What is known of the splits that are being read."""

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
        return reader.format(self.format).load(literally(files)).schema

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
        return together(self.frames(spark, splits, schema), placed=self.placing)

    def placed(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``Placing``."""
        return replace(self, placing=True).frame(spark, splits, schema)

    def ordered(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``Ordering``: what tasks of ours read, and one file by itself, have their order."""
        if len(splits) == 1:
            return self.frame(spark, splits, schema)
        ours = all(self._read_apart or _is_piece(each) for each in splits)
        frames = replace(self, placing=True).frames(spark, splits, schema)
        rows = together(frames, placed=True)
        return rows.drop(AT, CODE) if ours and len(frames) == 1 else in_order(rows, splits)

    def knowing(
        self, splits: Sequence[SplitDescriptor], schema: StructType, bases: Iterable[str]
    ) -> FileSource:
        """Return the source with what the folders of files say of columns; see ``folders_of``."""
        names = [] if self.declared is None else schema.names
        return replace(self, folders=folders_of(splits, names, bases))

    def frames(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> list[DataFrame]:
        """Return the rows of splits, together those whose files have the same columns."""
        for split in splits:
            unchanged(split)
        apart = self._read_apart
        if apart and (odd := whole_only(self.format, self.options)):
            raise SettingRefused(
                f"{self.name}.options.{odd[0]} cannot be heeded while schema tells of columns that "
                "come or go."
            )
        known = self.knowing(splits, schema, map(straight, bases_of(self.patterns)))
        frames: list[DataFrame] = []
        for alike in known.folders.groups(splits).values():
            whole = [each for each in alike if not apart and not _is_piece(each)]
            pieces = [each for each in alike if apart or _is_piece(each)]
            if whole and self.format in _TEXT:
                frames += known.text_files(spark, whole, schema)
            elif whole:
                frames += known.typed_files(spark, whole, schema)
            if pieces and self.format in _TEXT:
                frames += known.text_pieces(spark, pieces, schema, self.lines)
            elif pieces:
                frames.append(known.group_rows(spark, pieces, schema))
        return frames

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
        if self.format == "json":
            reader = self.line_reader(self._own(splits, schema), lines)
            text = _text_schema(spark, reader.made)
            rows = frame_of(spark, explained(reader), splits, text, placed=self._telling)
            yield self._as_declared(rows, splits, self._first_lines(splits, schema).own, schema)
            return
        heads = explained(lines)

        def head(split: SplitDescriptor) -> Sequence[str]:
            return names_in(heads.head(split), self.options)

        for columns, group in self._by_columns(splits, schema, head).items():
            names = columns.read_as
            plain = PlainRows(lines=lines, columns=len(names), options=self.options)
            text = _text_schema(spark, plain.made)
            rows = frame_of(spark, explained(plain), group, text, placed=self._telling)
            rows = self._captured(self._form.rows(rows, names, schema), columns, schema)
            yield self._as_declared(rows, group, columns, schema)

    def text_files(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> Iterator[DataFrame]:
        """Return the rows of whole files of text, which Spark itself reads."""
        form = self._form
        for columns, group in self._by_columns(splits, schema, self._heads(spark)).items():
            names = columns.read_as
            reader = spark.read.options(**form.options).schema(all_text((*names, RAW)))
            paths = literally([str(each.descriptor["path"]) for each in group])
            read = beside_raw(reader.format(self.format).load(paths), names[0])
            rows = form.cleared(self._native(read), names, schema)
            rows = self._captured(rows, columns, schema)
            yield self._as_declared(rows, group, columns, schema)

    def _as_declared(
        self,
        rows: DataFrame,
        splits: Sequence[SplitDescriptor],
        columns: FileColumns,
        schema: StructType,
    ) -> DataFrame:
        """Give rows of text their types, as the node declares them."""
        rule = self.declared or spec.Schema(columns=())
        kinds = ("date", "timestamp")
        formats = {k: self.options[f"{k}Format"] for k in kinds if f"{k}Format" in self.options}
        whole = self.folders.beside(rows, splits, columns.folders)
        return enforced(
            whole, schema, rule, formats=formats, folders=columns.folders, called=columns.called
        )

    def typed_files(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> Iterator[DataFrame]:
        """Return the rows of whole files of Parquet or ORC: Spark itself reads what it has types
        for.
        """
        own = self._own(splits, schema)
        wanted = arrow_schema(own)
        theirs, ours = list[SplitDescriptor](), list[SplitDescriptor]()
        for split in splits:
            path = str(split.descriptor["path"])
            there = footer(path, self.format)
            # Spark would read a column that vanished as NULL, and say nothing.
            self._drift.check_types(there, wanted, path)
            by_spark = self.format == "orc" or read_by_spark(there, wanted.names)
            (theirs if by_spark else ours).append(split)
        if theirs:
            reader = spark.read.options(**self.options).schema(own)
            paths = literally([str(each.descriptor["path"]) for each in theirs])
            rows = reader.format(self.format).load(paths)
            yield self._completed(self._native(rows), theirs, schema)
        if ours:
            yield self.group_rows(spark, ours, schema)

    def group_rows(
        self,
        spark: SparkSession,
        splits: Sequence[SplitDescriptor],
        schema: StructType,
        *,
        opened: Callable[[GroupReader], SplitReader] = lambda reader: reader,
    ) -> DataFrame:
        """Return the rows of splits of row groups or stripes, or of whole files of these, that are
        read in tasks; ``opened`` says where the files are.
        """
        own = self._own(splits, schema)
        rows = frame_of(spark, opened(self.groups(own)), splits, own, placed=self._telling)
        return self._completed(rows, splits, schema)

    def _native(self, rows: DataFrame) -> DataFrame:
        return placed_by_spark(rows, counted=self.placing) if self._telling else rows

    def _completed(
        self, rows: DataFrame, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame:
        if self.declared is None:
            return rows
        told = self.folders.of(splits[0])
        whole = self.folders.beside(rows, splits, told)
        return completed(whole, schema, self.declared, told)

    def _own(self, splits: Sequence[SplitDescriptor], schema: StructType) -> StructType:
        """Return the columns that the files of splits have themselves."""
        from pyspark.sql.types import StructType

        told = self.folders.of(splits[0])
        return StructType([each for each in schema if each.name not in told])

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
    def _telling(self) -> bool:
        """Whether rows tell which split they are of."""
        return self.placing or bool(self.folders.values)

    @property
    def _has_header(self) -> bool:
        return self.format == "csv" and self.options.get("header") == "true"

    def _first_lines(self, splits: Sequence[SplitDescriptor], schema: StructType) -> FirstLines:
        return FirstLines(
            options=self.options,
            wanted=_without_extra(schema),
            folders=self.folders.of(splits[0]),
            header=self._has_header,
            drift=self._drift,
        )

    def _by_columns(
        self, splits: Sequence[SplitDescriptor], schema: StructType, head: Head
    ) -> dict[FileColumns, list[SplitDescriptor]]:
        """Group splits by the columns of their files."""
        first = self._first_lines(splits, schema)
        return {first.own: list(splits)} if self.format == "json" else first.grouped(splits, head)

    def _heads(self, spark: SparkSession) -> Head:
        """Return what tells the values of a file's first line: Spark itself where it alone heeds
        how they are written.
        """
        if whole_only(self.format, self.options):
            return lambda split: first_line(spark, str(split.descriptor["path"]), self.options)
        return lambda split: names_in(self.lines.head(split), self.options)

    @property
    def _form(self) -> TextForm:
        return TextForm(format=self.format, given=self.options)

    def _captured(self, rows: DataFrame, columns: FileColumns, schema: StructType) -> DataFrame:
        if EXTRA not in schema.names or self.format == "json":
            return rows
        from pyspark.sql import functions as f

        extra = [f.col(quoted(name)).alias(called) for name, called in columns.called.items()]
        return rows.withColumn(EXTRA, f.to_json(f.struct(*extra)) if extra else f.lit(None))


def _without_extra(schema: StructType) -> tuple[str, ...]:
    return tuple(each.name for each in schema if each.name != EXTRA)


def _text_schema(spark: SparkSession, names: Sequence[str]) -> StructType:
    return spark.createDataFrame([], all_text(names)).schema


def _is_piece(split: SplitDescriptor) -> bool:
    return "start" in split.descriptor or "first" in split.descriptor


def _local(path: str) -> str:
    return path.removeprefix("file://")
