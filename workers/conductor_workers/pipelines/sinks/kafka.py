"""``kafka``: each epoch is one transaction of a topic, seen once by consumers that read committed.

Settings: ``servers``, ``topic``, ``key`` (a column), ``value`` (a column; without it the row as a
JSON object), ``control_topic``, ``transaction_timeout_s``, ``options`` (the client's).

A transaction cannot outlive the process that began it, so rows wait in the work directory until
their epoch is decided. The driver then sends them together with a mark of the epoch to the
compacted control topic: both are there, or neither. The transactional id is this sink of this task,
so a newer producer ends an older one's transaction, and reads the marks only after that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import Staged
from conductor_py.pipelines.spec import Guarantee
from conductor_py.records import dataclass, field
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.connectors import (
    Epoch,
    Evidence,
    Owner,
    SinkProblem,
    task_key,
)
from conductor_workers.pipelines.registry import Place
from conductor_workers.pipelines.sinks.kafka_marks import Mark, Marks, produce
from conductor_workers.pipelines.staged import StagedLost, StagingPlace
from conductor_workers.pipelines.storage import open_storage
from conductor_workers.pipelines.store import Fenced
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ANSWER_S: Final = 30.0
_DROPPED: Final = (
    KafkaError._PURGE_QUEUE,  # noqa: SLF001 - the client's name for it
    KafkaError._PURGE_INFLIGHT,  # noqa: SLF001
)
_FENCED: Final = (
    KafkaError._FENCED,  # noqa: SLF001 - the client's name for it
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.PRODUCER_FENCED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where rows go. ``settings`` may hold secrets."""

    topic: str
    control_topic: str
    settings: Mapping[str, str] = field(repr=False)
    key: str | None = None
    value: str | None = None
    transaction_timeout_s: float = 300.0


