"""A directory of data that changes as a whole, and only by the newest claim.

An attempt writes into a staging directory named by its task and claim, beside the destination and
on the same file system. Publishing happens under an operating-system lock: the tokens are compared,
the engine confirms the claim, the intent is written to the fence, and the new directory takes the
old one's place in one ``rename`` (two, journalled by that intent, where the system cannot exchange
directories). Beside ``/data/out`` stands ``/data/.out.conductor``:

    lock               held while anybody looks or publishes
    fence.json         newest claims, what is published, a swap under way
    staging/<task>-<token>/data    what an attempt writes; held by a lock while its writer lives

Where a crash may fall, and what the next ``prepare`` or ``publish`` finds:

1. while writing, or before the intent: the destination is untouched; the staging directory is a
   leftover, deleted once its writer is dead.
2. after the intent, before the swap: the destination still has the old data; the intent is dropped.
3. between the two renames of a system without exchange: the destination is missing; it is completed
   with the new data (the intent was written after the engine confirmed), or else the old data is
   put back.
4. after the swap, before the fence knows: the manifest in the destination tells; the fence is
brought up to date.

A repeat by the same task, under the same claim or a newer one, finds its own manifest and does
nothing: what a killed worker had published is the output of whoever takes the task next. A reader
that listed the old files before a swap and opens them after it gets "file not found", never a
mixture: data files carry unique names. A destination that holds files without a manifest or Spark's
success mark was not written by us, and is never replaced; nor is one that data pipelines add epochs
to.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from conductor_py.errors import ConductorError
from conductor_py.records import dataclass
from conductor_workers.attempt import AttemptEnded, Claim
from conductor_workers.datafiles import sync_files
from conductor_workers.exchange import exchange
from conductor_workers.liveness import HeldDirectory, exclusive, hold, remove_if_abandoned
from conductor_workers.manifest import (
    COMMITS,
    MANIFESTS,
    Fence,
    Manifest,
    Swap,
    read_fence,
    read_manifest,
    sync_directory,
    write_fence,
    write_manifest,
)

_SPARK_SUCCESS = "_SUCCESS"
_DATA = "data"


class DestinationRefused(ConductorError):
    """The output may not be written there; another attempt would be refused as well."""

    code = "DESTINATION_REFUSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Where an attempt writes before anybody sees it: ``data`` does not exist yet."""

    claim: Claim
    data: Path
    held: HeldDirectory
    overwrite: bool


def local_path(text: str) -> Path:
    """Return the local directory that an output path names.

    Raises:
        DestinationRefused: it is not an absolute local path.
    """
    parts = urlsplit(text)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        raise DestinationRefused(
            f"{text} is not a local path: outputs are published to /absolute/paths and file: "
            "addresses only, other stores are not supported yet."
        )
    path = Path(unquote(parts.path) if parts.scheme else text)
    if not path.is_absolute() or ".." in path.parts or path == Path(path.anchor):
        raise DestinationRefused(f"{text} is not the absolute path of a directory below the root.")
    return path


