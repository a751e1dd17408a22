"""Files of executions, as the HTTP front knows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, Protocol

from conductor_py.model.files import FileRequest
from conductor_py.model.json import JsonObject


class OpenedFile(Protocol):
    """The bytes of a file, to be closed by the caller."""

    @property
    def stream(self) -> BinaryIO:
        """The bytes."""

    @property
    def size(self) -> int:
        """How many bytes."""

    @property
    def content_type(self) -> str:
        """Their content type."""

    @property
    def file_name(self) -> str:
        """The name of the file, or its id."""


class Files(Protocol):
    """Files. Every verb but ``create`` raises ``NotFound`` and ``Forbidden``."""

    def create(self, request: FileRequest, /) -> JsonObject:
        """Record one that is about to be uploaded; ``NotFound``, ``LimitExceeded``."""

    def upload_url(self, owner: str, file_id: str, /) -> JsonObject:
        """Say anew where to send it; ``Conflict``."""

    def complete(self, owner: str, file_id: str, /) -> JsonObject:
        """Take what was sent; ``Conflict``."""

    def begin_parts(self, owner: str, file_id: str, /) -> JsonObject:
        """Begin an upload in parts; ``Conflict``."""

    def part_url(self, owner: str, file_id: str, upload_id: str, part: int, /) -> JsonObject:
        """Say where to send one part; ``Conflict``."""

    def complete_parts(
        self, owner: str, file_id: str, upload_id: str, etags: tuple[str, ...], /
    ) -> JsonObject:
        """Make a file of its parts; ``Conflict``."""

    def drop_parts(self, owner: str, file_id: str, upload_id: str, /) -> None:
        """End an upload in parts; ``Conflict``."""

    def receive(
        self,
        owner: str,
        file_id: str,
        chunks: Iterable[bytes],
        /,
        *,
        upload_id: str,
        part: int,
        token: str,
    ) -> str:
        """Take bytes and tell their tag; ``Conflict``, ``PayloadTooLarge``, ``UrlRefused``."""

    def download_url(self, reader: str, file_id: str, /) -> JsonObject:
        """Say where to fetch it; ``InvalidInput``."""

    def open(self, reader: str, file_id: str, token: str, /) -> OpenedFile:
        """Read the bytes; ``InvalidInput``, ``UrlRefused``."""

    def document(self, reader: str, file_id: str, /) -> JsonObject:
        """Read what is known of it."""
