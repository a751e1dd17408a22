"""Files of executions: what is known of one beside its bytes."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from conductor_py.records import dataclass

HANDLE_PREFIX: Final = "conductor://file/"
"""What begins the handle of a file; the rest is its id."""

DEFAULT_CONTENT_TYPE: Final = "application/octet-stream"


class UploadStatus(StrEnum):
    """How far the bytes of a file have come; FAILED: nobody finished the upload in time."""

    UPLOADING = "UPLOADING"
    UPLOADED = "UPLOADED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """One file. It belongs to the execution ``workflow_id``, whose parents are ``ancestors``, the
    nearest first.

    ``content`` names the bytes in the storage, once they are all there; ``upload_id`` names the
    upload in parts that is under way. ``size`` is in bytes, instants are epoch milliseconds.
    """

    file_id: str
    workflow_id: str
    ancestors: tuple[str, ...]
    storage_type: str
    created_ms: int
    updated_ms: int
    status: UploadStatus = UploadStatus.UPLOADING
    file_name: str | None = None
    content_type: str = DEFAULT_CONTENT_TYPE
    task_id: str | None = None
    size: int = 0
    content_hash: str | None = None
    content: str = ""
    upload_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest:
    """What a client says of a file that it is about to upload."""

    workflow_id: str
    task_id: str | None = None
    file_name: str | None = None
    content_type: str = DEFAULT_CONTENT_TYPE
