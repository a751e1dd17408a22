"""A prefix of a bucket whose data changes as a whole, and only by the newest claim.

It is to a bucket what ``destination`` is to a disk. Nothing can be renamed there, so what counts is
what the newest manifest names:

    data/[day=…/]part-<owner>-t<token>-….parquet   the data
    _manifests/output/000007.json                  the seventh manifest, which takes back all others

A manifest is created with a condition, so of two who want to write the next one only one does; that
is the only decision there is, and ``visible_files`` sees it as it sees those of data pipelines.
``prepare`` writes one, too: it names the same data and raises the fence, so that whoever read the
one before it cannot write his any more.

An attempt uploads without completing, which no listing shows. To publish it looks whether it is
still the newest, asks the engine, completes its uploads and writes its manifest; then the objects
of the manifest before are deleted. Where a crash may fall, and what the next ``prepare`` of the
same owner finds:

1. before the uploads are completed: they are aborted.
2. before the manifest is there: nobody names the objects; they are deleted.
3. before the old objects are deleted: older manifests still name them; they are deleted.

Whether a manifest was written is not known when its answer is lost. Then nothing is deleted, and
the next attempt looks.

Who lists the objects instead of reading the manifest sees new and old ones side by side from 1 to
3, and what is left by an owner that never comes back until somebody publishes again. A reader that
took the names from one manifest and opens them after the next gets "not found", never a mixture.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from conductor_py.records import dataclass, field
from conductor_workers.attempt import AttemptEnded, Claim
from conductor_workers.destination import DestinationRefused
from conductor_workers.manifest import (
    COMMITS,
    MANIFESTS,
    OUTPUT_LOG,
    DataFile,
    Manifest,
    manifest_of,
    manifest_text,
)
from conductor_workers.pipelines.storage import AlreadyThere, StoreAway
from conductor_workers.pipelines.storage.s3 import S3Storage, UploadLost

logger = logging.getLogger(__name__)

DATA: Final = "data"
_KEPT: Final = 10
"""So many manifests stay: a reader that has listed them may still open the newest of its list."""
_CLAIMS_KEPT: Final = 64
_NOBODY: Final = Claim(task_id="", token=0, owner="")
_EMPTY: Final = Manifest(claim=_NOBODY, data_format="", row_count=0, files=())
_ENTRY: Final = re.compile(rf"{OUTPUT_LOG}/(?P<number>\d+)\.json")
_PART: Final = re.compile(
    rf"{DATA}/(?:[^/=]*=[^/]*/)*part-(?P<owner>[0-9a-f]{{16}})-t(?P<token>\d+)-[^/]*"
)


@dataclass(slots=True, kw_only=True)
class BucketStaging:
    """What an attempt uploads before anybody sees it: ``begun`` is what ``S3Storage.begin`` gave.

    Its objects must be below ``DATA`` and have names that begin with ``stem``. ``completed``: some
    of them may be objects by now. ``shown``: a manifest may name them, nothing may be deleted.
    """

    claim: Claim
    overwrite: bool = True
    begun: list[Mapping[str, Any]] = field(default_factory=list)
    completed: bool = False
    shown: bool = False

    @property
    def stem(self) -> str:
        """What the names of its objects begin with."""
        return f"part-{_owner(self.claim)}-t{self.claim.token}"

    @property
    def files(self) -> tuple[DataFile, ...]:
        """What was uploaded."""
        found = (DataFile(path=str(each["name"]), bytes=int(each["bytes"])) for each in self.begun)
        return tuple(sorted(found, key=lambda file: file.path))


class _TooLate(StoreAway):
    """A manifest's number was chosen long ago: no reader has seen it."""


