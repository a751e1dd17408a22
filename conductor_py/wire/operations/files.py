"""The endpoints of files of executions."""

from __future__ import annotations

from dataclasses import replace

from conductor_py.wire.operations.operation import (
    BYTES,
    NOTHING,
    Operation,
    delete,
    get,
    post,
    put,
)

_FILE = "/api/files/{workflow_id}/{file_id}"
_CONTENT = "/api/files/content/{workflow_id}/{file_id}"
_PARTS = f"{_FILE}/multipart"

OPERATIONS: tuple[Operation, ...] = (
    replace(
        post(
            "/api/files",
            "Record a file that is about to be uploaded; answers 201 and where to send it",
            "FileUploadResponse",
            "FileUploadRequest",
        ),
        success=201,
    ),
    get(_FILE, "Read what is known of a file", "FileHandle"),
    get(f"{_FILE}/upload-url", "Say anew where to send a file", "FileUploadUrlResponse"),
    get(f"{_FILE}/download-url", "Where to fetch a file", "FileDownloadUrlResponse"),
    post(
        f"{_FILE}/upload-complete",
        "Take what was sent for a file: it never changes again",
        "FileUploadCompleteResponse",
        "",
    ),
    post(_PARTS, "Begin to send a file in parts", "MultipartInitResponse", ""),
    get(
        f"{_PARTS}/{{upload_id}}/part/{{part_number}}",
        "Where to send one part, counted from 1",
        "FileUploadUrlResponse",
    ),
    post(
        f"{_PARTS}/{{upload_id}}/complete",
        "Make a file of its parts",
        "FileUploadCompleteResponse",
        "MultipartCompleteRequest",
    ),
    replace(delete(f"{_PARTS}/{{upload_id}}", "End an upload in parts; answers 204"), success=204),
    replace(
        put(
            _CONTENT,
            "Send the bytes of a file, or of one part; answers 204",
            NOTHING,
            BYTES,
            "uploadId:string partNumber:integer token:string",
        ),
        success=204,
    ),
    get(_CONTENT, "Fetch the bytes of a file", BYTES, "token:string"),
)
