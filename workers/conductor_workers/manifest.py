"""The stored forms that stand beside written data: manifests in it and the fence next to it.

A manifest says who wrote some files, under which claim, and which files these are. ``_commit.json``
at the top of a directory is the manifest of all that lies there: the directory is replaced as a
whole. Below ``_commits`` and ``_manifests`` lies one for each epoch of a data pipeline, and epochs
add up. The fence, outside of a directory, remembers the newest claim of every owner and what is
being published right now. All are JSON with a format number; a newer format is refused and left
alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, cast

from conductor_py.errors import ConductorError
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass, field
from conductor_workers.attempt import Claim

MANIFEST_NAME: Final = "_commit.json"
#: Where the manifests of epochs lie: of files that any reader sees, and of files that count only
#: because a manifest names them.
COMMITS: Final = "_commits"
MANIFESTS: Final = "_manifests"
#: Below it, the manifests of whom replaces a place as a whole.
OUTPUT_LOG: Final = f"{MANIFESTS}/output"
_FORMAT = 1
_LOOKS = 5
#: Claims of owners that never published are kept this many at most, the newest ones.
_CLAIMS_KEPT = 64


class UnknownFormat(ConductorError):
    """The manifest or fence was written by a newer worker; it is left alone."""

    code = "UNKNOWN_FORMAT"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of the output: its path below the destination, and its size in bytes."""

    path: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What one attempt wrote; ``metrics`` is what its output says beyond the counts.

    ``epoch`` and ``record_hash`` tell which commit of a data pipeline it is, of which ``line`` of
    attempts; an epoch of 0 is all that there is. ``takes_back`` are the first and the last epoch of
    the line that readers see no more from the moment on in which this manifest is there. ``claims``
    are those of a fence, where there is no other place for one.
    """

    claim: Claim
    data_format: str
    row_count: int
    files: tuple[DataFile, ...]
    schema: str = ""
    metrics: JsonObject = field(default_factory=dict)
    epoch: int = 0
    line: int = 0
    record_hash: str = ""
    takes_back: tuple[int, int] | None = None
    claims: Mapping[str, int] = field(default_factory=dict)

    @property
    def total_bytes(self) -> int:
        """The size of all data files, in bytes."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A publication that was decided: whose, and where its new and old data lie meanwhile."""

    claim: Claim
    staged: str
    retired: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """``published``: the claim behind the present data; ``claims``: the newest token of each owner
    that began to write; ``swap``: a publication that was decided and is not known to be finished.
    """

    published: Claim | None = None
    claims: Mapping[str, int] = field(default_factory=dict)
    swap: Swap | None = None


class Place(Protocol):
    """Where named files lie: a directory, or a prefix of a bucket."""

    def read(self, name: str) -> bytes:
        """Return a file's content. Raises ``FileNotFoundError``."""

    def names(self, prefix: str) -> tuple[str, ...]:
        """Return the names below a directory, in order."""


def visible_files(place: Place) -> tuple[str, ...]:
    """Return the names of all files there that are committed, whoever wrote them.

    Raises ``UnknownFormat``.
    """
    return tuple(name for names in visible_by_folder(place).values() for name in names)


def visible_by_folder(place: Place) -> Mapping[str, Sequence[str]]:
    """Return the same, by the folder of the manifests that name them.

    Raises ``UnknownFormat``.
    """
    by_line: dict[tuple[str, int], list[Manifest]] = {}
    for folder, manifest in _standing(place):
        by_line.setdefault((folder, manifest.line), []).append(manifest)
    shown: dict[str, list[str]] = {}
    for (folder, _), found in by_line.items():
        shown.setdefault(folder, []).extend(file.path for file in _shown(found))
    return shown


def manifest_text(manifest: Manifest) -> bytes:
    """Write a manifest as it is stored."""
    document: JsonObject = {
        "format": _FORMAT,
        **_claim_document(manifest.claim),
        "dataFormat": manifest.data_format,
        "rowCount": manifest.row_count,
        "schema": manifest.schema,
        "metrics": manifest.metrics,
        "epoch": manifest.epoch,
        "line": manifest.line,
        "record": manifest.record_hash,
        "takesBack": None if manifest.takes_back is None else list(manifest.takes_back),
        "claims": dict(manifest.claims),
        "files": [{"path": file.path, "bytes": file.bytes} for file in manifest.files],
    }
    return json.dumps(document, indent=1).encode()


