"""``file`` in a bucket: CSV, JSON lines, Parquet and ORC as objects that nobody renames.

Settings: those of files on disks (``path``, ``format``, ``options``, ``partition_by``,
``visibility``), ``target_file_size``, and how to reach the store (see ``storage.s3``).

* ``manifest``: tasks put objects where they stay; they count once a manifest names them. Readers
  go by ``visible_files``. A manifest is created with a condition, so an epoch has one.
* ``publish``: tasks upload without completing, which no listing shows; who holds the decision
  completes exactly the uploads that the record names. Any reader sees whole objects, one by one.

Below ``_manifests/<key>`` (``_commits/<key>``) lies what proves an epoch, see ``proofs``.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import Staged
from conductor_py.pipelines.spec import Guarantee
from conductor_py.records import dataclass, field
from conductor_workers.manifest import DataFile
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.connectors import (
    Epoch,
    Evidence,
    Outlook,
    Owner,
    SinkProblem,
    sink_key,
    task_key,
)
from conductor_workers.pipelines.csv_form import form_options, header_line
from conductor_workers.pipelines.registry import Place
from conductor_workers.pipelines.settings import NodeSettings
from conductor_workers.pipelines.sinks.object_writer import ObjectWriter, prepared, unfit
from conductor_workers.pipelines.sinks.proofs import Proofs, Visibility
from conductor_workers.pipelines.sinks.sizes import TARGET_BYTES, in_files
from conductor_workers.pipelines.staged import StagedLost
from conductor_workers.pipelines.storage import StoreAway
from conductor_workers.pipelines.storage.s3 import S3Storage, UploadLost, s3_storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORMATS: Final = ("parquet", "csv", "json", "orc")
#: ``data``, the key, the epoch and its token.
_STEPS: Final = 3
_EPOCH: Final = re.compile(r"/(?P<epoch>\d+)-t(?P<token>\d+)/")
_UPLOAD: Final = re.compile(
    r"(?:.*/)?part-(?P<key>(?P<task>[^/]+)-l\d+)-(?P<epoch>\d{6,})-t(?P<token>\d+)"
    r"-\d+-\d+-\d+-[0-9a-f]{8}\.\w+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSink:
    """``Sink`` of the kind, below one prefix of a bucket."""

    name: str
    storage: S3Storage
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    visibility: Visibility = "publish"
    target_bytes: int = TARGET_BYTES

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.EXACTLY_ONCE

    def stage(self, frame: DataFrame, epoch: Epoch) -> Staged:
        """See ``Sink``. Of what tasks wrote, only what a successful job reported is named."""
        if why := unfit(frame, self.format, self.partition_by):
            raise SinkProblem("TYPE_UNSUPPORTED", f"{self.name}: {why}.", retryable=False)
        once = uuid.uuid4().hex[:8]
        hidden = self.visibility == "publish"
        writer = ObjectWriter(
            storage=self.storage,
            format=self.format,
            header=self._header(frame),
            hidden=hidden,
            folder="" if hidden else f"{self._home(epoch.task_key)}/{epoch.name}/{once}",
            stem=f"part-{epoch.key}-{epoch.name}",
            once=once,
            target_bytes=self.target_bytes,
        )
        rows = prepared(frame, self.format, self.options, self.partition_by)
        reported = rows.mapInArrow(writer, ObjectWriter.REPORT).collect()
        objects = sorted((json.loads(row["object"]) for row in reported), key=_by_name)
        return {
            "objects": objects,
            "rows": sum(int(row["rows"]) for row in reported),
            "bytes": sum(int(each["bytes"]) for each in objects),
        }

    def in_files(self, frame: DataFrame, outlook: Outlook) -> DataFrame:
        """See ``Sizing``."""
        return in_files(frame, outlook, self.target_bytes, self.partition_by)

    def publish(self, staged: Staged, epoch: Epoch, record_hash: str) -> None:
        """See ``Sink``."""
        try:
            if not self._proofs.there(epoch, record_hash):
                self._show(staged)
                files = [
                    DataFile(path=str(each["name"]), bytes=int(each["bytes"]))
                    for each in staged["objects"]
                ]
                self._proofs.prove(epoch, record_hash, rows=int(staged["rows"]), files=files)
            faults.reach("F11")
            self._clean(epoch, staged)
        except StoreAway as error:
            raise self._away(error) from error
        except UploadLost as error:
            raise StagedLost(f"{self.name}: {error}") from error

    def evidence(self, owner: Owner, pipeline: str) -> Evidence | None:
        try:
            return self._proofs.newest(sink_key(owner, pipeline, self.name))
        except StoreAway as error:
            raise self._away(error) from error

    def discard(self, owner: Owner, pipeline: str, *, below: int, keep: Staged | None) -> None:
        """See ``Sink``."""
        key = task_key(owner, pipeline, self.name)
        kept = _named(keep)
        try:
            if self.visibility == "publish":
                self._abort(kept, lambda of: of["task"] == key and int(of["token"]) < below)
                return
            found = [
                (name, int(of["epoch"]))
                for name in self.storage.names(self._home(key))
                if (of := _EPOCH.search(name)) and int(of["token"]) < below and name not in kept
            ]
            visible = self._proofs.shown(key, frozenset(epoch for _, epoch in found))
            for name, _ in found:
                if name not in visible:
                    self.storage.delete(name)
        except StoreAway as error:
            raise self._away(error) from error

    def take_back(self, epoch: Epoch, back_to: int, record_hash: str) -> None:
        """See ``TakingBack``. The new manifest hides the others at once; then they are deleted."""
        if self.visibility == "publish":
            raise SinkProblem(
                "CANNOT_TAKE_BACK",
                f"The sink {self.name} cannot take back objects without a manifest.",
                retryable=False,
            )
        try:
            self._proofs.take_back(epoch, back_to, record_hash)
            faults.reach("F9")
            for name in self._proofs.forget(epoch, back_to):
                self.storage.delete(name)
        except StoreAway as error:
            raise self._away(error) from error

    def withdraw(self, epoch: Epoch) -> None:
        """See ``Withdrawing``."""
        try:
            if self.visibility == "publish":
                name = f"part-{epoch.key}-{epoch.name}-"
                self._abort(frozenset(), lambda of: of.string.rpartition("/")[2].startswith(name))
            else:
                self.storage.delete(f"{self._home(epoch.task_key)}/{epoch.name}")
        except StoreAway as error:
            raise self._away(error) from error

    def close(self) -> None:
        """Clients are the process's."""

    def _show(self, staged: Staged) -> None:
        if self.visibility == "publish":
            for begun in staged["objects"]:
                self.storage.complete(begun)
                faults.reach("F9")
        else:
            faults.reach("F9")

    def _clean(self, epoch: Epoch, staged: Staged) -> None:
        """Drop what of this epoch was staged, by this attempt or one before, and is not named."""
        named = _named(staged)
        if self.visibility == "publish":
            self._abort(
                named, lambda of: of["key"] == epoch.key and int(of["epoch"]) == epoch.number
            )
            return
        for folder in {"/".join(name.split("/")[:_STEPS]) for name in named}:
            for name in self.storage.names(folder):
                if name not in named:
                    self.storage.delete(name)

    def _abort(self, kept: frozenset[str], wanted: Callable[[re.Match[str]], bool]) -> None:
        for name, upload in self.storage.begun(""):
            found = _UPLOAD.fullmatch(name)
            if found is not None and name not in kept and wanted(found):
                self.storage.abort(name, upload)

    def _home(self, key: str) -> str:
        return f"data/{key}"

    @property
    def _proofs(self) -> Proofs:
        return Proofs(
            storage=self.storage,
            visibility=self.visibility,
            data_format=self.format,
            where=f"the bucket {self.storage.bucket}",
        )

    def _header(self, frame: DataFrame) -> str:
        if self.format != "csv" or self.options.get("header") != "true":
            return ""
        names = (name for name in frame.columns if name not in self.partition_by)
        return header_line(names, self.options)

    def _away(self, error: StoreAway) -> SinkProblem:
        return SinkProblem("SINK_UNAVAILABLE", f"{self.name}: {error}")


def open_sink(node: spec.Sink, place: Place) -> BucketSink:
    """Make the sink of a node."""
    settings = place.settings(node)
    form = settings.choice("format", _FORMATS, "parquet")
    visibility = settings.choice("visibility", ("publish", "manifest"), "publish")
    return BucketSink(
        name=node.id,
        storage=bucket_of(settings, settings.text("path")),
        format=form,
        options=form_options(form, settings.named_texts("options")),
        partition_by=settings.texts("partition_by"),
        visibility="manifest" if visibility == "manifest" else "publish",
        target_bytes=settings.whole("target_file_size", TARGET_BYTES),
    )


def bucket_of(settings: NodeSettings, uri: str) -> S3Storage:
    """Return the place that a node names, reached as the node says."""
    names = ("endpoint", "region", "access_key", "secret_key")
    return s3_storage(uri, {name: settings.optional(name) for name in names})


def _named(staged: Staged | None) -> frozenset[str]:
    return frozenset(() if staged is None else (each["name"] for each in staged["objects"]))


def _by_name(begun: Mapping[str, Any]) -> str:
    return str(begun["name"])
