"""Objects of a bucket of Amazon S3 or of a store that speaks its protocol.

Nothing is ever renamed: that would be a copy. A name is taken with a condition
(``If-None-Match: *``), which the store must know; and what should stay invisible is an upload in
parts that is not completed. ``s3_storage`` settings: ``endpoint``, ``region``, ``access_key``,
``secret_key``; without keys the client's own chain (environment, profile, role) finds them.
Without the others ``AWS_ENDPOINT_URL`` and ``AWS_REGION`` of the driver's environment count.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from conductor_py.errors import ConfigurationError, MissingExtra
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.storage import AlreadyThere, StoreAway

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_ATTEMPTS: Final = 8
_PART_BYTES: Final = 16 << 20
_BUFFER_BYTES: Final = 1 << 20
_DELETED_AT_ONCE: Final = 1000
_ABSENT: Final = frozenset({"NoSuchKey", "NoSuchUpload", "404", "NotFound"})
_TAKEN: Final = frozenset({"PreconditionFailed", "412"})
_RACED: Final = frozenset({"ConditionalRequestConflict", "409"})


class UploadLost(Exception):
    """An upload that should be completed is gone, and its object is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An object as it was listed; ``etag`` changes with its content."""

    name: str
    size: int
    etag: str
    modified: float


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Storage:
    """``Storage`` below a prefix of a bucket; travels to tasks."""

    bucket: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)

    def create(self, name: str, content: bytes) -> None:
        with _answered(self.bucket, name):
            for left in reversed(range(_ATTEMPTS)):
                try:
                    self._client.put_object(
                        Bucket=self.bucket, Key=self._key(name), Body=content, IfNoneMatch="*"
                    )
                    return
                except Exception as error:
                    if _code(error) in _TAKEN:
                        raise AlreadyThere(name) from error
                    if _code(error) not in _RACED or not left:
                        raise

    def read(self, name: str) -> bytes:
        with _answered(self.bucket, name):
            answer = self._client.get_object(Bucket=self.bucket, Key=self._key(name))
            return answer["Body"].read()

    def names(self, prefix: str) -> tuple[str, ...]:
        return tuple(each.name for each in self.listed(_folder(prefix)))

    def beginning(self, start: str) -> tuple[str, ...]:
        return tuple(each.name for each in self.listed(start))

    def delete(self, name: str) -> None:
        with _answered(self.bucket, name):
            self._client.delete_object(Bucket=self.bucket, Key=self._key(name))
        self.delete_objects(self.names(name))

    def delete_objects(self, names: Sequence[str]) -> None:
        """Delete objects of these names; absent is deleted."""
        for first in range(0, len(names), _DELETED_AT_ONCE):
            some = names[first : first + _DELETED_AT_ONCE]
            with _answered(self.bucket, some[0]):
                answer = self._client.delete_objects(
                    Bucket=self.bucket,
                    Delete={"Objects": [{"Key": self._key(each)} for each in some], "Quiet": True},
                )
            for error in answer.get("Errors", ()):
                if error.get("Code") not in _ABSENT:
                    raise StoreAway(
                        f"The bucket {self.bucket} refused to delete {error.get('Key')}: "
                        f"{error.get('Code')}."
                    )

    def listed(self, prefix: str) -> Iterator[Listed]:
        """Return the objects whose names begin so, in order of their names."""
        with _answered(self.bucket, prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=self._key(prefix)
            )
            found = [each for page in pages for each in page.get("Contents", ())]
        for each in sorted(found, key=lambda each: each["Key"]):
            if each["Key"].endswith("/") and not each["Size"]:
                continue  # a console's mark of a folder
            yield Listed(
                name=self._name(each["Key"]),
                size=each["Size"],
                etag=each["ETag"],
                modified=each["LastModified"].timestamp(),
            )

    def part(self, name: str, start: int, length: int, etag: str | None = None) -> bytes:
        """Return bytes of an object. Raises ``FileNotFoundError`` when it is gone, or has not that
        etag any more.
        """
        condition: dict[str, Any] = {} if etag is None else {"IfMatch": etag}
        with _answered(self.bucket, name):
            try:
                answer = self._client.get_object(
                    Bucket=self.bucket,
                    Key=self._key(name),
                    Range=f"bytes={start}-{start + length - 1}",
                    **condition,
                )
                return answer["Body"].read()
            except Exception as error:
                if _code(error) in _TAKEN:
                    raise FileNotFoundError(name) from error
                raise

    def open(self, name: str, *, size: int, etag: str) -> BinaryIO:
        """Return that version of an object as a file that can be sought in."""
        raw = _RangedFile(self, name, size, etag)
        return io.BufferedReader(raw, _BUFFER_BYTES)

    def begin(self, name: str, content: bytes) -> Mapping[str, Any]:
        """Upload an object without making it visible; return what ``complete`` wants, as JSON."""
        place = {"Bucket": self.bucket, "Key": self._key(name)}
        with _answered(self.bucket, name):
            upload = self._client.create_multipart_upload(**place)["UploadId"]  # type: ignore[arg-type]
            etags = []
            for number, first in enumerate(range(0, max(1, len(content)), _PART_BYTES), start=1):
                sent = self._client.upload_part(
                    **place,  # type: ignore[arg-type]
                    UploadId=upload,
                    PartNumber=number,
                    Body=content[first : first + _PART_BYTES],
                )
                etags.append(sent["ETag"])
        return {"name": name, "upload": upload, "parts": etags, "bytes": len(content)}

    def complete(self, begun: Mapping[str, Any]) -> None:
        """Make an upload visible; visible already is done. Raises ``UploadLost``."""
        name = str(begun["name"])
        parts = [
            {"ETag": etag, "PartNumber": at} for at, etag in enumerate(begun["parts"], start=1)
        ]
        try:
            with _answered(self.bucket, name):
                self._client.complete_multipart_upload(
                    Bucket=self.bucket,
                    Key=self._key(name),
                    UploadId=begun["upload"],
                    MultipartUpload={"Parts": parts},  # type: ignore[typeddict-item]
                )
        except FileNotFoundError as error:
            if self._size(name) != begun["bytes"]:
                raise UploadLost(
                    f"The upload of {name} to {self.bucket} is gone, and there is no such object."
                ) from error

    def begun(self, prefix: str) -> tuple[tuple[str, str], ...]:
        """Return names and ids of uploads that are not completed."""
        with _answered(self.bucket, prefix):
            pages = self._client.get_paginator("list_multipart_uploads").paginate(
                Bucket=self.bucket, Prefix=self._key(prefix)
            )
            found = [each for page in pages for each in page.get("Uploads", ())]
        return tuple((self._name(each["Key"]), each["UploadId"]) for each in found)

    def abort(self, name: str, upload: str) -> None:
        """Drop an upload; gone is dropped."""
        try:
            with _answered(self.bucket, name):
                self._client.abort_multipart_upload(
                    Bucket=self.bucket, Key=self._key(name), UploadId=upload
                )
        except FileNotFoundError:
            return

    @property
    def _client(self) -> S3Client:
        return _client(self)

    def _size(self, name: str) -> int | None:
        try:
            with _answered(self.bucket, name):
                head = self._client.head_object(Bucket=self.bucket, Key=self._key(name))
        except FileNotFoundError:
            return None
        return head["ContentLength"]

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def _name(self, key: str) -> str:
        return key[len(self.prefix) + 1 :] if self.prefix else key


class _RangedFile(io.RawIOBase):
    """Reads by ranges. Small reads are the buffer's business."""

    def __init__(self, storage: S3Storage, name: str, size: int, etag: str) -> None:
        self._storage = storage
        self._object = name
        self._size = size
        self._etag = etag
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any writable buffer
        wanted = min(len(buffer), self._size - self._at)
        if wanted <= 0:
            return 0
        content = self._storage.part(self._object, self._at, wanted, self._etag)
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


