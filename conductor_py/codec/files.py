"""Records of files as stored JSON. What is not known, or at its default, is not written."""

from __future__ import annotations

from typing import Any

import orjson

from conductor_py.model.files import DEFAULT_CONTENT_TYPE, FileRecord, UploadStatus


def dump_file(record: FileRecord) -> bytes:
    """Write a record; the same record gives the same bytes."""
    written: dict[str, Any] = {
        "id": record.file_id,
        "workflow": record.workflow_id,
        "ancestors": list(record.ancestors),
        "storage": record.storage_type,
        "created": record.created_ms,
        "updated": record.updated_ms,
        "status": record.status.value,
        "name": record.file_name,
        "type": record.content_type,
        "task": record.task_id,
        "size": record.size,
        "hash": record.content_hash,
        "content": record.content,
        "upload": record.upload_id,
    }
    return orjson.dumps({name: value for name, value in written.items() if value not in (None, "")})


def load_file(stored: bytes) -> FileRecord:
    """Read a record."""
    found = orjson.loads(stored)
    return FileRecord(
        file_id=found["id"],
        workflow_id=found["workflow"],
        ancestors=tuple(found["ancestors"]),
        storage_type=found["storage"],
        created_ms=found["created"],
        updated_ms=found["updated"],
        status=UploadStatus(found["status"]),
        file_name=found.get("name"),
        content_type=found.get("type", DEFAULT_CONTENT_TYPE),
        task_id=found.get("task"),
        size=found["size"],
        content_hash=found.get("hash"),
        content=found.get("content", ""),
        upload_id=found.get("upload", ""),
    )
