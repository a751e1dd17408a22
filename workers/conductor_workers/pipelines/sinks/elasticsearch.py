"""``elasticsearch``: documents of an index of Elasticsearch or OpenSearch, the same however often.

Settings: ``hosts``, ``index``, ``id_from`` (columns), ``auth`` (``user:password`` or ``ApiKey …``),
``refresh``, ``bulk_bytes``, ``evidence_index``, ``timeout_s``.

With ``id_from`` tasks write at once: the id is a hash of those columns and the version is the token
with the epoch, so a redo puts the same documents in the same place, an older epoch cannot replace a
newer one's, and of two tasks that write the same document it is the one that was taken up last that
stays. Readers may see documents early. Without it rows wait in the work directory until the
decision, and the id is their place in what the record names. Either way a document in the evidence
index says which epoch was published, and refuses older tokens. Of several rows of one epoch with
the same id one stays, and it is not said which.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from conductor_py.errors import ConfigurationError
from conductor_py.pipelines import spec
from conductor_py.pipelines.record import Staged
from conductor_py.pipelines.spec import Guarantee
from conductor_py.records import dataclass
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.connectors import (
    Epoch,
    Evidence,
    Owner,
    SinkProblem,
    task_key,
)
from conductor_workers.pipelines.registry import Place
from conductor_workers.pipelines.sinks.search_client import Refused, SearchClient
from conductor_workers.pipelines.staged import StagedLost, StagingPlace
from conductor_workers.pipelines.storage import open_storage
from conductor_workers.pipelines.store import Fenced
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_REPORT: Final = "rows bigint, bytes bigint"
_ATTEMPTS: Final = 5
#: Bits of a version that are the epoch's; a token is an instant in ms and leaves room for them.
_EPOCH_BITS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where documents go, and how large a request may be."""

    client: SearchClient
    index: str
    id_from: tuple[str, ...] = ()
    bulk_bytes: int = 5_000_000
    refresh: bool = False
    evidence_index: str = "conductor-epochs"


class ElasticsearchSink:
    """``Sink`` of the kind."""

    def __init__(self, target: Target, staging: StagingPlace) -> None:
        """Prepare; nothing is connected yet."""
        self._target = target
        self._staging = staging

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.IDEMPOTENT

    def stage(self, frame: DataFrame, epoch: Epoch) -> Staged:
        """See ``Sink``. With ``id_from`` the documents are there when this returns."""
        from pyspark.sql import functions as f

        missing = [name for name in self._target.id_from if name not in frame.columns]
        if missing:
            raise SinkProblem(
                "COLUMN_MISSING",
                f"{self._staging.sink}: the rows have no column {missing[0]}, which the id needs.",
                retryable=False,
            )
        names = [f.col(quoted(name)) for name in frame.columns]
        # Spark's own JSON: one form of moments and decimals for ids and for documents.
        keys = [f.to_json(f.struct(names[frame.columns.index(n)])) for n in self._target.id_from]
        documents = frame.select(
            f.to_json(f.struct(*names)).alias("document"),
            (f.to_json(f.array(*keys)) if keys else f.lit(None).cast("string")).alias("key"),
        )
        if not self._target.id_from:
            return self._staging.write(documents, epoch)
        reported = documents.mapInArrow(_Indexer(self._target, _version(epoch)), _REPORT).collect()
        return {
            "rows": sum(int(row["rows"]) for row in reported),
            "bytes": sum(int(row["bytes"]) for row in reported),
        }

    def publish(self, staged: Staged, epoch: Epoch, record_hash: str) -> None:
        """See ``Sink``. Raises ``Fenced`` when the evidence has a newer token."""
        client, target = self._target.client, self._target
        with client.explained(self._staging.sink):
            known = self._known(epoch.owner, epoch.task_key)
            if known.token > epoch.token:
                raise Fenced
            if known.epoch < epoch.number:
                self._send(staged, epoch)
                faults.reach("F9")
                if target.refresh:
                    client.call("POST", f"/{target.index}/_refresh", missing={})
                self._note(epoch, record_hash, known)
        faults.reach("F11")
        if "objects" in staged:
            self._staging.delete(staged)

    def _send(self, staged: Staged, epoch: Epoch) -> None:
        """Write what was staged, if anything was; who published it meanwhile has deleted it."""
        if "objects" not in staged:
            return
        try:
            _index(self._target, self._placed(staged, epoch), _version(epoch))
        except StagedLost:
            if self._known(epoch.owner, epoch.task_key).epoch < epoch.number:
                raise

    def evidence(self, owner: Owner, pipeline: str) -> Evidence | None:
        with self._target.client.explained(self._staging.sink):
            known = self._known(owner, task_key(owner, pipeline, self._staging.sink))
        return Evidence(epoch=known.epoch, record_hash=known.record_hash) if known.epoch else None

    def discard(self, owner: Owner, pipeline: str, *, below: int, keep: Staged | None) -> None:
        """See ``Sink``. From then on lower tokens are refused. What tasks wrote early stays: the
        round that is redone writes it again.
        """
        key = task_key(owner, pipeline, self._staging.sink)
        with self._target.client.explained(self._staging.sink):
            for _ in range(_ATTEMPTS):
                known = self._known(owner, key)
                if known.token > below:
                    raise Fenced
                if known.token == below or self._write(key, known, replace(known, token=below)):
                    break
            else:
                raise self._busy()
        self._staging.discard(owner, pipeline, below=below, keep=keep)

    def withdraw(self, epoch: Epoch) -> None:
        """See ``Withdrawing``. What tasks wrote early stays, as for ``discard``."""
        self._staging.withdraw(epoch)

    def close(self) -> None:
        """Connections end with the object."""

    def _placed(self, staged: Staged, epoch: Epoch) -> Iterator[tuple[str, str]]:
        number = 0
        for batch in self._staging.read(staged):
            for document in batch.column("document").to_pylist():
                yield _id(f"{epoch.key}/{epoch.number}/{number}"), document
                number += 1

    def _note(self, epoch: Epoch, record_hash: str, known: _Known) -> None:
        for _ in range(_ATTEMPTS):
            noted = replace(known, epoch=epoch.number, token=epoch.token, record_hash=record_hash)
            if self._write(epoch.task_key, known, noted):
                return
            known = self._known(epoch.owner, epoch.task_key)
            if known.token > epoch.token:
                raise Fenced
            if known.epoch >= epoch.number:
                return
        raise self._busy()

    def _busy(self) -> SinkProblem:
        return SinkProblem(
            "SINK_UNAVAILABLE", f"{self._staging.sink}: others keep changing the evidence."
        )

    def _known(self, owner: Owner, key: str) -> _Known:
        answer = self._target.client.call(
            "GET", f"/{self._target.evidence_index}/_doc/{key}", missing={}
        )
        if not answer.get("found"):
            return _Known(line=owner.line)
        there = answer["_source"]
        known = _Known(
            line=owner.line,
            token=int(there["token"]),
            place=f"if_seq_no={answer['_seq_no']}&if_primary_term={answer['_primary_term']}",
        )
        if int(there["line"]) != owner.line:
            return known
        return replace(known, epoch=int(there["epoch"]), record_hash=str(there["record"]))

    def _write(self, key: str, known: _Known, noted: _Known) -> bool:
        """Replace the evidence if nobody else did; say whether."""
        document = {
            "line": noted.line,
            "epoch": noted.epoch,
            "token": noted.token,
            "record": noted.record_hash,
        }
        condition = known.place or "op_type=create"
        path = f"/{self._target.evidence_index}/_doc/{key}?{condition}&refresh=true"
        try:
            self._target.client.call("PUT", path, json.dumps(document))
        except Refused as error:
            if error.status == 409:
                return False
            raise
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The evidence of a sink; the epoch is that of the line, the token that of all lines of its
    task; ``place`` is the condition that nobody changed it since.
    """

    line: int
    epoch: int = 0
    token: int = 0
    record_hash: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class _Indexer:
    """Writes one partition's documents in a task."""

    target: Target
    version: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        rows = size = 0

        def documents() -> Iterator[tuple[str, str]]:
            nonlocal rows, size
            for batch in batches:
                columns = (batch.column("key").to_pylist(), batch.column("document").to_pylist())
                for key, document in zip(*columns, strict=True):
                    rows, size = rows + 1, size + len(document)
                    yield _id(key), document

        with self.target.client.explained("the sink"):
            _index(self.target, documents(), self.version)
        yield pa.RecordBatch.from_pylist([{"rows": rows, "bytes": size}])