def s3_storage(uri: str, settings: Mapping[str, Any]) -> S3Storage:
    """Read ``s3://bucket/prefix``; ``settings`` as in the module, secrets resolved."""
    bucket, prefix = bucket_and_key(uri)
    return S3Storage(
        bucket=bucket,
        prefix=prefix.strip("/"),
        # Tasks may run where the environment says nothing.
        endpoint=settings.get("endpoint") or _from_environment("ENDPOINT_URL_S3", "ENDPOINT_URL"),
        region=settings.get("region") or _from_environment("REGION", "DEFAULT_REGION"),
        access_key=settings.get("access_key"),
        secret_key=settings.get("secret_key"),
    )


def bucket_and_key(uri: str) -> tuple[str, str]:
    """Take ``s3://bucket/key`` apart; a key may have any character.

    Raises:
        ConfigurationError: it names no bucket, or holds what may be a secret.
    """
    bucket, _, key = uri.partition("://")[2].partition("/")
    if not bucket:
        raise ConfigurationError(f"{uri} names no bucket.")
    if "@" in bucket or ":" in bucket:
        raise ConfigurationError("An address of a bucket holds no user and no port.")
    return bucket, key


def _from_environment(*names: str) -> str | None:
    return next((os.environ[f"AWS_{name}"] for name in names if f"AWS_{name}" in os.environ), None)


@cache
def _client(storage: S3Storage) -> S3Client:
    """Return a client: one for each place and process, because the first costs a quarter second."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise MissingExtra("S3 needs boto3", extra="s3") from error
    return boto3.client(
        "s3",
        endpoint_url=storage.endpoint,
        region_name=storage.region,
        aws_access_key_id=storage.access_key,
        aws_secret_access_key=storage.secret_key,
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path" if storage.endpoint else "auto"},
            # Refusals for load come in storms: wait longer each time.
            retries={"max_attempts": _ATTEMPTS, "mode": "standard"},
            connect_timeout=10,
            read_timeout=60,
        ),
    )


@contextmanager
def _answered(bucket: str, name: str) -> Iterator[None]:
    """Turn the client's refusals into ``FileNotFoundError`` and ``StoreAway``."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        if _code(error) in _ABSENT:
            raise FileNotFoundError(f"s3://{bucket}/{name}") from error
        raise StoreAway(f"The bucket {bucket} refused {name}: {_code(error)}.") from error
    except BotoCoreError as error:
        raise StoreAway(f"The bucket {bucket} does not answer for {name}: {error}.") from error


def _code(error: Exception) -> str:
    response: Mapping[str, Any] = getattr(error, "response", {})
    return str(response.get("Error", {}).get("Code", ""))


def _folder(prefix: str) -> str:
    return f"{prefix.rstrip('/')}/" if prefix else ""
