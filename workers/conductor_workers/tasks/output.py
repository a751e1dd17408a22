"""The ``output`` of a Spark task: what it may say, and the way of a frame into a destination.

    {"path": "/data/out", "format": "parquet", "mode": "overwrite", "partitionBy": ["day"],
     "coalesce": 1, "options": {"header": true}}

The data is written to staging, counted, listed in a manifest, and published as a whole (see
``targets``). The task's own output names where it lies and how much it is; the rows stay where they
were written. ``path`` may be ``s3://bucket/prefix``; the environment of the worker says how to
reach the store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from py4j.protocol import Py4JError
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass
from conductor_workers.attempt import Attempt, AttemptEnded
from conductor_workers.datafiles import FileForm
from conductor_workers.destination import DestinationRefused
from conductor_workers.manifest import Manifest
from conductor_workers.paths import AllowedPaths
from conductor_workers.pipelines.storage.s3 import S3Storage
from conductor_workers.statements import quoted
from conductor_workers.tasks.document import Document, invalid
from conductor_workers.tasks.targets import read_place, target_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
MOST_ROWS = 1000
MOST_ROW_BYTES = 256 * 1024
_MOST_COALESCED = 10_000
#: Spark reads the number of rows of these from their footers.
_COUNTED_BY_FOOTER = ("parquet", "orc")
#: Options of Spark's writers of text, which are no part of a row.
_OF_FILES = ("compression", "codec", "encoding", "lineSep")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSpec:
    """Where a frame goes and how it is written; ``path`` is the place as the task names it."""

    path: str
    place: Path | S3Storage
    form: FileForm
    overwrite: bool
    coalesce: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The first rows of a result; ``truncated`` when the byte bound cut them short."""

    rows: tuple[JsonValue, ...]
    truncated: bool


def refuse_output(paths: AllowedPaths, output: OutputSpec | None) -> None:
    """Raise ``PathRefused`` for an output that is not where the worker may write."""
    if output is not None:
        paths.refuse_others("$.output.path", output.path)


def read_output_spec(document: Document) -> OutputSpec:
    """Read the object ``output`` of a task's input.

    Raises:
        InvalidInput: something in it is wrong; the path says what.
    """
    text = document.required_text("path")
    try:
        place = read_place(text)
    except DestinationRefused as error:
        raise invalid(document.at("path"), error.message) from error
    form = document.choice("format", ("parquet", "csv", "json", "orc"), "parquet")
    options = document.options_of(form)
    if not isinstance(place, Path):
        for name in options:
            if form in _COUNTED_BY_FOOTER or name in _OF_FILES:
                raise invalid(f"{document.at('options')}.{name}", "is heeded on disks only.")
    spec = OutputSpec(
        path=text,
        place=place,
        form=FileForm(
            format=form,
            options=options,
            partition_by=document.texts("partitionBy"),
        ),
        overwrite=document.choice("mode", ("overwrite", "error"), "error") == "overwrite",
        coalesce=document.whole("coalesce", least=1, most=_MOST_COALESCED),
    )
    document.done()
    return spec


class OutputWriter:
    """One frame's way to its destination: ``prepare``, ``stage``, then ``publish``; ``discard`` at
    the end.

    Between staging and publishing the caller may look at the staged data.
    """

    def __init__(self, spec: OutputSpec, attempt: Attempt) -> None:
        """Write for that attempt, by that specification."""
        self._spec = spec
        self._attempt = attempt
        self._target = target_of(spec.place, spec.form)

    @property
    def spec(self) -> OutputSpec:
        """What is to be written, and where."""
        return self._spec

    @property
    def readable_staged(self) -> bool:
        """Say whether what is staged can be read back exactly as it was."""
        form, on_disk = self._spec.form, isinstance(self._spec.place, Path)
        return on_disk and form.format in _COUNTED_BY_FOOTER and not form.partition_by

    def published_before(self) -> Manifest | None:
        """Return the manifest when this very task published already (and its report was lost)."""
        return self._target.adopted(self._attempt.claim)

    def prepare(self) -> None:
        """Raise the fence and open the staging place, before any work is done.

        Raises:
            AttemptEnded: a newer claim has been here.
            DestinationRefused: the destination is not ours to replace.
        """
        self._target.prepare(self._attempt.claim, overwrite=self._spec.overwrite)

    def stage(self, frame: DataFrame) -> Path | None:
        """Write the frame to staging; returns where it can be read back, if it can."""
        coalesce = self._spec.coalesce
        return self._target.stage(frame if coalesce is None else frame.coalesce(coalesce))

    def publish(
        self, frame: DataFrame, *, row_count: int, metrics: JsonObject | None = None
    ) -> Manifest:
        """Publish what was staged, with that many rows; ``metrics`` go into the manifest.

        Raises:
            AttemptEnded: the claim was lost before the data became visible.
        """
        if self._attempt.cancelled.is_set():
            raise AttemptEnded("The attempt was cancelled before its output was published.")
        manifest = Manifest(
            claim=self._attempt.claim,
            data_format=self._spec.form.format,
            row_count=row_count,
            schema=schema_ddl(frame),
            files=self._target.files(),
            metrics=metrics or {},
        )
        return self._target.publish(manifest, confirm=self._attempt.confirm)

    def discard(self) -> None:
        """Delete what is left in staging."""
        self._target.discard()

    def told(self, manifest: Manifest) -> dict[str, JsonValue]:
        """Return what a task's output says about data that was published."""
        return {
            "rowCount": manifest.row_count,
            "path": self._target.address,
            "format": manifest.data_format,
            "files": len(manifest.files),
            "bytes": manifest.total_bytes,
            "schema": manifest.schema,
            **manifest.metrics,
        }


@contextmanager
def computed_once(frame: DataFrame) -> Iterator[DataFrame]:
    """Compute the frame now and offer its rows, in their order, to as many readers as there are.

    Spark's own cache (``persist``) is shared by all sessions and guarded by locks that are held
    while a cached frame is computed: one attempt's ``unpersist`` waits for the other attempt's
    query, and no cancellation reaches it. A local checkpoint belongs to nobody else.
    """
    once = frame.localCheckpoint(eager=True)
    try:
        yield once
    finally:
        # The blocks would go at some later garbage collection; nothing public does it now.
        with suppress(Py4JError):
            once._jdf.logicalPlan().rdd().unpersist(False)  # noqa: SLF001


def first_rows(frame: DataFrame, count: int) -> Rows:
    """Collect at most that many rows as JSON, and no more than the byte bound allows."""
    from pyspark.sql import functions

    as_json = functions.to_json(functions.struct("*"), {"ignoreNullFields": "false"})
    size = 0
    rows: list[JsonValue] = []
    for row in frame.limit(count).select(as_json).collect():
        text = cast("str", row[0])
        size += len(text.encode())
        if size > MOST_ROW_BYTES:
            return Rows(rows=tuple(rows), truncated=True)
        rows.append(cast("JsonObject", json.loads(text)))
    return Rows(rows=tuple(rows), truncated=False)


def schema_ddl(frame: DataFrame) -> str:
    """Return the frame's columns as an input's ``schema`` could name them."""
    return ", ".join(f"{_name(field.name)} {_type(field.dataType)}" for field in frame.schema)


def _type(kind: DataType) -> str:
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{_name(each.name)}:{_type(each.dataType)}' for each in kind)}>"
    if isinstance(kind, ArrayType):
        return f"array<{_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{_type(kind.keyType)},{_type(kind.valueType)}>"
    return kind.simpleString()


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)
