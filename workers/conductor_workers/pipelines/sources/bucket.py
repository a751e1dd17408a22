"""``file`` in a bucket: CSV, JSON lines, Parquet and ORC read by ranges, with the very version that
was found.

Settings: those of files on disks, with ``paths`` like ``s3://bucket/orders/*.csv`` (``*`` stays
within a folder, ``**`` does not; a path that ends with ``/`` means all below it), and how to reach
the store (see ``storage.s3``). Every request names the etag of the listing: an object that was
replaced since is ``SOURCE_CHANGED``, never a mixture.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import urlsplit

from conductor_py.errors import ConfigurationError
from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.manifest import OUTPUT_LOG
from conductor_workers.pipelines.connectors import AT, CODE, Discovery, SourceProblem, SplitReader
from conductor_workers.pipelines.csv_form import form_options, whole_only
from conductor_workers.pipelines.places import in_order, together
from conductor_workers.pipelines.registry import Place
from conductor_workers.pipelines.shapes import arrow_schema
from conductor_workers.pipelines.sinks.bucket import bucket_of
from conductor_workers.pipelines.sources.committed import (
    DATA,
    ListedTooEarly,
    committed,
    fixed_part,
)
from conductor_workers.pipelines.sources.compression import is_compressed
from conductor_workers.pipelines.sources.file import FileSource
from conductor_workers.pipelines.sources.folders import bases_of
from conductor_workers.pipelines.sources.groups import GroupReader
from conductor_workers.pipelines.sources.line_reader import TypedLines
from conductor_workers.pipelines.sources.listing import CutRule, extended, grouped
from conductor_workers.pipelines.sources.pieces import Lines
from conductor_workers.pipelines.storage import StoreAway
from conductor_workers.pipelines.storage.name_patterns import matcher
from conductor_workers.pipelines.storage.s3 import Listed, S3Storage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_TEXT: Final = ("csv", "json")
_SAMPLE_BYTES: Final = 4 << 20
_WORTH_CUTTING: Final = 2
_LISTS: Final = 5
_OUTPUT: Final = re.compile(rf"(?P<root>.*)/{OUTPUT_LOG}/\d+\.json")
_PATTERN: Final = re.compile(r"[*?].*")


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketFiles:
    """``Files`` of a bucket."""

    storage: S3Storage

    def open(self, split: SplitDescriptor) -> BinaryIO:
        """See ``Files``."""
        return self.place(split)

    def place(self, split: SplitDescriptor) -> BinaryIO:
        """See ``Files``."""
        about = split.descriptor
        return self.storage.open(
            str(about["path"]), size=int(about["size"]), etag=str(about["etag"])
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSource:
    """``Source`` of the kind. ``like`` is the same node as if its files were on a disk."""

    name: str
    storage: S3Storage
    patterns: tuple[str, ...]
    like: FileSource
    rule: CutRule = field(default_factory=CutRule)
    watch: bool = False

    def schema(self, spark: SparkSession) -> StructType:
        """Take the declared columns, else those of the first object."""
        return self.schema_of(spark, () if self.like.declared is not None else self.found())

    def schema_of(self, spark: SparkSession, found: Sequence[Listed]) -> StructType:
        """Take the declared columns, else those of the first of these objects."""
        if self.like.declared is not None:
            return self.like.schema(spark)
        first = next((each for each in found if each.size), None)
        if first is None:
            raise SourceProblem(
                "SOURCE_UNAVAILABLE",
                f"{self.name}: no object of the bucket {self.storage.bucket} matches, and without "
                "one or a declared schema the columns are not known.",
                retryable=True,
            )
        with tempfile.TemporaryDirectory() as folder:
            sample = Path(folder) / f"sample{Path(first.name).suffix}"
            sample.write_bytes(self._sampled(first))
            return replace(self.like, patterns=(str(sample),)).schema(spark)

    def enumerator(self, restored: Mapping[str, Any]) -> BucketEnumerator:
        """See ``Source``."""
        return BucketEnumerator(self, restored)

    def extends(self, snapshot: Mapping[str, Any]) -> bool:
        """See ``Extending``."""
        return extended(self.patterns, snapshot)

    def reader(self, schema: StructType) -> SplitReader:
        """See ``Source``. A value that does not fit is NULL here; ``frame`` sets its row aside."""
        if self.like.format not in _TEXT:
            return self._opened(self.like.groups(schema))
        rows = self.like.line_reader(schema, self._lines)
        return _Explained(self.name, TypedLines(rows, arrow_schema(schema)))

    def frame(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``NativeSource``."""
        return together(self.frames(spark, splits, schema), placed=self.like.placing)

    def ordered(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``Ordering``: the rows of one frame have their order."""
        placing = replace(self, like=replace(self.like, placing=True))
        frames = placing.frames(spark, splits, schema)
        rows = together(frames, placed=True)
        return rows.drop(AT, CODE) if len(frames) == 1 else in_order(rows, splits)

    def frames(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> list[DataFrame]:
        """See ``FileSource``."""
        like = self.like.knowing(splits, schema, bases_of(self.patterns))
        explained = partial(_Explained, self.name)
        frames: list[DataFrame] = []
        for alike in like.folders.groups(splits).values():
            if like.format in _TEXT:
                frames += like.text_pieces(spark, alike, schema, self._lines, explained=explained)
            else:
                frames.append(like.group_rows(spark, alike, schema, opened=self._opened))
        return frames

    def _opened(self, groups: GroupReader) -> SplitReader:
        return _Explained(self.name, replace(groups, files=self._files))

    def placed(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``Placing``."""
        placing = replace(self, like=replace(self.like, placing=True))
        return placing.frame(spark, splits, schema)

    def found(self) -> list[Listed]:
        """List the objects that match, each once, by name."""
        try:
            by_name: dict[str, Listed] = {}
            for pattern in self.patterns:
                by_name.update(self._matching(pattern))
        except StoreAway as error:
            raise _away(self.name, error) from error
        except FileNotFoundError as error:
            raise SourceProblem(
                "SOURCE_UNAVAILABLE", f"{self.name}: there is no bucket {self.storage.bucket}."
            ) from error
        return [by_name[name] for name in sorted(by_name)]

    def _matching(self, pattern: str) -> dict[str, Listed]:
        """List what counts; again, when it was replaced as a whole before its manifest was read."""
        whole = f"{pattern}**" if pattern.endswith("/") or not pattern else pattern
        matches = matcher(whole)
        for left in reversed(range(_LISTS)):
            listed = list(self.storage.listed(_PATTERN.sub("", whole)))
            found = {each.name: each for each in listed if matches(each.name)}
            try:
                names = committed(
                    found,
                    self._place,
                    base=fixed_part(whole),
                    wanted=matches,
                    places=_outputs(listed, whole),
                )
            except ListedTooEarly as early:
                if not left:
                    raise SourceProblem(
                        "SOURCE_UNAVAILABLE",
                        f"{self.name}: a manifest names {early} in the bucket "
                        f"{self.storage.bucket}, and there is no such object.",
                        retryable=True,
                    ) from early
            else:
                return {name: found[name] for name in names}
        raise AssertionError("the last look returns or raises")

    def _place(self, root: str) -> S3Storage:
        steps = (self.storage.prefix, root)
        return replace(self.storage, prefix="/".join(step for step in steps if step))

    def cut(self, listed: Listed) -> Iterator[SplitDescriptor]:
        """Cut an object into splits, as files on disks are cut."""
        whole = {"path": listed.name, "size": listed.size, "etag": listed.etag}
        cuttable = not is_compressed(listed.name) and self.rule.by != "file"
        if not cuttable or listed.size <= self.rule.size * _WORTH_CUTTING:
            yield SplitDescriptor(ord=0, descriptor=whole, bytes=listed.size)
        elif self.like.format in _TEXT:
            for start in range(0, listed.size, self.rule.size):
                piece = {"start": start, "length": min(self.rule.size, listed.size - start)}
                yield SplitDescriptor(ord=0, descriptor={**whole, **piece}, bytes=piece["length"])
        else:
            for first, sizes in grouped(self._units(listed), self.rule.size):
                yield SplitDescriptor(
                    ord=0,
                    descriptor={**whole, "first": first, "count": len(sizes)},
                    bytes=sum(size for size, _ in sizes),
                    rows=sum(rows for _, rows in sizes),
                )

    @property
    def _files(self) -> BucketFiles:
        return BucketFiles(storage=self.storage)

    @property
    def _lines(self) -> Lines:
        return replace(self.like.lines, files=self._files)

    def _sampled(self, first: Listed) -> bytes:
        """Return enough of an object to see its columns: whole lines, or the whole of it."""
        try:
            if self.like.format not in _TEXT or first.size <= _SAMPLE_BYTES:
                return self.storage.part(first.name, 0, first.size, first.etag)
            content = self.storage.part(first.name, 0, _SAMPLE_BYTES, first.etag)
        except StoreAway as error:
            raise _away(self.name, error) from error
        return content[: content.rfind(b"\n") + 1]

    def _units(self, listed: Listed) -> list[tuple[int, int]]:
        """Return bytes and rows of each row group or stripe."""
        with self.storage.open(listed.name, size=listed.size, etag=listed.etag) as file:
            if self.like.format == "parquet":
                import pyarrow.parquet as pq

                meta = pq.read_metadata(file)
                groups = [meta.row_group(at) for at in range(meta.num_row_groups)]
                return [(each.total_byte_size, each.num_rows) for each in groups]
            from pyarrow import orc

            stripes = orc.ORCFile(file)
            each_size = listed.size // max(1, stripes.nstripes)
            return [(each_size, stripes.nrows // max(1, stripes.nstripes))] * stripes.nstripes


def _outputs(listed: Sequence[Listed], pattern: str) -> set[str]:
    """Return the places of tasks' outputs whose data the pattern may match."""
    roots = {found["root"] for each in listed if (found := _OUTPUT.fullmatch(each.name))}
    steps = pattern.count("/")
    return {root for root in roots if "**" in pattern or f"{root}/{DATA}/".count("/") <= steps}


class BucketEnumerator:
    """Lists by name; a watched place is listed again each time, and what is new comes by age.

    What was found is thousands of names, and no part of the snapshot.
    """

    def __init__(self, source: BucketSource, restored: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._source = source
        self._seen = set[str]()
        # What comes first, if it is still there: so many of its splits were returned.
        self._cutting = str(restored.get("cutting", ""))
        self._parts = int(restored.get("parts", 0))

    def discover(self, *, first_ord: int, limit: int) -> Discovery:
        """See ``SplitEnumerator``."""
        found: list[SplitDescriptor] = []
        for listed in self._coming():
            if listed.name != self._cutting:
                self._cutting, self._parts = listed.name, 0
            for piece in list(self._source.cut(listed))[self._parts :]:
                if len(found) == limit:
                    return Discovery(found=tuple(found), complete=False)
                found.append(replace(piece, ord=first_ord + len(found)))
                self._parts += 1
            self._passed(listed)
        return Discovery(found=tuple(found), complete=not self._source.watch)

    def recall(self, found: Iterable[SplitDescriptor]) -> None:
        """See ``Recalling``."""
        paths = (str(split.descriptor["path"]) for split in found)
        self._seen = {path for path in paths if path != self._cutting}

    def snapshot(self) -> Mapping[str, Any]:
        """See ``SplitEnumerator``."""
        patterns = list(self._source.patterns)
        return {"patterns": patterns, "cutting": self._cutting, "parts": self._parts}

    def close(self) -> None:
        """Clients are the process's."""

    def _coming(self) -> list[Listed]:
        new = (each for each in self._source.found() if each.name not in self._seen)
        return sorted(new, key=self._place)

    def _place(self, listed: Listed) -> tuple[bool, float, str]:
        age = listed.modified if self._source.watch else 0.0
        return listed.name != self._cutting, age, listed.name

    def _passed(self, listed: Listed) -> None:
        self._cutting, self._parts = "", 0
        self._seen.add(listed.name)


@dataclass(frozen=True, slots=True)
class _Explained:
    """A reader whose store may be away, or have another object by now."""

    node: str
    reader: Any

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``."""
        with _explained(self.node, split):
            yield from self.reader.read(split)

    def head(self, split: SplitDescriptor) -> bytes:
        """See ``Lines``."""
        with _explained(self.node, split):
            return bytes(self.reader.head(split))


@contextmanager
def _explained(node: str, split: SplitDescriptor) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise _changed(node, split) from error
    except StoreAway as error:
        raise _away(node, error) from error
    except SourceProblem as problem:
        # Readers of files take what the store said for a broken file.
        if isinstance(problem.__cause__, StoreAway):
            raise _away(node, problem.__cause__) from problem
        if isinstance(problem.__cause__, FileNotFoundError):
            raise _changed(node, split) from problem
        raise


def open_source(node: spec.Source, place: Place) -> BucketSource:
    """Make the source of a node."""
    settings = place.settings(node)
    paths = settings.texts("paths")
    buckets = {urlsplit(path).netloc for path in paths}
    if len(buckets) != 1:
        raise ConfigurationError(f"{node.id}.paths must be of one bucket.")
    rule = node.split or spec.SplitRule(by="file")
    form = settings.choice("format", ("csv", "json", "parquet", "orc"), "parquet")
    watch = settings.flag("watch", default=False)
    options = form_options(form, settings.named_texts("options"))
    if odd := whole_only(form, options):
        raise settings.refused(f"options.{odd[0]}", "is heeded for files on disks only")
    return BucketSource(
        name=node.id,
        storage=bucket_of(settings, f"s3://{buckets.pop()}"),
        patterns=tuple(path.partition("://")[2].partition("/")[2] for path in paths),
        like=FileSource(
            name=node.id,
            patterns=(),
            format=form,
            options=options,
            declared=node.schema,
        ),
        rule=CutRule(by=rule.by, size=rule.size_bytes),
        watch=watch,
    )


def _changed(node: str, split: SplitDescriptor) -> SourceProblem:
    path = split.descriptor["path"]
    return SourceProblem(
        "SOURCE_CHANGED", f"{node}: the object {path} was replaced or deleted since it was found."
    )


def _away(node: str, error: StoreAway) -> SourceProblem:
    return SourceProblem("SOURCE_UNAVAILABLE", f"{node}: {error}", retryable=True)
