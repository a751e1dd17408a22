"""Writes a frame's partitions as objects, in tasks: visible at once, or begun and not completed.

Names carry epoch, token, partition and attempt, and a part that is drawn anew: no two attempts, of
this worker or of a former one, ever write the same name.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from conductor_py.records import dataclass
from conductor_workers.pipelines.storage.s3 import S3Storage
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_FOLDER: Final = "_conductor_folder"
_LINE: Final = "_conductor_line"
_HELD_BYTES: Final = 256 << 20
"""What a task holds of all folders before it writes the largest."""
_TRIED_BYTES: Final = 4 << 20
"""What is encoded once to see how large rows are when they are."""
_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
_TYPED: Final = ("parquet", "orc")
_ODD: Final = ("void", "variant")
_NESTED: Final = ("array", "map", "struct", "variant")
_PLAIN: Final = " !#$&()+,-.;<>@^_`|~"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectWriter:
    """What a task runs. ``hidden`` begins uploads without completing them."""

    REPORT: ClassVar[str] = "object string, rows bigint"

    storage: S3Storage
    format: str
    header: str
    hidden: bool
    folder: str
    stem: str
    once: str
    target_bytes: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for number, (folder, table) in enumerate(self._portions(batches)):
            begun = self._written(folder, table, number)
            report = {"object": json.dumps(begun), "rows": table.num_rows}
            yield pa.RecordBatch.from_pylist([report])

    def _portions(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.Table]]:
        """Gather rows by folder until one of them is large enough, or all of them are."""
        import pyarrow as pa

        held: dict[str, list[pa.Table]] = {}
        sizes: dict[str, int] = {}
        share = 0.0
        for batch in batches:
            for folder, table in _by_folder(pa.Table.from_batches([batch])):
                held.setdefault(folder, []).append(table)
                sizes[folder] = sizes.get(folder, 0) + table.nbytes
                if not share and sizes[folder] >= min(_TRIED_BYTES, self.target_bytes):
                    tried = pa.concat_tables(held[folder])
                    share = len(self._content(tried)) / tried.nbytes
                full = folder if share and sizes[folder] * share >= self.target_bytes else None
                if full is None and sum(sizes.values()) >= _HELD_BYTES:
                    full = max(sizes, key=lambda each: sizes[each])
                if full is not None:
                    yield full, pa.concat_tables(held.pop(full))
                    del sizes[full]
        for folder in sorted(held):
            yield folder, pa.concat_tables(held[folder])

    def _written(self, folder: str, table: pa.Table, number: int) -> Mapping[str, Any]:
        from pyspark import TaskContext

        task = TaskContext.get()
        attempt = f"{task.partitionId():05d}-{task.taskAttemptId()}" if task else "00000-0"
        extension = "jsonl" if self.format == "json" else self.format
        name = f"{self.stem}-{attempt}-{number}-{self.once}.{extension}"
        steps = [self.folder, folder, name] if self.folder else [folder, name]
        whole = "/".join(step for step in steps if step)
        content = self._content(table)
        if self.hidden:
            return self.storage.begin(whole, content)
        self.storage.create(whole, content)
        return {"name": whole, "bytes": len(content)}

    def _content(self, table: pa.Table) -> bytes:
        buffer = io.BytesIO()
        if self.format == "parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, buffer)
        elif self.format == "orc":
            from pyarrow import orc

            orc.write_table(table, buffer)
        else:
            lines = [self.header] if self.header else []
            lines += table.column(_LINE).to_pylist()
            buffer.write(("\n".join(lines) + "\n").encode())
        return buffer.getvalue()


def unfit(frame: DataFrame, format: str, partition_by: tuple[str, ...]) -> str | None:
    """Return why such rows cannot become objects; None when they can."""
    kinds = {each.name: each.dataType for each in frame.schema}
    given: set[str] = set()
    for name in partition_by:
        if name not in kinds:
            return f"the rows have no column {name} for folders"
        if name.lower() in given:
            return f"the column {name} is named twice for folders"
        if "/" in name or kinds[name].typeName() in _NESTED:
            return f"the column {name} cannot become folders: it is {kinds[name].simpleString()}"
        given.add(name.lower())
    if len(given) == len(kinds):
        return "all columns become folders, and none is left for the rows"
    for name in kinds if format in _TYPED else ():
        if "`" in name:  # Spark hands no such column to Python
            return f"the name of the column {name} has a backtick; give it another one"
        if name not in partition_by and (odd := _unwritable(kinds[name])):
            return f"the column {name} holds {odd}, which {format} objects have not; cast it"
    return None


def _unwritable(kind: DataType) -> str | None:
    """Return what of a type Arrow would write as something else."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, StructType):
        inner = [each.dataType for each in kind]
    elif isinstance(kind, MapType):
        inner = [kind.keyType, kind.valueType]
    else:
        inner = [kind.elementType] if isinstance(kind, ArrayType) else []
    name = kind.simpleString()
    if name in _ODD or name.startswith("interval"):
        return name
    return next((odd for each in inner if (odd := _unwritable(each))), None)


def prepared(
    frame: DataFrame, format: str, options: Mapping[str, str], partition_by: tuple[str, ...]
) -> DataFrame:
    """Return the rows as a writer wants them: their folder beside their columns, or their line."""
    from pyspark.sql import functions as f

    named = {name: f.col(quoted(name)) for name in frame.columns}
    texts = {name: named[name].cast("string") for name in partition_by}
    # Readers take a folder without a value for a mistake: as in Spark it stands for NULL, too.
    steps = [
        f.concat(f.lit(f"{name}="), f.when(text != "", text).otherwise(f.lit(_NO_VALUE)))
        for name, text in texts.items()
    ]
    # As text: Spark looks at the size of a batch after each row, and in lists that takes as long as
    # the batch is.
    folder = (f.to_json(f.array(*steps)) if steps else f.lit(None).cast("string")).alias(_FOLDER)
    rest = [column for name, column in named.items() if name not in partition_by]
    if format == "json":
        return frame.select(folder, f.to_json(f.struct(*rest), dict(options)).alias(_LINE))
    if format == "csv":
        return frame.select(folder, f.to_csv(f.struct(*rest), dict(options)).alias(_LINE))
    return frame.select(folder, *rest)


def _by_folder(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    import pyarrow.compute as pc

    if not table.num_rows:
        return
    if table.column(_FOLDER).null_count == table.num_rows:
        yield "", table.drop_columns([_FOLDER])
        return
    column = table.column(_FOLDER)
    rest = table.drop_columns([_FOLDER])
    distinct = sorted((_path(steps), steps) for steps in pc.unique(column).to_pylist())
    if len(distinct) == 1:
        yield distinct[0][0], rest
        return
    for folder, steps in distinct:
        yield folder, rest.filter(pc.equal(column, steps))


def _path(steps: str) -> str:
    """Return the folder of rows, ``day=2026-02-28/country=NL``."""
    named = (step.partition("=") for step in json.loads(steps))
    return "/".join(f"{name}={quote(value, safe=_PLAIN)}" for name, _, value in named)
