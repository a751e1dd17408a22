"""Payloads in a bucket. URLs are presigned (version 4): method, key and expiry are in the
signature, and as what the object store answers it.

A presigned PUT bounds neither the length of what is sent nor how often: what is accepted is a copy,
made by the object store, under a key that no URL to send was ever made for. Credentials stay in
this process. One client a process, made when first wanted, and made anew after a fork, because two
processes cannot share its connections.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from conductor_py.adapters.process_local import ProcessLocal
from conductor_py.adapters.s3.answers import asking, length, told
from conductor_py.errors import PayloadTooLarge, StoreUnavailable
from conductor_py.ports.payloads import (
    CONTENT_TYPE,
    MOST_BYTES,
    Accepted,
    Location,
    PayloadKind,
    checked_path,
    is_own,
    kind_of,
    mint_own_path,
    mint_path,
    refuse_larger,
)
from conductor_py.records import dataclass, field

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_ABSENT = frozenset({"NoSuchKey", "404", "NotFound"})
_CONNECT_TIMEOUT_S = 3
_READ_TIMEOUT_S = 20
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Settings:
    """Where the bucket is. Without keys the usual chain of the AWS SDKs finds them.

    ``public_endpoint`` is where workers reach the store, when that differs from where this process
    does.
    """

    bucket: str
    region: str = "us-east-1"
    endpoint: str | None = None
    public_endpoint: str | None = None
    prefix: str = ""
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    expiry_ms: int = 60_000


class S3Payloads:
    """``Payloads`` over one bucket, which must exist."""

    def __init__(self, settings: S3Settings) -> None:
        self._settings = settings
        self._prefix = f"{settings.prefix.strip('/')}/" if settings.prefix.strip("/") else ""
        self._store = ProcessLocal(lambda: client_of(settings, settings.endpoint))
        self._signer = signer_of(settings, self._store)

    def write_location(self, kind: PayloadKind, requested_path: str | None = None) -> Location:
        path = mint_path(kind)
        return self._presigned(path, "put_object", {})

    def read_location(self, path: str) -> Location:
        answered = {"ResponseContentType": CONTENT_TYPE}
        return self._presigned(checked_path(path), "get_object", answered)

    def put(self, kind: PayloadKind, document: bytes) -> str:
        path = mint_own_path(kind)
        with _asking():
            stored = self._store.get().put_object(
                Bucket=self._settings.bucket,
                Key=self._key(path),
                Body=document,
                ContentType=CONTENT_TYPE,
            )
            told(stored, "ETag")
        return path

    def accept(self, path: str, most: int, what: str) -> Accepted:
        size = self.size(path)
        refuse_larger(size, most, what)
        if is_own(path):
            return Accepted(path=path, size=size)
        copy, bucket = mint_own_path(kind_of(path)), self._settings.bucket
        with _asking():
            copied = self._store.get().copy_object(
                Bucket=bucket,
                Key=self._key(copy),
                CopySource={"Bucket": bucket, "Key": self._key(path)},
            )
            told(copied.get("CopyObjectResult", {}), "ETag")
        try:
            # It may be a larger one that was sent in between; the copy stays as it is.
            size = self.size(copy)
            refuse_larger(size, most, what)
        except PayloadTooLarge:
            self.delete(copy)
            raise
        return Accepted(path=copy, size=size)

    def get(self, path: str, *, most: int = MOST_BYTES) -> bytes:
        key = self._key(checked_path(path))
        with _asking():
            answer = self._store.get().get_object(Bucket=self._settings.bucket, Key=key)
            with answer["Body"] as body:
                told(answer, "ETag")
                size = length(answer)
                refuse_larger(size, most, "The payload")
                document = body.read(size) if size else b""
        # The driver takes what has come when the connection ends for all that there is.
        if len(document) != size:
            raise StoreUnavailable("The object store's answer ended before its length.")
        return document

    def size(self, path: str) -> int:
        key = self._key(checked_path(path))
        with _asking():
            answer = self._store.get().head_object(Bucket=self._settings.bucket, Key=key)
            told(answer, "ETag")
            return length(answer)

    def delete(self, path: str) -> None:
        key = self._key(checked_path(path))
        with _asking():
            self._store.get().delete_object(Bucket=self._settings.bucket, Key=key)

    def _key(self, path: str) -> str:
        return self._prefix + path

    def _presigned(self, path: str, operation: str, signed: dict[str, str]) -> Location:
        with _asking():
            uri = self._signer.get().generate_presigned_url(
                operation,
                Params={"Bucket": self._settings.bucket, "Key": self._key(path), **signed},
                ExpiresIn=max(self._settings.expiry_ms // 1000, 1),
            )
        return Location(uri=uri, path=path)


def client_of(settings: S3Settings, endpoint: str | None) -> S3Client:
    """Make a client, of this process alone."""
    import boto3
    from botocore.config import Config

    return boto3.session.Session().client(
        "s3",
        region_name=settings.region,
        endpoint_url=endpoint,
        aws_access_key_id=settings.access_key,
        aws_secret_access_key=settings.secret_key,
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path"},
            connect_timeout=_CONNECT_TIMEOUT_S,
            read_timeout=_READ_TIMEOUT_S,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            # Stores other than Amazon's do not know the newer checksums, and a presigned PUT
            # must not ask its user for one.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


def signer_of(settings: S3Settings, store: ProcessLocal[S3Client]) -> ProcessLocal[S3Client]:
    """Find what signs URLs for workers: ``store``, unless they reach it at another endpoint, which
    is in the signature.
    """
    if not settings.public_endpoint:
        return store
    return ProcessLocal(lambda: client_of(settings, settings.public_endpoint))


def _asking() -> AbstractContextManager[None]:
    return asking("No such payload.", absent=_ABSENT)
