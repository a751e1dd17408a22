"""Bytes of files in a bucket: the keys of a file begin with its id.

What a URL brings is a draft, which is copied by the bucket itself when it is taken: the URL may
still be used until it expires, the copy does not change. What was sent in parts is complete when
the parts are joined, and no URL writes to it any more. Each upload in parts has a key of its own,
which its id begins with: of two that are joined one may be removed, and never the other's bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final
from urllib.parse import quote
from uuid import uuid4

from conductor_py.adapters.process_local import ProcessLocal
from conductor_py.adapters.s3.answers import asking, length, told
from conductor_py.adapters.s3.payloads import S3Settings, client_of, signer_of
from conductor_py.errors import NotFound
from conductor_py.model.files import FileRecord
from conductor_py.ports.files import SignedUrl, StoredContent

_DRAFT: Final = "draft"
_JOINED: Final = "joined"
_UPLOAD: Final = re.compile(rf"({_JOINED}-[0-9a-f]{{32}})\.(.+)")
_ABSENT: Final = frozenset({"NoSuchKey", "NoSuchUpload", "404", "NotFound"})
_WRONG_PARTS: Final = frozenset(
    {"InvalidPart", "InvalidPartOrder", "EntityTooSmall", "MalformedXML"}
)


class S3Contents:
    """``FileContents`` over one bucket, which must exist."""

    def __init__(self, settings: S3Settings, *, now_ms: Callable[[], int]) -> None:
        """Nothing is sent yet."""
        self._settings = settings
        self._now_ms = now_ms
        self._bucket = settings.bucket
        self._prefix = f"{settings.prefix.strip('/')}/" if settings.prefix.strip("/") else ""
        self._store = ProcessLocal(lambda: client_of(settings, settings.endpoint))
        self._signer = signer_of(settings, self._store)

    @property
    def storage_type(self) -> str:
        return "S3"

    def upload_url(self, record: FileRecord) -> SignedUrl:
        return self._presigned("put_object", self._key(record.file_id, _DRAFT))

    def download_url(self, record: FileRecord) -> SignedUrl:
        key = self._key(record.file_id, record.content)
        name = quote(record.file_name or record.file_id, safe="")
        shown = {
            "ResponseContentType": record.content_type,
            "ResponseContentDisposition": f"attachment; filename*=UTF-8''{name}",
        }
        return self._presigned("get_object", key, shown)

    def take(self, file_id: str) -> StoredContent | None:
        name = uuid4().hex
        try:
            with _asking():
                self._store.get().copy(
                    {"Bucket": self._bucket, "Key": self._key(file_id, _DRAFT)},
                    self._bucket,
                    self._key(file_id, name),
                )
            return self._stored(file_id, name)
        except NotFound:
            return None

    def drop_draft(self, file_id: str) -> None:
        self.drop(file_id, _DRAFT)

    def begin_parts(self, file_id: str) -> str:
        name = f"{_JOINED}-{uuid4().hex}"
        with _asking():
            begun = self._store.get().create_multipart_upload(
                Bucket=self._bucket, Key=self._key(file_id, name)
            )
            return f"{name}.{told(begun, 'UploadId')}"

    def part_url(self, record: FileRecord, part: int) -> SignedUrl:
        name, begun = _upload_of(record.upload_id)
        more: dict[str, str | int] = {"UploadId": begun, "PartNumber": part}
        return self._presigned("upload_part", self._key(record.file_id, name), more)

    def join_parts(self, file_id: str, upload_id: str, etags: tuple[str, ...]) -> StoredContent:
        name, begun = _upload_of(upload_id)
        parts = [{"ETag": etag, "PartNumber": at} for at, etag in enumerate(etags, start=1)]
        try:
            with _asking():
                self._store.get().complete_multipart_upload(
                    Bucket=self._bucket,
                    Key=self._key(file_id, name),
                    UploadId=begun,
                    MultipartUpload={"Parts": parts},  # type: ignore[typeddict-item]
                )
        except NotFound:
            # Joined already, and the record does not know: the caller did not get to hear of it.
            return self._stored(file_id, name)
        return self._stored(file_id, name)

    def drop_parts(self, file_id: str, upload_id: str) -> None:
        name, begun = _upload_of(upload_id)
        self._abort(self._key(file_id, name), begun)

    def drop(self, file_id: str, content: str) -> None:
        with _asking():
            self._store.get().delete_object(Bucket=self._bucket, Key=self._key(file_id, content))

    def drop_all(self, file_id: str) -> None:
        store, prefix = self._store.get(), self._key(file_id, "")
        with _asking():
            listed = store.list_multipart_uploads(Bucket=self._bucket, Prefix=prefix)
            uploads = [(each["Key"], each["UploadId"]) for each in listed.get("Uploads", ())]
        for key, begun in uploads:
            self._abort(key, begun)
        with _asking():
            found = store.list_objects_v2(Bucket=self._bucket, Prefix=prefix)
            for each in found.get("Contents", ()):
                store.delete_object(Bucket=self._bucket, Key=each["Key"])

    def _abort(self, key: str, begun: str) -> None:
        try:
            with _asking():
                self._store.get().abort_multipart_upload(
                    Bucket=self._bucket, Key=key, UploadId=begun
                )
        except NotFound:
            return

    def _stored(self, file_id: str, content: str) -> StoredContent:
        with _asking():
            found = self._store.get().head_object(
                Bucket=self._bucket, Key=self._key(file_id, content)
            )
        return StoredContent(
            content=content, size=length(found), hash=told(found, "ETag").strip('"')
        )

    def _key(self, file_id: str, content: str) -> str:
        return f"{self._prefix}{file_id}/{content}"

    def _presigned(
        self, operation: str, key: str, more: Mapping[str, str | int] | None = None
    ) -> SignedUrl:
        expires_ms = self._now_ms() + self._settings.expiry_ms
        with _asking():
            url = self._signer.get().generate_presigned_url(
                operation,
                Params={"Bucket": self._bucket, "Key": key, **(more or {})},
                ExpiresIn=max(self._settings.expiry_ms // 1000, 1),
            )
        return SignedUrl(url=url, expires_ms=expires_ms)


def _upload_of(upload_id: str) -> tuple[str, str]:
    """The content that an upload is joined to, and its id in the bucket: an upload that an earlier
    version began has the bucket's id alone, and the one key that all uploads of a file had.
    """
    found = _UPLOAD.fullmatch(upload_id)
    return (found[1], found[2]) if found else (_JOINED, upload_id)


def _asking() -> AbstractContextManager[None]:
    return asking(
        "There are no such bytes: the file or its upload is gone.",
        absent=_ABSENT,
        refused=_WRONG_PARTS,
    )
