"""What connectors promise: sources are read split by split, sinks take part in a commit.

A third party implements these protocols, names its factory under the entry point group
``conductor_py.sources`` or ``conductor_py.sinks``, and runs the contract suite of
``conductor_workers.testing``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from conductor_py.pipelines.record import SplitDescriptor, Staged
from conductor_py.pipelines.spec import Guarantee
from conductor_py.records import dataclass

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


#: A source may add these columns to its own: why a row is bad (NULL: it is good), and the row as it
#: came. A round takes both away; what is bad goes to the dead letter sink.
BAD: Final = "_bad"
RAW: Final = "_raw"
#: Where a source tells it: why a row is bad in one word, and where the row stands (``places``).
CODE: Final = "_code"
AT: Final = "_at"

#: What a problem's note ends with when the same may work later.
WORTH_A_TRY: Final = ": worth another try"


class SourceProblem(Exception):
    """A source cannot be read as declared. ``code`` is ``SOURCE_CHANGED``, ``SCHEMA_CHANGED``,
    ``DATA_LOST``, ``SOURCE_UNAVAILABLE`` or the connector's own; the message is one sentence.

    What is raised in a task reaches the driver as text: the note tells the rest of it.
    """

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        """Say which, why, and whether the same may work later."""
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.add_note(f"{code}{WORTH_A_TRY if retryable else ''}")


class SinkProblem(Exception):
    """A sink cannot be written or published; as ``SourceProblem``."""

    def __init__(self, code: str, message: str, *, retryable: bool = True) -> None:
        """Say which, why, and whether the same may work later."""
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.add_note(f"{code}{WORTH_A_TRY if retryable else ''}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """A page of splits without their ords; ``complete``: there will be no more, ever."""

    found: tuple[SplitDescriptor, ...]
    complete: bool


class SplitEnumerator(Protocol):
    """Finds the splits of one source. Lives in the coordinator's thread."""

    def discover(self, *, first_ord: int, limit: int) -> Discovery:
        """Return the next splits, numbered from ``first_ord``; none does not mean complete.

        The same snapshot and the same world give the same splits in the same order.
        Raises ``SourceProblem``.
        """

    def snapshot(self) -> Mapping[str, Any]:
        """Return, as JSON, where the search goes on after everything returned so far."""

    def close(self) -> None:
        """Let go of connections."""


@runtime_checkable
class Recalling(Protocol):
    """An enumerator that goes by what it has found: its snapshot need not hold it once more."""

    def recall(self, found: Iterable[SplitDescriptor]) -> None:
        """Take up all splits up to the snapshot, by ord; called once, before it looks for more."""


class SplitReader(Protocol):
    """Reads splits inside Spark's tasks; travels there by pickle."""

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """Return the split's rows, the same whenever it is read. Raises ``SourceProblem``."""


class Source(Protocol):
    """One source node of a job, on the driver."""

    def schema(self, spark: SparkSession) -> StructType:
        """Say the columns of the rows; looked at once, then pinned in the record."""

    def enumerator(self, restored: Mapping[str, Any]) -> SplitEnumerator:
        """Start, or go on from a snapshot."""

    def reader(self, schema: StructType) -> SplitReader:
        """Return what reads in tasks."""


def going_on(
    source: Source, snapshot: Mapping[str, Any], found: Iterable[SplitDescriptor]
) -> SplitEnumerator:
    """Make an enumerator that goes on from a snapshot, when all of ``found`` was found."""
    enumerator = source.enumerator(snapshot)
    if isinstance(enumerator, Recalling):
        enumerator.recall(found)
    return enumerator


