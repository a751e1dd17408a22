"""Files of executions, chosen by settings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from conductor_py.config import Settings
from conductor_py.config.extras import S3_FILES, require_extra
from conductor_py.engine.port_set import FilePorts
from conductor_py.ports.files import FileContents, ServedContents
from conductor_py.wiring.installation import data_directory

if TYPE_CHECKING:
    from conductor_py.adapters.redis.scripts import Scripts


def files_of(settings: Settings, scripts: Scripts) -> FilePorts | None:
    """Make the places of files; none unless they are switched on (``ConfigurationError``)."""
    if not settings.file_storage.enabled:
        return None
    from conductor_py.adapters.redis.file_records import RedisFileRecords

    records = RedisFileRecords(scripts)
    if settings.file_storage.type == "s3":
        return FilePorts(records=records, contents=_bucket(settings))
    served = _directory(settings)
    return FilePorts(records=records, contents=served, served=served)


def _directory(settings: Settings) -> ServedContents:
    from conductor_py.adapters.files.contents import DirectoryContents

    storage = settings.file_storage
    named = Path(storage.directory) if storage.directory else data_directory(settings) / "files"
    return DirectoryContents(
        named,
        now_ms=_now_ms,
        base_url=storage.base_url,
        expiry_ms=storage.url_ttl_ms,
        max_bytes=storage.max_bytes,
        signed=storage.signing,
    )


def _bucket(settings: Settings) -> FileContents:
    require_extra("s3", S3_FILES)
    from conductor_py.adapters.s3.contents import S3Contents
    from conductor_py.adapters.s3.payloads import S3Settings

    storage, payloads = settings.file_storage, settings.payload_storage
    return S3Contents(
        S3Settings(
            bucket=storage.bucket,
            region=storage.region,
            endpoint=payloads.endpoint or None,
            public_endpoint=payloads.public_endpoint or None,
            access_key=payloads.access_key or None,
            secret_key=payloads.secret_key or None,
            prefix="files",
            expiry_ms=storage.url_ttl_ms,
        ),
        now_ms=_now_ms,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