class Destination:
    """One output directory; safe between threads and processes of machines that share its locks."""

    def __init__(self, path: Path, *, at: Callable[[str], None] = lambda _point: None) -> None:
        """Look at that path; ``at`` is told each point that a crash could fall on."""
        self.path = path
        self._place = path.with_name(f".{path.name}.conductor")
        self._fence_file = self._place / "fence.json"
        self._at = at

    def published_by(self, claim: Claim) -> Manifest | None:
        """Return the manifest of the present data when that claim's task wrote it, under that claim
        or one before.
        """
        manifest = read_manifest(self.path)
        if manifest is None or manifest.claim.token > claim.token:
            return None
        same = (manifest.claim.task_id, manifest.claim.owner) == (claim.task_id, claim.owner)
        return manifest if same and claim.task_id else None

    def adopted(self, claim: Claim) -> Manifest | None:
        """Finish what a dead process left half-way, and return what that claim's task published."""
        if not self._place.exists():
            return None
        with self._locked():
            self._recovered()
            return self.published_by(claim)

    def prepare(self, claim: Claim, *, overwrite: bool) -> Staging:
        """Raise the fence to that claim and return an empty staging place.

        Raises:
            AttemptEnded: a newer claim has been here.
            DestinationRefused: the destination is not ours to replace.
        """
        self._place.mkdir(parents=True, exist_ok=True)
        with self._locked():
            fence = self._recovered()
            self._refuse_superseded(fence, claim)
            self._refuse_foreign(claim, overwrite=overwrite)
            self._sweep(claim)
            held = hold(self._place / "staging" / claim.name)
            if held is None:
                raise AttemptEnded("This very claim is being worked on by another process.")
            shutil.rmtree(held.path / _DATA, ignore_errors=True)
            write_fence(
                self._fence_file, replace(fence, claims={**fence.claims, claim.owner: claim.token})
            )
        return Staging(claim=claim, data=held.path / _DATA, held=held, overwrite=overwrite)

    def publish(
        self, staging: Staging, manifest: Manifest, *, confirm: Callable[[], bool]
    ) -> Manifest:
        """Put the staged data in the destination's place; a repeat of the same claim changes
        nothing.

        Raises:
            AttemptEnded: the claim was superseded or the engine no longer confirms it.
            DestinationRefused: somebody else writes there by now.
        """
        write_manifest(staging.data, manifest)
        sync_files(staging.data, (file.path for file in manifest.files))
        self._at("staged")
        with self._locked():
            fence = self._recovered()
            repeated = self.published_by(manifest.claim)
            if repeated is not None:
                return repeated
            self._refuse_superseded(fence, manifest.claim)
            self._refuse_foreign(manifest.claim, overwrite=staging.overwrite)
            if not confirm():
                raise AttemptEnded("The engine no longer confirms the claim.")
            self._swap(fence, staging, manifest.claim)
        return manifest

    def discard(self, staging: Staging) -> None:
        """Delete what an attempt staged: unpublished data, or the old data after a swap."""
        staging.held.release(delete=True)

    def _swap(self, fence: Fence, staging: Staging, claim: Claim) -> None:
        retired = staging.held.path / "retired"
        swap = Swap(
            claim=claim,
            staged=str(staging.data.relative_to(self._place)),
            retired=str(retired.relative_to(self._place)),
        )
        write_fence(self._fence_file, replace(fence, swap=swap))
        self._at("intended")
        if not self.path.exists():
            staging.data.rename(self.path)
        elif not exchange(staging.data, self.path):
            self.path.rename(retired)
            self._at("retired")
            staging.data.rename(self.path)
        sync_directory(self.path.parent)
        self._at("swapped")
        write_fence(self._fence_file, _published(fence, claim))
        self._at("published")

    def _recovered(self) -> Fence:
        """Finish or undo a swap that a dead process left half-way; the lock is held."""
        fence = read_fence(self._fence_file)
        swap = fence.swap
        if swap is None:
            return fence
        staged, retired = self._place / swap.staged, self._place / swap.retired
        if not self.path.exists():
            whole = read_manifest(staged)
            source = staged if whole is not None and whole.claim == swap.claim else retired
            if source.exists():
                source.rename(self.path)
                sync_directory(self.path.parent)
        manifest = read_manifest(self.path)
        done = manifest is not None and manifest.claim == swap.claim
        fence = _published(fence, swap.claim) if done else replace(fence, swap=None)
        write_fence(self._fence_file, fence)
        return fence

    def _refuse_superseded(self, fence: Fence, claim: Claim) -> None:
        present = read_manifest(self.path)
        newest = [fence.claims.get(claim.owner, 0)]
        newest += [other.token for other in (fence.published, present and present.claim) if other]
        if max(newest) > claim.token:
            raise AttemptEnded(
                f"{self.path} belongs to claim {max(newest)}; claim {claim.token} came too late."
            )

    def _refuse_foreign(self, claim: Claim, *, overwrite: bool) -> None:
        path = self.path
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise DestinationRefused(
                f"{path} is not a directory, and only directories are replaced."
            )
        if not path.exists() or not any(path.iterdir()):
            return
        if any((path / name).exists() for name in (COMMITS, MANIFESTS)):
            raise DestinationRefused(f"{path} belongs to data pipelines; it is not replaced.")
        manifest = read_manifest(path)
        if manifest is None and not (path / _SPARK_SUCCESS).exists():
            raise DestinationRefused(
                f"{path} holds files that no Spark output wrote; they are not replaced."
            )
        # What an earlier attempt of the same reference published is this task's own output.
        if not overwrite and (manifest is None or manifest.claim.owner != claim.owner):
            raise DestinationRefused(f"{path} exists and the output's mode is 'error'.")

    def _sweep(self, claim: Claim) -> None:
        """Delete what dead writers staged; a living one keeps its place, the fence stops it."""
        for entry in sorted((self._place / "staging").glob("*")):
            if entry.is_dir() and entry.name != claim.name:
                remove_if_abandoned(entry)

    def _locked(self) -> AbstractContextManager[None]:
        return exclusive(self._place / "lock")


def _published(fence: Fence, claim: Claim) -> Fence:
    return replace(fence, published=claim, swap=None)