@runtime_checkable
class NativeSource(Protocol):
    """A source that Spark itself reads faster than a ``SplitReader`` would."""

    def frame(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """Return the rows of exactly these splits; ``None`` when the reader must do it."""


@runtime_checkable
class Ordering(Protocol):
    """A native source whose frame may have the rows of several splits in another order."""

    def ordered(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """Return what ``NativeSource.frame`` does, in partitions that follow the splits as given,
        and in each split the rows as they stand in it.
        """


@runtime_checkable
class Extending(Protocol):
    """A bounded source that may be given more to list once it has listed all that it was given."""

    def extends(self, snapshot: Mapping[str, Any]) -> bool:
        """Say whether an enumerator that was complete with that snapshot has more to look for."""


@runtime_checkable
class Placing(Protocol):
    """A source whose rows are read by Spark, or given types, and that can say where each stands."""

    def placed(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """Return what ``NativeSource.frame`` does, with the columns ``_at`` and ``_code``."""


@runtime_checkable
class Withdrawing(Protocol):
    """A sink that can take back what one attempt staged for an epoch that nobody decided."""

    def withdraw(self, epoch: Epoch) -> None:
        """Delete it, and nothing of other epochs or tokens; raises no fence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a round is about to put into a sink, as far as can be told before: ``bytes`` are those
    of its files, ``cores`` what computes at once.
    """

    bytes: int
    cores: int


@runtime_checkable
class Sizing(Protocol):
    """A sink of files that should have a certain size."""

    def in_files(self, frame: DataFrame, outlook: Outlook) -> DataFrame:
        """Return the rows in as many partitions as files are wanted."""


@runtime_checkable
class Concluding(Protocol):
    """A sink that is asked once more before its pipeline is finished."""

    def conclude(self, rows: int) -> None:
        """Look at how many rows all epochs put into it. Raises ``SinkProblem``."""


@runtime_checkable
class TakingBack(Protocol):
    """A sink that can take back epochs that readers see."""

    def take_back(self, epoch: Epoch, back_to: int, record_hash: str) -> None:
        """Make ``epoch``, which has no rows, the newest one, and have readers see nothing of those
        between ``back_to`` and it; done already is done. Raises ``SinkProblem``.
        """


@runtime_checkable
class Verified(Protocol):
    """A source that can tell, after a round has read its splits, that they were as discovered."""

    def verify(self, splits: Sequence[SplitDescriptor]) -> None:
        """Raise ``SourceProblem`` when they were not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose work something is.

    ``task`` (execution and reference) is the same for all attempts. ``line`` is the same for those
    that go on from one another; after a restart it is a larger one, whose epochs begin at 1 again.
    Tokens grow from line to line.
    """

    task: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Which commit something belongs to; ``token`` names the attempt."""

    owner: Owner
    pipeline: str
    sink: str
    number: int
    token: int

    @property
    def name(self) -> str:
        """A file name: epoch and token. Those of two lines differ."""
        return f"{self.number:06d}-t{self.token}"

    @property
    def key(self) -> str:
        """A file name for this sink of this line: what epochs are counted under."""
        return sink_key(self.owner, self.pipeline, self.sink)

    @property
    def task_key(self) -> str:
        """A file name for this sink of this task, of all lines: what tokens are compared under."""
        return task_key(self.owner, self.pipeline, self.sink)


def sink_key(owner: Owner, pipeline: str, sink: str) -> str:
    """See ``Epoch.key``."""
    return f"{task_key(owner, pipeline, sink)}-l{owner.line}"


def task_key(owner: Owner, pipeline: str, sink: str) -> str:
    """See ``Epoch.task_key``."""
    digest = hashlib.sha256(f"{owner.task}\0{pipeline}\0{sink}".encode())
    return f"{pipeline}-{digest.hexdigest()[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The newest epoch that a sink shows to its readers, and the hash of that epoch's record."""

    epoch: int
    record_hash: str


class Sink(Protocol):
    """One sink node of one pipeline, on the driver. Every method may be called again."""

    @property
    def guarantee(self) -> Guarantee:
        """What readers see of an epoch."""

    def stage(self, frame: DataFrame, epoch: Epoch) -> Staged:
        """Write the rows where no reader sees them (or harmlessly early, see ``Guarantee``).

        Runs Spark. Returns JSON with at least ``rows``; only what a successful job reported counts.
        """

    def publish(self, staged: Staged, epoch: Epoch, record_hash: str) -> None:
        """Make a decided epoch visible; done already is done. Raises ``SinkProblem``."""

    def evidence(self, owner: Owner, pipeline: str) -> Evidence | None:
        """Look at what readers see now of this line; ``None`` when it has published nothing."""

    def discard(self, owner: Owner, pipeline: str, *, below: int, keep: Staged | None) -> None:
        """Delete what attempts of the task, of any line, with a token lower than ``below`` staged,
        except ``keep``.
        """

    def close(self) -> None:
        """Let go of connections."""