class BucketDestination:
    """One prefix; safe between threads, processes and machines."""

    def __init__(
        self, storage: S3Storage, *, at: Callable[[str], None] = lambda _point: None
    ) -> None:
        """Look at that prefix; ``at`` is told each point that a crash could fall on."""
        self._storage = storage
        self._at = at

    @property
    def address(self) -> str:
        """Where it is."""
        return f"s3://{self._storage.bucket}/{self._storage.prefix}"

    def present(self) -> Manifest | None:
        """Return the manifest of the present data, whoever wrote it."""
        newest = self._newest()
        return None if newest.claim == _NOBODY else newest

    def adopted(self, claim: Claim) -> Manifest | None:
        """Return the manifest of the present data when that claim's task wrote it, under that claim
        or one before.
        """
        return _written_by(claim, self._newest())

    def prepare(self, claim: Claim, *, overwrite: bool) -> BucketStaging:
        """Raise the fence to that claim and return an empty staging place.

        Raises:
            AttemptEnded: a newer claim has been here.
            DestinationRefused: the prefix is not ours to replace.
            StoreAway: the store does not answer.
        """
        while True:
            newest = self._newest()
            self._refuse_superseded(newest, claim)
            self._refuse_foreign(newest)
            self._refuse_present(newest, claim, overwrite=overwrite)
            raised = self._next(newest, newest, claim)
            if self._append(raised):
                break
        self._tidied(raised, claim)
        return BucketStaging(claim=claim, overwrite=overwrite)

    def publish(
        self, staging: BucketStaging, manifest: Manifest, *, confirm: Callable[[], bool]
    ) -> Manifest:
        """Put what was uploaded in the place of what is there; a repeat of the same claim changes
        nothing.

        Raises:
            AttemptEnded: the claim was superseded or the engine no longer confirms it.
            DestinationRefused: somebody else writes there by now.
            StoreAway: the store does not answer; the data may be published or not.
        """
        self._at("staged")
        complete = False
        while True:
            newest = self._newest()
            repeated = _written_by(manifest.claim, newest)
            if repeated is not None:
                shown = {file.path for file in repeated.files}
                staging.begun = [each for each in staging.begun if each["name"] not in shown]
                return repeated
            self._refuse_superseded(newest, manifest.claim)
            self._refuse_present(newest, manifest.claim, overwrite=staging.overwrite)
            self._refuse_foreign(newest)
            if not confirm():
                raise AttemptEnded("The engine no longer confirms the claim.")
            if not complete:
                self._complete(staging)
                complete = True
            self._at("completed")
            entry = self._next(newest, manifest, manifest.claim)
            try:
                won = self._append(entry)
            except _TooLate:
                raise
            except BaseException:
                staging.shown = True  # it may be: the answer was lost
                raise
            if won:
                break
        staging.shown = True
        self._at("published")
        self._tidied(entry, manifest.claim)
        return manifest

    def discard(self, staging: BucketStaging) -> None:
        """Delete what an attempt uploaded and did not publish, its tried tasks' too."""
        if staging.shown:
            return
        for each in staging.begun:
            self._storage.abort(str(each["name"]), str(each["upload"]))
        for name, upload in self._storage.begun(f"{DATA}/"):
            if name.rpartition("/")[2].startswith(f"{staging.stem}-"):
                self._storage.abort(name, upload)
        if staging.completed:
            self._storage.delete_objects([str(each["name"]) for each in staging.begun])
        staging.begun.clear()

    def _complete(self, staging: BucketStaging) -> None:
        staging.completed = True
        try:
            for each in staging.begun:
                self._storage.complete(each)
        except UploadLost as error:
            # Only who came later aborts what is begun.
            self._refuse_superseded(self._newest(), staging.claim)
            raise StoreAway(
                f"{self.address}: an upload is gone that nobody has aborted."
            ) from error

    def _newest(self) -> Manifest:
        """Return the newest manifest; an empty one, of epoch 0, where nobody wrote yet."""
        while names := self._numbered():
            try:
                return manifest_of(self._storage.read(names[-1]), names[-1])
            except FileNotFoundError:  # deleted since it was listed: there are newer ones
                continue
        return _EMPTY

    def _next(self, newest: Manifest, content: Manifest, claim: Claim) -> Manifest:
        """Return the manifest that follows the newest: with that content, under that claim."""
        claims = {**newest.claims, claim.owner: claim.token}
        kept = sorted(claims.items(), key=lambda item: item[1])[-_CLAIMS_KEPT:]
        return replace(
            content,
            epoch=newest.epoch + 1,
            takes_back=(1, newest.epoch) if newest.epoch else None,
            claims=dict(kept),
        )

    def _append(self, entry: Manifest) -> bool:
        """Write a manifest; False when another one has that number.

        Raises ``StoreAway`` when it is not known whether it is there, or whether it counts, and
        ``_TooLate`` when it does not: its number was chosen so long ago that the others of its time
        are deleted.
        """
        name = f"{OUTPUT_LOG}/{entry.epoch:06d}.json"
        try:
            self._storage.create(name, manifest_text(entry))
        except AlreadyThere:
            if not self._is_there(name, entry):  # else by a request whose answer was lost
                return False
        last = max(map(_number, self._numbered()), default=0)
        if last >= entry.epoch + _KEPT:
            self._storage.delete_objects([name])
            raise _TooLate(f"{self.address}: it was replaced {_KEPT} times meanwhile.")
        return True

    def _is_there(self, name: str, entry: Manifest) -> bool:
        try:
            found = manifest_of(self._storage.read(name), name)
        except FileNotFoundError:
            return False
        return (found.claim, found.files, found.claims) == (entry.claim, entry.files, entry.claims)

    def _tidied(self, newest: Manifest, claim: Claim) -> None:
        try:
            self._sweep(newest, claim)
        except StoreAway as error:
            # Nothing of it is shown; whoever comes next deletes what is left.
            told = {"action": "objects_left", "error": str(error)}
            logger.warning("Objects that nobody reads are left", extra=told)

    def _sweep(self, newest: Manifest, claim: Claim) -> None:
        """Delete what no reader needs: objects of manifests before, what older attempts have left,
        and the oldest manifests.

        What other owners have left goes only when that claim's data is shown: whoever is older
        cannot publish any more.
        """
        visible = {file.path for each in (newest, self._newest()) for file in each.files}
        log = [name for name in self._numbered() if _number(name) < newest.epoch]
        there = set(self._storage.names(DATA)) - visible
        gone = {name for name in log for name in self._named(name)} & there if there else set()
        shows = newest.claim == claim
        gone |= {name for name in there if _is_left(name, claim, of_others=shows)}
        self._storage.delete_objects([*sorted(gone), *log[: -_KEPT + 1]])
        for name, upload in self._storage.begun(f"{DATA}/"):
            if _is_left(name, claim, of_others=False) or (shows and _is_own(name, claim)):
                self._storage.abort(name, upload)

    def _named(self, manifest: str) -> tuple[str, ...]:
        try:
            return tuple(file.path for file in manifest_of(self._storage.read(manifest), "").files)
        except FileNotFoundError:
            return ()

    def _numbered(self) -> list[str]:
        names = self._storage.names(OUTPUT_LOG)
        return sorted((name for name in names if _ENTRY.fullmatch(name)), key=_number)

    def _refuse_superseded(self, newest: Manifest, claim: Claim) -> None:
        token = max(newest.claims.get(claim.owner, 0), newest.claim.token)
        if token > claim.token:
            raise AttemptEnded(
                f"{self.address} belongs to claim {token}; claim {claim.token} came too late."
            )

    def _refuse_present(self, newest: Manifest, claim: Claim, *, overwrite: bool) -> None:
        # What an earlier attempt of the same reference published is this task's own output.
        if not overwrite and newest.claim.owner not in (_NOBODY.owner, claim.owner):
            raise DestinationRefused(f"{self.address} exists and the output's mode is 'error'.")

    def _refuse_foreign(self, newest: Manifest) -> None:
        """Refuse a place where others write, too. ``newest`` decides whether data is an output's;
        where one was begun since it was read, the next look does.
        """
        log = f"{OUTPUT_LOG}/"
        others = [name for name in self._storage.names("") if not name.startswith(log)]
        if any(name.startswith((f"{COMMITS}/", f"{MANIFESTS}/")) for name in others):
            raise DestinationRefused(
                f"{self.address} belongs to data pipelines; it is not replaced."
            )
        foreign = [name for name in others if newest.epoch == 0 or not _PART.fullmatch(name)]
        if foreign and (newest.epoch or not self._newest().epoch):
            raise DestinationRefused(
                f"{self.address} holds objects that no task's output wrote, such as {foreign[0]}; "
                "they are not replaced."
            )


def _written_by(claim: Claim, newest: Manifest) -> Manifest | None:
    same = (newest.claim.task_id, newest.claim.owner) == (claim.task_id, claim.owner)
    return newest if same and claim.task_id and newest.claim.token <= claim.token else None


def _owner(claim: Claim) -> str:
    return hashlib.sha256(claim.owner.encode()).hexdigest()[:16]


def _is_own(name: str, claim: Claim) -> bool:
    found = _PART.fullmatch(name)
    return found is not None and (found["owner"], found["token"]) == (
        _owner(claim),
        str(claim.token),
    )


def _is_left(name: str, claim: Claim, *, of_others: bool) -> bool:
    """Whether an attempt before that claim has uploaded it."""
    found = _PART.fullmatch(name)
    if found is None or int(found["token"]) >= claim.token:
        return False
    return of_others or found["owner"] == _owner(claim)


def _number(name: str) -> int:
    return int(name.rpartition("/")[2].removesuffix(".json"))
