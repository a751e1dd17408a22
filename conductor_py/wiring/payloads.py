"""Where large payloads go, chosen by settings."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from conductor_py.config import Settings
from conductor_py.config.extras import S3_PAYLOADS, require_extra
from conductor_py.ports.payloads import Payloads
from conductor_py.wiring.installation import data_directory

if TYPE_CHECKING:
    from conductor_py.adapters.files.payloads import FilePayloads

_PAYLOADS_PATH: Final = "/api/payloads"
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - what it means, not a use


def payloads_of(settings: Settings) -> Payloads:
    """Make the storage of large payloads (``ConfigurationError``)."""
    storage = settings.payload_storage
    if storage.type == "files":
        return file_payloads(settings)
    require_extra("s3", S3_PAYLOADS)
    from conductor_py.adapters.s3.payloads import S3Payloads, S3Settings

    return S3Payloads(
        S3Settings(
            bucket=storage.bucket,
            region=storage.region,
            endpoint=storage.endpoint or None,
            public_endpoint=storage.public_endpoint or None,
            access_key=storage.access_key or None,
            secret_key=storage.secret_key or None,
            expiry_ms=storage.url_ttl_ms,
        )
    )


def file_payloads(settings: Settings) -> FilePayloads:
    """Make the storage in files, whose URLs this server answers."""
    from conductor_py.adapters.files.payloads import FilePayloads

    server = settings.server
    host = "127.0.0.1" if server.host in _EVERYWHERE else server.host
    public = server.public_url or f"http://{f'[{host}]' if ':' in host else host}:{server.port}"
    return FilePayloads(
        data_directory(settings) / "payloads",
        base_url=public.rstrip("/") + _PAYLOADS_PATH,
        now_ms=_now_ms,
        expiry_ms=settings.payload_storage.url_ttl_ms,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
