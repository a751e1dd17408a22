"""Bytes of files in a directory: one folder a file, which goes as a whole.

In a folder are the draft that a URL brought, a folder of parts for each upload in parts, and the
contents. A content is a link to a draft, or made of parts, and is never written again. Several
machines may serve one directory that they share.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, Final, Self
from urllib.parse import quote, urlencode
from uuid import uuid4

from conductor_py.adapters.files.durable import settle, sync_directory
from conductor_py.adapters.files.payloads import stored_secret
from conductor_py.adapters.files.signed_token import Grant, sign, verify
from conductor_py.errors import InvalidInput, NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.model.files import FileRecord
from conductor_py.ports.files import SignedUrl, StoredContent
from conductor_py.ports.payloads import UrlRefused

_DRAFT: Final = "draft"
_SECRET: Final = "signing-secret"  # noqa: S105 - a file name
_CHUNK: Final = 1024 * 1024


class DirectoryContents:
    """``ServedContents`` over the directory ``root``, which is made when it is first used.

    ``base_url`` is the origin of its URLs; empty: they are paths of the server that is asked.
    """

    def __init__(
        self,
        root: Path,
        *,
        now_ms: Callable[[], int],
        base_url: str = "",
        expiry_ms: int = 60_000,
        max_bytes: int = 100 * 1024 * 1024,
        signed: bool = False,
    ) -> None:
        """``max_bytes`` bounds one file. URLs that are ``signed`` are the only ones served, until
        they expire; the secret is a file in ``root``.
        """
        self._root = root
        self._now_ms = now_ms
        self._base_url = base_url.rstrip("/")
        self._expiry_ms = expiry_ms
        self._max_bytes = max_bytes
        self._is_signed = signed
        self._known_secret: bytes | None = None

    @property
    def storage_type(self) -> str:
        return "CONDUCTOR"

    def upload_url(self, record: FileRecord) -> SignedUrl:
        return self._url("PUT", record)

    def download_url(self, record: FileRecord) -> SignedUrl:
        return self._url("GET", record)

    def take(self, file_id: str) -> StoredContent | None:
        folder, name = self._folder(file_id), _new_name()
        with _wrapped():
            try:
                os.link(folder / _DRAFT, folder / name)
            except FileNotFoundError:
                return None
            with (folder / name).open("rb") as file:
                sync_directory(folder)
                size = os.fstat(file.fileno()).st_size
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            return StoredContent(content=name, size=size, hash=digest)

    def drop_draft(self, file_id: str) -> None:
        self.drop(file_id, _DRAFT)

    def begin_parts(self, file_id: str) -> str:
        upload_id = uuid4().hex
        with _wrapped():
            self._make_root()
            self._parts(file_id, upload_id).mkdir(parents=True)
        return upload_id

    def part_url(self, record: FileRecord, part: int) -> SignedUrl:
        return self._url("PUT", record, record.upload_id, part)

    def join_parts(self, file_id: str, upload_id: str, etags: tuple[str, ...]) -> StoredContent:
        name, parts = _new_name(), self._parts(file_id, upload_id)
        with _Received(self._folder(file_id) / name, max_bytes=self._max_bytes) as joined:
            for number, etag in enumerate(etags, start=1):
                if _copied(parts / str(number), joined.write) != etag.strip('"'):
                    raise InvalidInput(f"Part {number} is not there, or its ETag is another one.")
        return StoredContent(content=name, size=joined.size, hash=joined.etag())

    def drop_parts(self, file_id: str, upload_id: str) -> None:
        _remove(self._parts(file_id, upload_id))

    def drop(self, file_id: str, content: str) -> None:
        with _wrapped():
            (self._folder(file_id) / content).unlink(missing_ok=True)

    def drop_all(self, file_id: str) -> None:
        _remove(self._folder(file_id))

    def check_token(
        self, token: str, method: str, file_id: str, *, upload_id: str = "", part: int = 0
    ) -> None:
        if not self._is_signed:
            return
        grant = verify(token, self._secret(), method=method, now_ms=self._now_ms())
        if grant.path != _granted(file_id, upload_id, part):
            raise UrlRefused("The URL is for another file.")

    def open_upload(self, file_id: str, upload_id: str, part: int) -> _Received:
        if not part:
            with _wrapped():
                self._make_root()
                self._folder(file_id).mkdir(parents=True, exist_ok=True)
            return _Received(self._folder(file_id) / _DRAFT, max_bytes=self._max_bytes)
        parts = self._parts(file_id, upload_id)
        with _wrapped():
            others = sum(one.stat().st_size for one in parts.iterdir() if one.name != str(part))
        return _Received(parts / str(part), max_bytes=self._max_bytes - others)

    def open_content(self, file_id: str, content: str) -> BinaryIO:
        with _wrapped():
            return (self._folder(file_id) / content).open("rb")

    def _url(
        self, method: str, record: FileRecord, upload_id: str = "", part: int = 0
    ) -> SignedUrl:
        expires_ms = self._now_ms() + self._expiry_ms
        query: dict[str, str] = {}
        if part:
            query |= {"uploadId": upload_id, "partNumber": str(part)}
        if self._is_signed:
            grant = Grant(
                method=method,
                path=_granted(record.file_id, upload_id, part),
                expires_ms=expires_ms,
                max_bytes=self._max_bytes,
            )
            query["token"] = sign(grant, self._secret())
        path = f"/api/files/content/{quote(record.workflow_id, safe='')}/{record.file_id}"
        url = f"{self._base_url}{path}" + (f"?{urlencode(query)}" if query else "")
        return SignedUrl(url=url, expires_ms=expires_ms)

    def _secret(self) -> bytes:
        if self._known_secret is None:
            with _wrapped():
                self._make_root()
                self._known_secret = stored_secret(self._root / _SECRET)
        return self._known_secret

    def _make_root(self) -> None:
        # By itself: a folder made on the way to another one would be open to others.
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _folder(self, file_id: str) -> Path:
        # Two digits more keep a listing of a million files bearable.
        return self._root / file_id[:2] / file_id

    def _parts(self, file_id: str, upload_id: str) -> Path:
        return self._folder(file_id) / f"parts-{upload_id}"


class _Received:
    """Bytes into a temporary file beside the target; renamed at the end, or removed."""

    def __init__(self, target: Path, *, max_bytes: int) -> None:
        self.size = 0
        self._target = target
        self._max_bytes = max_bytes
        self._hash = hashlib.sha256()
        with _wrapped():
            self._file = NamedTemporaryFile(  # noqa: SIM115 - closed by __exit__
                dir=target.parent, prefix=".upload-", delete=False
            )

    def __enter__(self) -> Self:
        return self

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > self._max_bytes:
            raise PayloadTooLarge("The file is larger than this server takes; nothing was stored.")
        self._hash.update(chunk)
        with _wrapped():
            self._file.write(chunk)

    def etag(self) -> str:
        return self._hash.hexdigest()

    def __exit__(self, *failure: object) -> None:
        with _wrapped():
            settle(self._file, self._target, keep=failure[0] is None)


def _granted(file_id: str, upload_id: str, part: int) -> str:
    return f"{file_id}/{upload_id}/{part}" if part else file_id


def _new_name() -> str:
    return f"content-{uuid4().hex}"


def _copied(source: Path, write: Callable[[bytes], None]) -> str:
    """Copy a file; its hash, or nothing when there is none."""
    digest = hashlib.sha256()
    with suppress(FileNotFoundError), source.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            write(chunk)
        return digest.hexdigest()
    return ""


def _remove(folder: Path) -> None:
    with _wrapped(), suppress(FileNotFoundError):
        shutil.rmtree(folder)


@contextmanager
def _wrapped() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound("There are no such bytes: the file or its upload is gone.") from error
    except OSError as error:
        raise StoreUnavailable(f"The directory of files failed: {error.strerror}") from error
