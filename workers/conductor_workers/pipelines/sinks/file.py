"""``file``: CSV, JSON lines, Parquet and ORC in a directory on a local or mounted disk.

Settings: ``path``, ``format`` (``parquet``), ``options`` (Spark's), ``partition_by``,
``target_file_size`` and ``visibility``:

* ``publish``: files are staged in ``_staging`` beside their place and renamed, after the decision,
  to names that only the epoch gives. Whoever renames, and how often, ends with the same files; any
  reader that passes over names with ``_`` sees whole epochs, file by file.
* ``manifest``: files are written where they stay, and count once a manifest names them. Readers go
  by ``visible_files``; an epoch becomes visible at once.

Below ``_commits/<key>`` (``_manifests/<key>``) lies what proves an epoch, see ``proofs``. ``key``
is this sink of this line of a task, so tasks may share a directory.
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import Staged
from conductor_py.pipelines.spec import Guarantee
from conductor_py.records import dataclass, field
from conductor_workers.datafiles import FileForm, data_files, sync_files
from conductor_workers.destination import local_path
from conductor_workers.manifest import MANIFEST_NAME, DataFile, sync_directory
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
from conductor_workers.pipelines.csv_form import form_options
from conductor_workers.pipelines.observing import counted
from conductor_workers.pipelines.sinks.proofs import Proofs, Visibility
from conductor_workers.pipelines.sinks.sizes import TARGET_BYTES, RowBytes, in_files
from conductor_workers.pipelines.storage.local import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conductor_workers.pipelines.registry import Place

_EPOCH_NAME: Final = re.compile(r"(?P<epoch>\d+)-t(?P<token>\d+)")
#: ``data``, the key, the epoch and its token.
_STEPS: Final = 3
_SUFFIX: Final = re.compile(r"-c\d+(\..*)$|(\.[^-]*)$")


def open_sink(node: spec.Sink, place: Place) -> FileSink:
    """Make the sink of a node."""
    del place
    settings = node.settings
    form = str(settings.get("format", "parquet"))
    return FileSink(
        name=node.id,
        root=local_path(str(settings["path"])),
        format=form,
        row_bytes=RowBytes(form),
        options=form_options(form, settings.get("options", {})),
        partition_by=tuple(settings.get("partition_by", ())),
        visibility=settings.get("visibility", "publish"),
        target_bytes=int(settings.get("target_file_size", TARGET_BYTES)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSink:
    """See the module."""

    name: str
    root: Path
    format: str = "parquet"
    options: Mapping[str, str]
    partition_by: tuple[str, ...] = ()
    visibility: Visibility = "publish"
    target_bytes: int = TARGET_BYTES
    row_bytes: RowBytes = field(default_factory=RowBytes, compare=False)
    """See ``RowBytes``; of this sink's format."""

    @property
    def guarantee(self) -> Guarantee:
        """See ``Sink``."""
        return Guarantee.EXACTLY_ONCE

    def stage(self, frame: DataFrame, epoch: Epoch) -> Staged:
        """See ``Sink``. Each call writes to a place of its own: a cancelled job's last tasks may
        still be writing to theirs.
        """
        self._refuse_replaced()
        self._refuse_folders_only(frame)
        place = self._parts(epoch) / uuid.uuid4().hex[:8]
        place.parent.mkdir(parents=True, exist_ok=True)
        watched, figures = counted(frame)
        most = str(self.row_bytes.rows_in(self.target_bytes, frame))
        options = {"maxRecordsPerFile": most, **self.options}
        form = FileForm(format=self.format, options=options, partition_by=self.partition_by)
        form.write(watched, place)
        rows = int(figures.read()["rows"])
        files = data_files(place) if rows else ()
        self._check_rows(place, files, rows)
        sync_files(place, (file.path for file in files))
        size = sum(file.bytes for file in files)
        self.row_bytes.learn(rows=rows, size=size)
        return {
            "place": str(place.relative_to(self.root)),
            "files": [[file.path, file.bytes] for file in files],
            "rows": rows,
            "bytes": size,
        }

    def in_files(self, frame: DataFrame, outlook: Outlook) -> DataFrame:
        """See ``Sizing``."""
        return in_files(frame, outlook, self.target_bytes, self.partition_by)

    def publish(self, staged: Staged, epoch: Epoch, record_hash: str) -> None:
        """See ``Sink``."""
        if not self._proofs.there(epoch, record_hash):
            files = self._shown(staged, epoch)
            self._proofs.prove(epoch, record_hash, rows=int(staged["rows"]), files=files)
            faults.reach("F11")
        self._clean(staged)

    def evidence(self, owner: Owner, pipeline: str) -> Evidence | None:
        """See ``Sink``."""
        return self._proofs.newest(sink_key(owner, pipeline, self.name))

    def discard(self, owner: Owner, pipeline: str, *, below: int, keep: Staged | None) -> None:
        """See ``Sink``."""
        key = task_key(owner, pipeline, self.name)
        kept = None if keep is None else str(Path(keep["place"]).parent)
        home = self._home(key)
        stale = {
            str(place.relative_to(self.root)): int(name["epoch"])
            for place in home.glob("*-t*")
            if (name := _EPOCH_NAME.fullmatch(place.name)) and int(name["token"]) < below
        }
        named = set[str]()
        if self.visibility == "manifest":
            shown = self._proofs.shown(key, frozenset(stale.values()))
            named = {"/".join(file.split("/")[:_STEPS]) for file in shown}
        for relative in stale:
            if relative != kept and relative not in named:
                shutil.rmtree(self.root / relative, ignore_errors=True)
        _remove_empty(home, self.root)

    def take_back(self, epoch: Epoch, back_to: int, record_hash: str) -> None:
        """See ``TakingBack``. The new manifest hides the others at once; then they are deleted."""
        if self.visibility == "publish":
            raise SinkProblem(
                "CANNOT_TAKE_BACK",
                f"The sink {self.name} cannot take back files without a manifest.",
                retryable=False,
            )
        self._proofs.take_back(epoch, back_to, record_hash)
        faults.reach("F9")
        for name in self._proofs.forget(epoch, back_to):
            (self.root / name).unlink(missing_ok=True)

    def withdraw(self, epoch: Epoch) -> None:
        """See ``Withdrawing``."""
        shutil.rmtree(self._parts(epoch), ignore_errors=True)
        _remove_empty(self._home(epoch.task_key), self.root)

    def close(self) -> None:
        """Nothing is open."""

    def _home(self, key: str) -> Path:
        return self.root / ("_staging" if self.visibility == "publish" else "data") / key

    def _parts(self, epoch: Epoch) -> Path:
        return self._home(epoch.task_key) / epoch.name

    @property
    def _proofs(self) -> Proofs:
        return Proofs(
            storage=LocalStorage(self.root),
            visibility=self.visibility,
            data_format=self.format,
            where=str(self.root),
        )

    def _shown(self, staged: Staged, epoch: Epoch) -> list[DataFile]:
        """Bring staged files to where readers find them; moved already is moved."""
        files = [DataFile(path=name, bytes=size) for name, size in staged["files"]]
        if self.visibility == "manifest":
            faults.reach("F9")
            return [replace(file, path=f"{staged['place']}/{file.path}") for file in files]
        place = self.root / staged["place"]
        shown = [
            replace(file, path=self._final(file.path, epoch, at)) for at, file in enumerate(files)
        ]
        for file, final in zip(files, shown, strict=True):
            _rename(place / file.path, self.root / final.path)
            faults.reach("F9")
        for folder in sorted({(self.root / final.path).parent for final in shown}):
            sync_directory(folder)
        return shown

    def _final(self, name: str, epoch: Epoch, number: int) -> str:
        found = _SUFFIX.search(Path(name).name)
        suffix = next(filter(None, found.groups()), "") if found else ""
        plain = f"part-{epoch.key}-{epoch.number:06d}-{number:05d}{suffix}"
        return str(Path(name).with_name(plain))

    def _clean(self, staged: Staged) -> None:
        """Delete what is not visible of whoever staged this epoch, this attempt or one before."""
        parts = (self.root / staged["place"]).parent
        if self.visibility == "publish":
            shutil.rmtree(parts, ignore_errors=True)
            _remove_empty(parts.parent, self.root)
            return
        if not staged["files"]:  # Spark writes one even where there is no row
            shutil.rmtree(parts, ignore_errors=True)
            return
        for place in parts.glob("*"):
            if str(place.relative_to(self.root)) != staged["place"]:
                shutil.rmtree(place, ignore_errors=True)

    def _refuse_folders_only(self, frame: DataFrame) -> None:
        if {name.lower() for name in self.partition_by} >= {name.lower() for name in frame.columns}:
            raise SinkProblem(
                "SINK_REFUSED",
                f"{self.name}: partition_by names all columns, {', '.join(frame.columns)}; at "
                "least one must be left for the files.",
                retryable=False,
            )

    def _refuse_replaced(self) -> None:
        if (self.root / MANIFEST_NAME).exists():
            raise SinkProblem(
                "SINK_REFUSED",
                f"{self.name}: {self.root} is the output of a SPARK_SQL or SPARK_PYTHON task, that "
                "replaces it as a whole; give the sink a directory of its own.",
                retryable=False,
            )

    def _check_rows(self, place: Path, files: Sequence[DataFile], rows: int) -> None:
        if rows and not files:
            raise SinkProblem(
                "COUNT_MISMATCH",
                f"{rows} rows were written to {place}, and no file is there: all machines of the "
                "cluster must have that directory.",
                retryable=False,
            )
        if self.format != "parquet":
            return
        import pyarrow.parquet as pq

        written = sum(pq.read_metadata(place / file.path).num_rows for file in files)
        if written != rows:
            raise SinkProblem(
                "COUNT_MISMATCH", f"{written} rows were written to {place}, and {rows} counted."
            )


def _rename(source: Path, final: Path) -> None:
    final.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.rename(final)
    except FileNotFoundError as error:
        if not final.exists():
            raise SinkProblem(
                "STAGED_LOST",
                f"{source} was to be published, and is neither there nor at {final}.",
                retryable=False,
            ) from error


def _remove_empty(directory: Path, root: Path) -> None:
    """Remove directories that nothing is left in, up to the root."""
    while directory != root:
        try:
            directory.rmdir()
        except OSError:
            return
        directory = directory.parent