def _index(target: Target, documents: Iterator[tuple[str, str]], version: int) -> None:
    """Write documents in requests of bounded size; a newer version there is as good."""
    lines: list[str] = []
    size = 0
    for name, document in documents:
        action = {"index": {"_id": name, "version": version, "version_type": "external_gte"}}
        lines += (json.dumps(action), document)
        size += len(document)
        if size >= target.bulk_bytes:
            _bulk(target, lines)
            lines, size = [], 0
    if lines:
        _bulk(target, lines)


def _bulk(target: Target, lines: list[str]) -> None:
    """Send a request; what the server was too busy for is sent again, alone."""
    for _ in range(_ATTEMPTS):
        answer = target.client.call("POST", f"/{target.index}/_bulk", "\n".join(lines) + "\n")
        again: list[str] = []
        for at, item in enumerate(answer["items"]):
            result: Mapping[str, Any] = item["index"]
            status = int(result["status"])
            if status == 429 or status >= 500:
                again += lines[2 * at : 2 * at + 2]
            elif status >= 400 and status != 409:
                raise Refused(status, _said(result))
        if not again:
            return
        lines = again
    raise Refused(429, "the server keeps refusing documents because it is busy")


def _said(result: Mapping[str, Any]) -> str:
    error = result.get("error") or {}
    cause = error.get("caused_by") or {}
    said = f"{error.get('reason', 'no reason given')} {cause.get('reason', '')}"
    return f"the document {result.get('_id')} was refused: {said}".strip()


def _version(epoch: Epoch) -> int:
    """Return a number that is larger for each later epoch, and for each later attempt at one."""
    return (epoch.token << _EPOCH_BITS) + epoch.number


def _id(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def open_sink(node: spec.Sink, place: Place) -> ElasticsearchSink:
    """Make the sink of a node."""
    settings = place.settings(node)
    hosts = settings.texts("hosts")
    if not hosts:
        raise ConfigurationError(f"{node.id}.hosts must name at least one address.")
    client = SearchClient(
        hosts=hosts,
        auth=settings.optional("auth"),
        timeout_s=settings.seconds("timeout_s", 30.0),
    )
    target = Target(
        client=client,
        index=settings.text("index"),
        id_from=settings.texts("id_from"),
        bulk_bytes=settings.whole("bulk_bytes", 5_000_000),
        refresh=settings.flag("refresh", default=False),
        evidence_index=settings.text("evidence_index", "conductor-epochs"),
    )
    staging = StagingPlace(storage=open_storage(place.work_dir), sink=node.id)
    return ElasticsearchSink(target, staging)
