"""Where a task's output goes: a directory (see ``destination``), or a prefix of a bucket (see
``bucket_destination``).
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from conductor_py.errors import ConfigurationError
from conductor_workers.attempt import Claim
from conductor_workers.bucket_destination import DATA, BucketDestination, BucketStaging
from conductor_workers.datafiles import FileForm, data_files
from conductor_workers.destination import Destination, DestinationRefused, Staging, local_path
from conductor_workers.manifest import DataFile, Manifest
from conductor_workers.pipelines.csv_form import header_line
from conductor_workers.pipelines.sinks.object_writer import ObjectWriter, prepared, unfit
from conductor_workers.pipelines.sinks.sizes import TARGET_BYTES
from conductor_workers.pipelines.storage import StoreAway
from conductor_workers.pipelines.storage.s3 import S3Storage, bucket_and_key, s3_storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

logger = logging.getLogger(__name__)

_BUCKETS = ("s3", "s3a")
_WILD = frozenset("*?[")


class Target(Protocol):
    """A place that changes as a whole; one attempt's use of it: ``prepare``, ``stage``,
    ``publish``, and ``discard`` at the end.
    """

    @property
    def address(self) -> str:
        """Where it is, as the task's output says it."""

    def adopted(self, claim: Claim) -> Manifest | None:
        """Return the manifest of the present data when that claim's task wrote it."""

    def prepare(self, claim: Claim, *, overwrite: bool) -> None:
        """Raise the fence. Raises ``AttemptEnded`` and ``DestinationRefused``."""

    def stage(self, frame: DataFrame) -> Path | None:
        """Write a frame where nobody sees it; returns where it can be read back, if it can."""

    def files(self) -> tuple[DataFile, ...]:
        """What was staged."""

    def publish(self, manifest: Manifest, *, confirm: Callable[[], bool]) -> Manifest:
        """Show what was staged, instead of what is there. Raises ``AttemptEnded``."""

    def discard(self) -> None:
        """Delete what was staged and not published."""


class DirectoryTarget:
    """``Target`` on local and mounted disks."""

    def __init__(self, path: Path, form: FileForm) -> None:
        """Write into that directory, in that form."""
        self._path = path
        self._form = form
        self._destination = Destination(path)
        self._staging: Staging | None = None

    @property
    def address(self) -> str:
        return str(self._path)

    def adopted(self, claim: Claim) -> Manifest | None:
        return self._destination.adopted(claim)

    def prepare(self, claim: Claim, *, overwrite: bool) -> None:
        self._staging = self._destination.prepare(claim, overwrite=overwrite)

    def stage(self, frame: DataFrame) -> Path | None:
        data = self._prepared().data
        self._form.write(frame, data)
        return data

    def files(self) -> tuple[DataFile, ...]:
        return data_files(self._prepared().data)

    def publish(self, manifest: Manifest, *, confirm: Callable[[], bool]) -> Manifest:
        return self._destination.publish(self._prepared(), manifest, confirm=confirm)

    def discard(self) -> None:
        if self._staging is not None:
            self._destination.discard(self._staging)
            self._staging = None

    def _prepared(self) -> Staging:
        assert self._staging is not None, "prepare comes first"
        return self._staging


class BucketTarget:
    """``Target`` in a bucket."""

    def __init__(self, storage: S3Storage, form: FileForm) -> None:
        """Write below that prefix, in that form."""
        self._storage = storage
        self._form = form
        self._destination = BucketDestination(storage)
        self._staging: BucketStaging | None = None

    @property
    def address(self) -> str:
        return self._destination.address

    def adopted(self, claim: Claim) -> Manifest | None:
        return self._destination.adopted(claim)

    def prepare(self, claim: Claim, *, overwrite: bool) -> None:
        self._staging = self._destination.prepare(claim, overwrite=overwrite)

    def stage(self, frame: DataFrame) -> Path | None:
        staging, form = self._prepared(), self._form
        folders = _columns(frame, form.partition_by)
        if why := unfit(frame, form.format, folders):
            raise DestinationRefused(f"{self.address}: {why}.")
        writer = ObjectWriter(
            storage=self._storage,
            format=form.format,
            header=_header(frame, form),
            hidden=True,
            folder=DATA,
            stem=staging.stem,
            once=uuid.uuid4().hex[:8],
            target_bytes=TARGET_BYTES,
        )
        rows = prepared(frame, form.format, form.options, folders)
        reported = rows.mapInArrow(writer, ObjectWriter.REPORT).collect()
        staging.begun += [json.loads(row["object"]) for row in reported]
        return None

    def files(self) -> tuple[DataFile, ...]:
        return self._prepared().files

    def publish(self, manifest: Manifest, *, confirm: Callable[[], bool]) -> Manifest:
        return self._destination.publish(self._prepared(), manifest, confirm=confirm)

    def discard(self) -> None:
        if self._staging is None:
            return
        try:
            self._destination.discard(self._staging)
        except StoreAway as error:
            # The next attempt of the same reference deletes it.
            logger.warning(
                "Uploads are left", extra={"action": "uploads_left", "error": str(error)}
            )
        self._staging = None

    def _prepared(self) -> BucketStaging:
        assert self._staging is not None, "prepare comes first"
        return self._staging


def read_place(text: str) -> Path | S3Storage:
    """Read an output's ``path``: a directory, or a prefix of a bucket. Raises
    ``DestinationRefused``.
    """
    if not in_bucket(text):
        return local_path(text)
    try:
        _, key = bucket_and_key(text)
    except ConfigurationError as error:
        raise DestinationRefused(error.message) from error
    if not key.strip("/") or key.startswith("/") or "//" in key or set(key) & _WILD:
        raise DestinationRefused(
            f"{text} must name a bucket and a prefix in it, without patterns and empty steps."
        )
    return s3_storage(text, {})


def in_bucket(text: str) -> bool:
    """Say whether an address is one of a bucket."""
    return text.partition("://")[0] in _BUCKETS


def target_of(place: Path | S3Storage, form: FileForm) -> Target:
    """Return what writes there, in that form."""
    return DirectoryTarget(place, form) if isinstance(place, Path) else BucketTarget(place, form)


def _columns(frame: DataFrame, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the frame's own names of columns, which Spark takes in any case."""
    known = {name.lower(): name for name in frame.columns}
    if missing := [name for name in names if name.lower() not in known]:
        raise DestinationRefused(f"The result has no column {missing[0]} for partitionBy.")
    return tuple(known[name.lower()] for name in names)


def _header(frame: DataFrame, form: FileForm) -> str:
    if form.format != "csv" or form.options.get("header") != "true":
        return ""
    folders = _columns(frame, form.partition_by)
    return header_line((name for name in frame.columns if name not in folders), form.options)
