"""The bodies and answers of files of executions."""

from __future__ import annotations

import re
from typing import Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.files import DEFAULT_CONTENT_TYPE, FileRequest, UploadStatus
from conductor_py.wire.fields import Choice, Text, Texts, Whole, WireSchema, load

_LONGEST: Final = 255
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
_WORD: Final = r"[A-Za-z0-9!#$&^_.+-]+"
_CONTENT_TYPE: Final = re.compile(rf"{_WORD}/{_WORD}(?:;[\x20-\x7e]*)?")


class FileUploadRequestForm(WireSchema):
    """A file that is about to be uploaded; it belongs to the execution."""

    workflow_id = Text(required=True)
    task_id = Text()
    file_name = Text()
    content_type = Text()


class FileUploadResponseForm(WireSchema):
    """A file that was recorded, and where to send its bytes."""

    file_handle_id = Text(required=True)
    file_name = Text(allow_none=True)
    content_type = Text(required=True)
    storage_type = Text(required=True)
    upload_status = Choice(UploadStatus, required=True)
    upload_url = Text(required=True)
    upload_url_expires_at = Whole(required=True)
    created_at = Whole(required=True)
    workflow_id = Text(required=True)


class FileUploadUrlResponseForm(WireSchema):
    """Where to send the bytes of a file, or of a part of it."""

    file_handle_id = Text(required=True)
    upload_url = Text(required=True)
    expires_at = Whole(required=True)


class FileDownloadUrlResponseForm(WireSchema):
    """Where to fetch the bytes of a file."""

    file_handle_id = Text(required=True)
    download_url = Text(required=True)
    expires_at = Whole(required=True)


class FileUploadCompleteResponseForm(WireSchema):
    """A file whose bytes are all there."""

    file_handle_id = Text(required=True)
    upload_status = Choice(UploadStatus, required=True)
    content_hash = Text(required=True)


class FileHandleForm(WireSchema):
    """What is known of a file."""

    file_handle_id = Text(required=True)
    file_name = Text(allow_none=True)
    content_type = Text(required=True)
    file_size = Whole(required=True)
    content_hash = Text(allow_none=True)
    storage_type = Text(required=True)
    upload_status = Choice(UploadStatus, required=True)
    workflow_id = Text(required=True)
    task_id = Text(allow_none=True)
    created_at = Whole(required=True)
    updated_at = Whole(required=True)


class MultipartInitResponseForm(WireSchema):
    """An upload in parts that has begun."""

    file_handle_id = Text(required=True)
    upload_id = Text(required=True)


class MultipartCompleteRequestForm(WireSchema):
    """The tags of all parts, in order, as the storage answered them."""

    part_e_tags = Texts(required=True, data_key="partETags")


_REQUEST = FileUploadRequestForm()
_PARTS = MultipartCompleteRequestForm()

FORMS: tuple[WireSchema, ...] = (
    _REQUEST,
    FileUploadResponseForm(),
    FileUploadUrlResponseForm(),
    FileDownloadUrlResponseForm(),
    FileUploadCompleteResponseForm(),
    FileHandleForm(),
    MultipartInitResponseForm(),
    _PARTS,
)
"""The forms of this module, for the published schemas."""


def read_file_request(body: object) -> FileRequest:
    """Read what a client says of a file; a name that is no plain file name is refused."""
    members = load(_REQUEST, body)
    owner = members["workflow_id"].strip()
    if not owner:
        raise _wrong("$.workflowId", "must name the workflow that owns the file")
    name = members.get("file_name")
    if name is not None and not _is_plain(name):
        raise _wrong("$.fileName", f"must be a plain name of 1 to {_LONGEST} characters", name)
    kind = (members.get("content_type") or "").strip() or DEFAULT_CONTENT_TYPE
    if len(kind) > _LONGEST or not _CONTENT_TYPE.fullmatch(kind):
        raise _wrong("$.contentType", "must be a media type such as text/plain", kind)
    return FileRequest(
        workflow_id=owner,
        task_id=members.get("task_id") or None,
        file_name=name,
        content_type=kind,
    )


def read_part_tags(body: object) -> tuple[str, ...]:
    """Read the tags of the parts."""
    found: tuple[str, ...] = load(_PARTS, body)["part_e_tags"]
    return found


def _is_plain(name: str) -> bool:
    fits = 0 < len(name) <= _LONGEST and name.strip() != ""
    return fits and name not in (".", "..") and not _UNSAFE.search(name)


def _wrong(path: str, message: str, value: str | None = None) -> InvalidInput:
    shown = value[:_LONGEST] if value is not None else None
    return InvalidInput(violations=(Violation(path=path, message=message, invalid_value=shown),))