def manifest_of(text: str | bytes, where: object) -> Manifest:
    """Read what ``manifest_text`` writes. Raises ``UnknownFormat``."""
    document = _known(text, where)
    files = cast("list[Mapping[str, JsonValue]]", document["files"])
    taken = cast("list[int] | None", document.get("takesBack"))
    return Manifest(
        claim=_claim(document),
        data_format=str(document["dataFormat"]),
        row_count=int(cast("int", document["rowCount"])),
        schema=str(document["schema"]),
        metrics=cast("JsonObject", document.get("metrics") or {}),
        epoch=int(cast("int", document.get("epoch", 0))),
        line=int(cast("int", document.get("line", 0))),
        record_hash=str(document.get("record", "")),
        takes_back=None if taken is None else (taken[0], taken[1]),
        claims=cast("Mapping[str, int]", document.get("claims") or {}),
        files=tuple(
            DataFile(path=str(file["path"]), bytes=int(cast("int", file["bytes"])))
            for file in files
        ),
    )


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write the manifest into that directory; it is there whole or not at all."""
    _write(directory / MANIFEST_NAME, manifest_text(manifest))


def read_manifest(directory: Path) -> Manifest | None:
    """Read the manifest of all that lies in that directory; None when there is none."""
    path = directory / MANIFEST_NAME
    text = _text(path)
    return None if text is None else manifest_of(text, path)


def write_fence(path: Path, fence: Fence) -> None:
    """Write the fence; it survives a crash of the machine."""
    newest = sorted(fence.claims.items(), key=lambda item: item[1])[-_CLAIMS_KEPT:]
    swap = fence.swap
    document: JsonObject = {
        "format": _FORMAT,
        "published": None if fence.published is None else _claim_document(fence.published),
        "claims": dict(newest),
        "swap": None
        if swap is None
        else {**_claim_document(swap.claim), "staged": swap.staged, "retired": swap.retired},
    }
    _write(path, json.dumps(document, indent=1).encode())


def read_fence(path: Path) -> Fence:
    """Read the fence; an empty one where nobody wrote yet."""
    text = _text(path)
    if text is None:
        return Fence()
    document = _known(text, path)
    published = cast("Mapping[str, JsonValue] | None", document["published"])
    swap = cast("Mapping[str, JsonValue] | None", document["swap"])
    return Fence(
        published=None if published is None else _claim(published),
        claims=cast("Mapping[str, int]", document["claims"]),
        swap=None
        if swap is None
        else Swap(claim=_claim(swap), staged=str(swap["staged"]), retired=str(swap["retired"])),
    )


def sync_directory(directory: Path) -> None:
    """Make what was created or renamed in that directory survive a crash of the machine."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _claim_document(claim: Claim) -> dict[str, JsonValue]:
    return {"taskId": claim.task_id, "claimToken": claim.token, "owner": claim.owner}


def _claim(document: Mapping[str, JsonValue]) -> Claim:
    return Claim(
        task_id=str(document["taskId"]),
        token=int(cast("int", document["claimToken"])),
        owner=str(document["owner"]),
    )


def _standing(place: Place) -> list[tuple[str, Manifest]]:
    """Read all manifests; again, when one was replaced between being listed and being read."""
    found: list[tuple[str, Manifest]] = []
    for _ in range(_LOOKS):
        listed = (*place.names(COMMITS), *place.names(MANIFESTS))
        names = [name for name in listed if name.endswith(".json")]
        found, gone = [], False
        for name in (MANIFEST_NAME, *names):
            try:
                found.append((name.rpartition("/")[0], manifest_of(place.read(name), name)))
            except FileNotFoundError:
                gone = gone or name != MANIFEST_NAME
        if not gone:
            break
    return found


def _shown(line: list[Manifest]) -> Iterator[DataFile]:
    gone = [manifest.takes_back for manifest in line if manifest.takes_back is not None]
    for manifest in line:
        if not any(first <= manifest.epoch <= last for first, last in gone):
            yield from manifest.files


def _write(path: Path, content: bytes) -> None:
    aside = path.with_name(f"{path.name}.new")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync_directory(path.parent)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None


def _known(text: str | bytes, where: object) -> Mapping[str, JsonValue]:
    document = cast("Mapping[str, JsonValue]", json.loads(text))
    if document.get("format") != _FORMAT:
        raise UnknownFormat(
            f"{where} has format {document.get('format')}; this worker knows {_FORMAT}."
        )
    return document
