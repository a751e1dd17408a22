"""The ``inputs`` of a SPARK_SQL task: files on a disk or in a bucket, which become views.

    {"flights": {"format": "csv", "path": "/data/flights.csv", "options": {"header": true},
                 "schema": "carrier string, arr_delay double"},
     "carriers": {"format": "parquet", "path": "s3://lake/carriers"}}

Where manifests decide what counts, only what they name is read. Objects of a bucket are read as
data pipelines read them, with the very version that was found; the environment of the worker says
how to reach the store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import StringType, StructField, StructType

from conductor_py.errors import ConfigurationError
from conductor_py.pipelines import spec
from conductor_py.records import dataclass
from conductor_workers.bucket_destination import BucketDestination
from conductor_workers.datafiles import address
from conductor_workers.destination import DestinationRefused, local_path
from conductor_workers.manifest import MANIFESTS, visible_files
from conductor_workers.pipelines.connectors import BAD, RAW, SourceProblem
from conductor_workers.pipelines.csv_form import whole_only
from conductor_workers.pipelines.sources.bucket import BucketSource
from conductor_workers.pipelines.sources.committed import fixed_part
from conductor_workers.pipelines.sources.file import FileSource
from conductor_workers.pipelines.sources.listing import CutRule
from conductor_workers.pipelines.storage.local import LocalStorage
from conductor_workers.pipelines.storage.s3 import bucket_and_key, s3_storage
from conductor_workers.tasks.document import Document, invalid
from conductor_workers.tasks.outcome import TaskRefused
from conductor_workers.tasks.targets import in_bucket

RESULT_VIEW: Final = "result"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_CUT_BY: Final = {"csv": "bytes", "json": "bytes", "parquet": "row_groups", "orc": "stripes"}
_WILD: Final = frozenset("*?")
_SHOWN: Final = 200
"""Characters of a row that a reason quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """A source that becomes a view of that name."""

    view: str
    format: str
    path: str
    options: Mapping[str, str]
    schema: str | None

    @property
    def where(self) -> str:
        """How a sentence names it."""
        return f"$.inputs.{self.view}.path: {self.path}"


def read_input(name: str, document: Document) -> InputSpec:
    """Read one of them. Raises ``InvalidInput``."""
    if not _IDENTIFIER.fullmatch(name) or name.lower() == RESULT_VIEW:
        raise invalid(document.path, f"a view's name is an identifier other than '{RESULT_VIEW}'.")
    form = document.choice("format", tuple(_CUT_BY), None)
    source = InputSpec(
        view=name,
        format=form,
        path=document.required_text("path"),
        options=document.options_of(form),
        schema=document.text("schema"),
    )
    if in_bucket(source.path):
        if odd := whole_only(form, source.options):
            raise invalid(
                f"{document.at('options')}.{odd[0]}", "is heeded for files on disks only."
            )
        try:
            bucket_and_key(source.path)
        except ConfigurationError as error:
            raise invalid(document.at("path"), error.message) from error
    document.done()
    return source


def load_input(own: SparkSession, source: InputSpec) -> DataFrame:
    """Return the rows of a source.

    Raises:
        TaskRefused: it can never be read as it is.
        OSError: the store does not answer.
    """
    if in_bucket(source.path):
        try:
            return _of_bucket(own, source)
        except SourceProblem as problem:
            if problem.retryable:
                raise OSError(str(problem)) from problem
            raise TaskRefused(str(problem)) from problem
    reader = own.read.format(source.format).options(**dict(source.options))
    if source.schema is not None:
        reader = reader.schema(source.schema)
    files = _committed(source)
    if files is None:
        return reader.load(source.path)
    if not files and source.schema is not None:
        return own.createDataFrame([], source.schema)
    return reader.load(files)


def _committed(source: InputSpec) -> list[str] | None:
    """List the files of a directory where manifests decide; None for any other path.

    Raises ``TaskRefused`` for what only a data pipeline can read.
    """
    try:
        root = local_path(source.path)
    except DestinationRefused:
        return None
    if not (root / MANIFESTS).is_dir():
        return None
    names = visible_files(LocalStorage(root))
    _refuse_partitions(source, names)
    if not names and source.schema is None:
        raise TaskRefused(f"{source.where} shows no file yet, and there is no schema.")
    return [address(root / name) for name in names]


def _refuse_partitions(source: InputSpec, names: tuple[str, ...]) -> None:
    if any("=" in step for name in names for step in Path(name).parts[:-1]):
        raise TaskRefused(f"{source.where} has folders of partitions; read it with a pipeline.")


def _of_bucket(own: SparkSession, source: InputSpec) -> DataFrame:
    bucket, key = bucket_and_key(source.path)
    wild = bool(_WILD & set(key))
    # A name, and all that lies in a folder of that name: as a path of a disk may be either.
    patterns = (key,) if not key or key.endswith("/") or wild else (key, f"{key}/")
    objects = BucketSource(
        name=source.where,
        storage=s3_storage(f"s3://{bucket}", {}),
        patterns=patterns,
        like=FileSource(
            name=source.where,
            patterns=(),
            format=source.format,
            options=source.options,
            declared=None if source.schema is None else _declared(own, source.schema),
        ),
        rule=CutRule(by=_CUT_BY[source.format]),
    )
    found = objects.found()
    _refuse_partitions(source, tuple(_below(key, each.name) for each in found))
    if not found and source.schema is None and not wild:
        present = BucketDestination(s3_storage(source.path, {})).present()
        if present is not None and not present.files:  # a result without rows has no object
            return own.createDataFrame([], present.schema)
    schema = objects.schema_of(own, found)
    inferred = source.schema is None and source.options.get("inferSchema") == "true"
    if source.format == "csv" and source.schema is None and not inferred:  # as Spark reads it
        schema = StructType([StructField(each.name, StringType()) for each in schema])
    splits = [piece for each in found for piece in objects.cut(each)]
    numbered = [replace(piece, ord=at) for at, piece in enumerate(splits)]
    return _whole_rows(source, objects.frame(own, numbered, schema))


def _below(key: str, name: str) -> str:
    """Return the steps of a name below what an input names."""
    for folder in (key.rstrip("/"), fixed_part(key)):
        if folder and name.startswith(f"{folder}/"):
            return name.removeprefix(f"{folder}/")
    return name


def _whole_rows(source: InputSpec, rows: DataFrame | None) -> DataFrame:
    """Refuse rows that cannot be taken apart, when they are read: there is nowhere to put them."""
    assert rows is not None, "a bucket is always read by a frame"
    if BAD not in rows.columns:
        return rows
    about = functions.concat_ws(
        ": ",
        functions.lit(source.where),
        BAD,
        functions.left(functions.col(RAW), functions.lit(_SHOWN)),
    )
    whole = functions.when(functions.col(BAD).isNull(), functions.lit(True))
    return rows.where(whole.otherwise(functions.raise_error(about).cast("boolean"))).drop(BAD, RAW)


def _declared(own: SparkSession, ddl: str) -> spec.Schema:
    """A value that is not of its type is NULL, and any may be missing: as Spark reads files."""
    columns = own.createDataFrame([], ddl).schema
    return spec.Schema(
        columns=tuple(
            spec.Column(name=each.name, type=each.dataType.simpleString()) for each in columns
        ),
        cast_errors="null",
    )
