"""Rows that wait for their epoch's decision, as objects in the work directory.

For sinks whose target cannot hide rows: tasks write them as Parquet objects, the record names those
that a successful job reported, with their hashes, and the driver reads them when it publishes.
What no record names (a failed attempt's, a lower token's) is deleted and was seen by nobody.

    staged/<key>/<epoch>-t<token>-<once>/<partition>-<attempt>-<number>.parquet
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines.record import Staged
from conductor_py.records import dataclass
from conductor_workers.pipelines.connectors import Epoch, Owner, SinkProblem, task_key
from conductor_workers.pipelines.storage import ObjectLost, Storage, fetch, keep

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_HOME: Final = "staged"
_OBJECT_BYTES: Final = 32 << 20
_REPORT: Final = "reference string, rows bigint, bytes bigint"


class StagedLost(SinkProblem):
    """What a decided epoch should publish is gone: nobody may guess what it was."""

    def __init__(self, message: str) -> None:
        """Say what is gone."""
        super().__init__("STAGED_LOST", message, retryable=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingPlace:
    """The staged rows of one sink node. ``sink`` is its id."""

    storage: Storage
    sink: str

    def write(self, frame: DataFrame, epoch: Epoch) -> dict[str, Any]:
        """Stage the rows of a frame; runs one Spark job. Returns what ``read`` wants."""
        folder = f"{_HOME}/{epoch.task_key}/{epoch.name}-{uuid.uuid4().hex[:8]}"
        writer = _Writer(storage=self.storage, folder=folder)
        reported = frame.mapInArrow(writer, _REPORT).collect()
        objects = sorted((str(row["reference"]) for row in reported), key=_order)
        return {
            "folder": folder,
            "objects": objects,
            "rows": sum(int(row["rows"]) for row in reported),
            "bytes": sum(int(row["bytes"]) for row in reported),
        }

    def read(self, staged: Staged) -> Iterator[pa.RecordBatch]:
        """Return the staged rows, always in the same order. Raises ``StagedLost``."""
        import pyarrow.parquet as pq

        for reference in staged["objects"]:
            try:
                content = fetch(self.storage, str(reference))
            except ObjectLost as error:
                raise StagedLost(f"{self.sink}: {error}") from error
            with pq.ParquetFile(io.BytesIO(content)) as file:
                yield from file.iter_batches()

    def delete(self, staged: Staged) -> None:
        """Delete what was published."""
        self.storage.delete(str(staged["folder"]))

    def withdraw(self, epoch: Epoch) -> None:
        """Delete all that this attempt staged for an epoch; see ``Withdrawing``."""
        home = f"{_HOME}/{epoch.task_key}"
        for folder in {_folder(name) for name in self.storage.names(home)}:
            if folder.rpartition("/")[2].startswith(f"{epoch.name}-"):
                self.storage.delete(folder)

    def discard(self, owner: Owner, pipeline: str, *, below: int, keep: Staged | None) -> None:
        """Delete what lower tokens staged, except ``keep``."""
        home = f"{_HOME}/{task_key(owner, pipeline, self.sink)}"
        kept = None if keep is None else keep.get("folder")
        for folder in {_folder(name) for name in self.storage.names(home)}:
            token = folder.rpartition("/")[2].split("-")[1].removeprefix("t")
            if folder != kept and int(token) < below:
                self.storage.delete(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writer:
    """Writes one partition's rows, and reports the objects."""

    storage: Storage
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        task = TaskContext.get()
        place = f"{task.partitionId():06d}-{task.taskAttemptId()}" if task else "000000-0"
        for number, portion in enumerate(_portions(batches)):
            content = _parquet(portion)
            reference = keep(self.storage, f"{self.folder}/{place}-{number:04d}.parquet", content)
            rows = sum(batch.num_rows for batch in portion)
            yield pa.RecordBatch.from_pylist(
                [{"reference": reference, "rows": rows, "bytes": len(content)}]
            )


def _portions(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= _OBJECT_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _parquet(portion: list[pa.RecordBatch]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_batches(portion), buffer, compression="zstd")
    return buffer.getvalue()


def _folder(name: str) -> str:
    """Return the folder of an object: its first three steps."""
    return "/".join(name.split("/")[:3])


def _order(reference: str) -> tuple[int, int]:
    partition, _, number = reference.rpartition("#")[0].rpartition("/")[2].split("-")
    return int(partition), int(number.removesuffix(".parquet"))