class KafkaSink:
    """``Sink`` of the kind."""

    def __init__(self, target: Target, staging: StagingPlace) -> None:
        """Prepare; nothing is connected yet."""
        self._target = target
        self._staging = staging
        self._marks = Marks(target.control_topic, target.settings)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.EXACTLY_ONCE

    def stage(self, frame: DataFrame, epoch: Epoch) -> Staged:
        """See ``Sink``. Raises ``COLUMN_MISSING`` for a key or value that the rows do not have."""
        from pyspark.sql import functions as f

        for name in filter(None, (self._target.key, self._target.value)):
            if name not in frame.columns:
                raise SinkProblem(
                    "COLUMN_MISSING",
                    f"{self._staging.sink}: the rows have no column {name}.",
                    retryable=False,
                )
        key, value = self._target.key, self._target.value
        row = f.to_json(f.struct(*[_named(name) for name in frame.columns]))
        messages = frame.select(
            (f.lit(None) if key is None else _bytes(frame, key)).cast("binary").alias("key"),
            (row if value is None else _bytes(frame, value)).cast("binary").alias("value"),
        )
        return self._staging.write(messages, epoch)

    def publish(self, staged: Staged, epoch: Epoch, record_hash: str) -> None:
        """See ``Sink``. Raises ``Fenced`` when the control topic has a mark of a newer token."""
        with self._answered("publish to"):
            self._marks.make_topic()
            # Who is older must not take over from its successor, who would do the same again.
            self._mark(epoch.task_key, epoch.owner, epoch.token)
            producer, mark = self._taken_over(epoch.task_key, epoch.owner, epoch.token)
            if not self._tells_of(mark, epoch, record_hash):
                try:
                    self._send(producer, staged, epoch, record_hash)
                except StagedLost:
                    # Whoever published it meanwhile has deleted it as well.
                    mark = self._mark(epoch.task_key, epoch.owner, epoch.token)
                    if not self._tells_of(mark, epoch, record_hash):
                        raise
        faults.reach("F11")
        self._staging.delete(staged)

    def evidence(self, owner: Owner, pipeline: str) -> Evidence | None:
        with self._answered("read"):
            mark = self._marks.read(task_key(owner, pipeline, self._staging.sink)).of(owner.line)
        return Evidence(epoch=mark.epoch, record_hash=mark.record_hash) if mark.epoch else None

    def discard(self, owner: Owner, pipeline: str, *, below: int, keep: Staged | None) -> None:
        """See ``Sink``. From then on older producers are refused, and marks carry the new token."""
        key = task_key(owner, pipeline, self._staging.sink)
        with self._answered("take over"):
            self._marks.make_topic()
            self._taken_over(key, owner, below)
        self._staging.discard(owner, pipeline, below=below, keep=keep)

    def withdraw(self, epoch: Epoch) -> None:
        """See ``Withdrawing``."""
        self._staging.withdraw(epoch)

    def close(self) -> None:
        """Nothing is held between calls."""

    def _taken_over(self, key: str, owner: Owner, token: int) -> tuple[Producer, Mark]:
        """End what older producers have begun, and leave the token: they find that they are fenced.
        No older producer of this sink can commit from here on: what the mark says stays true.
        """
        producer = Producer(self._producing(key))
        producer.init_transactions(_ANSWER_S)
        mark = self._mark(key, owner, token)
        if mark.token < token:
            mark = replace(mark, token=token)
            producer.begin_transaction()
            self._marks.write(producer, key, mark)
            producer.commit_transaction(_ANSWER_S)
        return producer, mark

    def _mark(self, key: str, owner: Owner, token: int) -> Mark:
        """Read how far a sink's task is; raises ``Fenced`` when somebody newer works on it."""
        mark = self._marks.read(key).of(owner.line)
        if mark.token > token:
            raise Fenced
        return mark

    def _tells_of(self, mark: Mark, epoch: Epoch, record_hash: str) -> bool:
        if mark.epoch == epoch.number and mark.record_hash != record_hash:
            raise SinkProblem(
                "EPOCH_CONFLICT",
                f"Epoch {epoch.number} is in {self._target.topic} with another record.",
                retryable=False,
            )
        return mark.epoch >= epoch.number

    def _send(self, producer: Producer, staged: Staged, epoch: Epoch, record_hash: str) -> None:
        problems: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                problems.append(error)

        producer.begin_transaction()
        try:
            for key, value in self._messages(staged):
                produce(producer, self._target.topic, key, value, delivered)
            mark = Mark(
                epoch=epoch.number,
                token=epoch.token,
                record_hash=record_hash,
                line=epoch.owner.line,
            )
            self._marks.write(producer, epoch.task_key, mark, delivered)
            faults.reach("F10")
            producer.flush(_ANSWER_S)
            if problems:
                raise KafkaException(problems[0])
        except (KafkaException, StagedLost) as error:
            producer.abort_transaction(_ANSWER_S)
            producer.flush(_ANSWER_S)
            # What a broker refused is told with the message; later calls only say that it is over.
            refused = next((each for each in problems if each.code() not in _DROPPED), None)
            if refused is not None:
                raise KafkaException(refused) from error
            raise
        producer.commit_transaction(_ANSWER_S)

    def _messages(self, staged: Staged) -> Iterator[tuple[bytes | None, bytes | None]]:
        for batch in self._staging.read(staged):
            keys, values = batch.column("key").to_pylist(), batch.column("value").to_pylist()
            yield from zip(keys, values, strict=True)

    def _producing(self, key: str) -> dict[str, Any]:
        return {
            **self._target.settings,
            "transactional.id": f"conductor-{key}",
            "transaction.timeout.ms": int(self._target.transaction_timeout_s * 1000),
            "enable.idempotence": True,
            "linger.ms": 20,
            "compression.type": "lz4",
            "log_level": 0,
        }

    @contextmanager
    def _answered(self, what: str) -> Iterator[None]:
        """Say in one sentence what the brokers refused, and whether it may pass."""
        try:
            yield
        except KafkaException as error:
            reason: KafkaError = error.args[0]
            # Fenced by whom? The next try reads it in the control topic.
            lasting = not (reason.retriable() or reason.code() in _FENCED or reason.code() < 0)
            raise SinkProblem(
                "SINK_REFUSED" if lasting else "SINK_UNAVAILABLE",
                f"{self._staging.sink}: cannot {what} the topic {self._target.topic}: "
                f"{reason.str()}.",
                retryable=not lasting,
            ) from error


def open_sink(node: spec.Sink, place: Place) -> KafkaSink:
    """Make the sink of a node."""
    settings = place.settings(node)
    target = Target(
        topic=settings.text("topic"),
        control_topic=settings.text("control_topic", "conductor-epochs"),
        settings={
            **settings.named_texts("options"),
            "bootstrap.servers": settings.text("servers"),
        },
        key=settings.optional("key"),
        value=settings.optional("value"),
        transaction_timeout_s=settings.seconds("transaction_timeout_s", 300.0),
    )
    return KafkaSink(target, StagingPlace(storage=open_storage(place.work_dir), sink=node.id))


def _named(name: str) -> Column:
    from pyspark.sql import functions as f

    return f.col(quoted(name))


def _bytes(frame: DataFrame, name: str) -> Column:
    """Return a column as a message's value: bytes and texts as they are, others as text."""
    kind = frame.schema[name].dataType.typeName()
    return _named(name) if kind in ("binary", "string") else _named(name).cast("string")
