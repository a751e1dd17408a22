"""The stored forms that stand beside written data: the manifest in it and the fence next to it.

``_commit.json`` inside a destination says which task wrote it, under which claim, and which files
belong to it. The fence, outside, remembers the newest claim of every owner and what is being
published right now. Both are JSON with a format number; a newer format is refused and left alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from conductor_py.errors import ConductorError
from conductor_py.model.json import JsonObject, JsonValue
from conductor_workers.attempt import Claim

MANIFEST_NAME = "_commit.json"
_FORMAT = 1
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
    """What one attempt wrote; ``metrics`` is what its output says beyond the counts."""

    claim: Claim
    data_format: str
    row_count: int
    schema: str
    files: tuple[DataFile, ...]
    metrics: JsonObject = field(default_factory=dict)

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


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write the manifest into that directory; it is there whole or not at all."""
    document: JsonObject = {
        "format": _FORMAT,
        **_claim_document(manifest.claim),
        "dataFormat": manifest.data_format,
        "rowCount": manifest.row_count,
        "schema": manifest.schema,
        "metrics": manifest.metrics,
        "files": [{"path": file.path, "bytes": file.bytes} for file in manifest.files],
    }
    _write(directory / MANIFEST_NAME, document)


def read_manifest(directory: Path) -> Manifest | None:
    """Read the manifest of that directory; None when there is none."""
    document = _read(directory / MANIFEST_NAME)
    if document is None:
        return None
    files = cast("list[Mapping[str, JsonValue]]", document["files"])
    return Manifest(
        claim=_claim(document),
        data_format=str(document["dataFormat"]),
        row_count=int(cast("int", document["rowCount"])),
        schema=str(document["schema"]),
        metrics=cast("JsonObject", document.get("metrics") or {}),
        files=tuple(
            DataFile(path=str(file["path"]), bytes=int(cast("int", file["bytes"])))
            for file in files
        ),
    )


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
    _write(path, document)


def read_fence(path: Path) -> Fence:
    """Read the fence; an empty one where nobody wrote yet."""
    document = _read(path)
    if document is None:
        return Fence()
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


def _write(path: Path, document: JsonObject) -> None:
    aside = path.with_name(f"{path.name}.new")
    with aside.open("w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync_directory(path.parent)


def _read(path: Path) -> Mapping[str, JsonValue] | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    document = cast("Mapping[str, JsonValue]", json.loads(text))
    if document.get("format") != _FORMAT:
        raise UnknownFormat(
            f"{path} has format {document.get('format')}; this worker knows {_FORMAT}."
        )
    return document
