"""Settings of files of executions."""

from __future__ import annotations

from typing import Literal

from conductor_py.config.declaration import choice, count, duration, flag, text
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStorage:
    """Files of executions: off unless they are switched on."""

    enabled: bool = flag(
        "conductor.file-storage.enabled",
        "false",
        "Keep files for executions. False: every address below /api/files is unknown.",
    )
    type: Literal["conductor", "s3"] = choice(
        "conductor.file-storage.type",
        "conductor",
        ("conductor", "s3"),
        "Where their bytes are: in a directory, sent and fetched through this server, or in S3.",
    )
    url_ttl_ms: int = duration(
        "conductor.file-storage.signed-url-expiration",
        "60s",
        "How long a signed URL to send or fetch a file can be used.",
        unit="s",
        minimum=1000,
    )
    directory: str = text(
        "conductor.file-storage.conductor.directory",
        "",
        "The directory, shared by all servers that serve files; empty: files in the data "
        "directory.",
    )
    base_url: str = text(
        "conductor.file-storage.conductor.base-url",
        "",
        "Origin of the URLs that lead to this server; empty: its public URL, or what the request "
        "was sent to.",
    )
    max_bytes: int = count(
        "conductor.file-storage.conductor.max-size",
        "104857600",
        "Bytes of one file at most, where this server takes them.",
        minimum=1,
        maximum=2**50,
    )
    signing: bool = flag(
        "conductor.file-storage.conductor.signing.enabled",
        "false",
        "Sign the URLs that lead to this server, and serve no others; the secret is a file in the "
        "directory.",
    )
    bucket: str = text(
        "conductor.file-storage.s3.bucket-name",
        "conductor-files",
        "The bucket; endpoints and keys are those of the payload storage.",
    )
    region: str = text(
        "conductor.file-storage.s3.region",
        "us-east-1",
        "The bucket's region.",
    )
