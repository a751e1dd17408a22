"""What proves the epochs of a sink that writes files: a manifest for each, written once.

It lies in a folder of its sink and line, below ``_commits`` when any reader sees the files, below
``_manifests`` when they count because it names them. Nobody writes a second one for an epoch: who
comes late finds it, and it must tell of the same record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from conductor_py.records import dataclass
from conductor_workers.attempt import Claim
from conductor_workers.manifest import (
    COMMITS,
    MANIFESTS,
    DataFile,
    Manifest,
    manifest_of,
    manifest_text,
)
from conductor_workers.pipelines.connectors import Epoch, Evidence, SinkProblem
from conductor_workers.pipelines.storage import AlreadyThere, Storage

Visibility = Literal["publish", "manifest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """The manifests of a sink in a place; ``where`` names the place in sentences."""

    storage: Storage
    visibility: Visibility
    data_format: str
    where: str

    def there(self, epoch: Epoch, record_hash: str) -> bool:
        """Say whether the epoch is proven. Raises ``EPOCH_CONFLICT`` for another record."""
        manifest = self._read(self._name(epoch.key, epoch.number))
        if manifest is not None and manifest.record_hash != record_hash:
            raise SinkProblem(
                "EPOCH_CONFLICT",
                f"Epoch {epoch.number} is visible in {self.where} with another record.",
                retryable=False,
            )
        return manifest is not None

    def newest(self, key: str) -> Evidence | None:
        """Return what the newest epoch of a line proves."""
        # By number: the names have six digits, and are in another order from a million on.
        names = sorted(self.storage.names(self._folder(key)), key=_number)
        manifest = self._read(names[-1]) if names else None
        if manifest is None:
            return None
        return Evidence(epoch=manifest.epoch, record_hash=manifest.record_hash)

    def prove(
        self, epoch: Epoch, record_hash: str, *, rows: int, files: Sequence[DataFile]
    ) -> None:
        """Write an epoch's manifest. Raises ``EPOCH_CONFLICT``."""
        self._create(epoch, self._manifest(epoch, record_hash, rows, files))

    def take_back(self, epoch: Epoch, back_to: int, record_hash: str) -> None:
        """Prove an epoch without rows, with which those between ``back_to`` and it are gone.

        Raises ``EPOCH_CONFLICT``.
        """
        manifest = self._manifest(epoch, record_hash, 0, (), (back_to + 1, epoch.number - 1))
        self._create(epoch, manifest)

    def forget(self, epoch: Epoch, back_to: int) -> Iterator[str]:
        """Delete the manifests that an epoch took back; yields the files that they had named."""
        for number in range(back_to + 1, epoch.number):
            name = self._name(epoch.key, number)
            taken = self._read(name)
            self.storage.delete(name)
            yield from () if taken is None else (file.path for file in taken.files)

    def shown(self, task_key: str, epochs: frozenset[int]) -> frozenset[str]:
        """Return the files that any line of a task shows in these epochs."""
        if not epochs:
            return frozenset()
        names = self.storage.beginning(f"{self._folder(task_key)}-l")
        manifests = (self._read(name) for name in names if _number(name) in epochs)
        return frozenset(file.path for each in manifests if each for file in each.files)

    def _create(self, epoch: Epoch, manifest: Manifest) -> None:
        try:
            self.storage.create(self._name(epoch.key, epoch.number), manifest_text(manifest))
        except AlreadyThere:
            self.there(epoch, manifest.record_hash)

    def _manifest(
        self,
        epoch: Epoch,
        record_hash: str,
        rows: int,
        files: Sequence[DataFile],
        takes_back: tuple[int, int] | None = None,
    ) -> Manifest:
        return Manifest(
            claim=Claim(task_id="", token=epoch.token, owner=epoch.owner.task),
            data_format=self.data_format,
            row_count=rows,
            files=tuple(files),
            epoch=epoch.number,
            line=epoch.owner.line,
            record_hash=record_hash,
            takes_back=takes_back,
        )

    def _read(self, name: str) -> Manifest | None:
        try:
            return manifest_of(self.storage.read(name), name)
        except FileNotFoundError:
            return None

    def _folder(self, key: str) -> str:
        return f"{COMMITS if self.visibility == 'publish' else MANIFESTS}/{key}"

    def _name(self, key: str, number: int) -> str:
        return f"{self._folder(key)}/{number:06d}.json"


def _number(name: str) -> int:
    return int(name.rpartition("/")[2].removesuffix(".json"))
