"""Payloads in memory: the reference. URLs are random tokens, looked up; nothing outlives the
process.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from secrets import token_urlsafe
from typing import BinaryIO, Self

from conductor_py.errors import Conflict, NotFound, PayloadTooLarge
from conductor_py.ports.payloads import (
    MOST_BYTES,
    SENT_ALREADY,
    Accepted,
    Location,
    PayloadKind,
    UrlRefused,
    checked_path,
    mint_own_path,
    mint_path,
    refuse_larger,
)
from conductor_py.records import dataclass

_EXPIRY_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grant:
    method: str
    path: str
    expires_ms: int


class MemoryPayloads:
    """``Payloads`` and ``ServedPayloads`` in two dictionaries."""

    def __init__(self, *, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._documents: dict[str, bytes] = {}
        self._grants: dict[str, _Grant] = {}

    def write_location(self, kind: PayloadKind, requested_path: str | None = None) -> Location:
        return self._location("PUT", mint_path(kind))

    def read_location(self, path: str) -> Location:
        return self._location("GET", checked_path(path))

    def put(self, kind: PayloadKind, document: bytes) -> str:
        path = mint_own_path(kind)
        self._documents[path] = document
        return path

    def accept(self, path: str, most: int, what: str) -> Accepted:
        size = self.size(path)
        refuse_larger(size, most, what)
        return Accepted(path=path, size=size)

    def get(self, path: str, *, most: int = MOST_BYTES) -> bytes:
        document = self._found(path)
        refuse_larger(len(document), most, "The payload")
        return document

    def size(self, path: str) -> int:
        return len(self._found(path))

    def delete(self, path: str) -> None:
        self._documents.pop(checked_path(path), None)

    def open_upload(self, token: str) -> _MemoryUpload:
        grant = self._granted(token, "PUT")
        return _MemoryUpload(self._documents, grant.path)

    def open_download(self, token: str) -> BinaryIO:
        return io.BytesIO(self._found(self._granted(token, "GET").path))

    def _found(self, path: str) -> bytes:
        document = self._documents.get(checked_path(path))
        if document is None:
            raise NotFound("No such payload.")
        return document

    def _location(self, method: str, path: str) -> Location:
        token, now_ms = token_urlsafe(24), self._now_ms()
        grant = _Grant(method=method, path=path, expires_ms=now_ms + _EXPIRY_MS)
        with self._lock:
            expired = [key for key, held in self._grants.items() if held.expires_ms <= now_ms]
            for key in expired:
                del self._grants[key]
            self._grants[token] = grant
        return Location(uri=f"memory://payloads/{token}", path=path)

    def _granted(self, token: str, method: str) -> _Grant:
        with self._lock:
            grant = self._grants.get(token)
        if grant is None or grant.method != method or self._now_ms() >= grant.expires_ms:
            raise UrlRefused
        return grant


class _MemoryUpload:
    """Bytes that become a document when the block ends well."""

    def __init__(self, documents: dict[str, bytes], path: str) -> None:
        self._documents = documents
        self._path = path
        self._received = bytearray()

    def __enter__(self) -> Self:
        return self

    def write(self, chunk: bytes) -> None:
        if len(self._received) + len(chunk) > MOST_BYTES:
            raise PayloadTooLarge("The upload is larger than its URL allows; nothing was stored.")
        self._received += chunk

    def __exit__(self, *failure: object) -> None:
        if failure[0] is not None:
            return
        sent = bytes(self._received)
        if self._documents.setdefault(self._path, sent) != sent:
            raise Conflict(SENT_ALREADY)
