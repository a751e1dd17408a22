"""Files of executions: their records, and the storage of their bytes.

A record says who owns a file and how far it has come; it changes only from what the caller saw. The
bytes travel by URL. What a URL brings is a draft until it is taken; what was taken never changes
again, whatever still comes by the URL.
"""

from __future__ import annotations

from enum import Enum
from typing import BinaryIO, Protocol

from conductor_py.model.files import FileRecord
from conductor_py.ports.payloads import Upload
from conductor_py.records import dataclass


class Changed(Enum):
    """How a change of a record went."""

    OK = "OK"
    OTHER = "OTHER"
    """The record is not what the caller saw."""
    FULL = "FULL"
    """The execution has as many files as it may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange:
    """Replace ``before`` by ``after``; ``None``: there is no record. ``owner`` is the execution.

    The record is to be looked at again at ``check_ms``.
    """

    file_id: str
    owner: str
    before: bytes | None
    after: bytes | None
    check_ms: int = 0


class FileRecords(Protocol):
    """Records (opaque bytes) by file id; one store for all partitions. Every method raises
    ``StoreUnavailable`` when it is away.
    """

    def read(self, file_id: str) -> bytes | None:
        """Read one."""

    def change(self, change: RecordChange, *, most: int) -> Changed:
        """Change one, in one step; an execution that has ``most`` files gets no further one."""

    def put_off(self, file_id: str, check_ms: int) -> None:
        """Look at one again at ``check_ms``, whatever its record is; without one it is not looked
        at again.
        """

    def let_go(self, owner: str, now_ms: int, forget_ms: int) -> None:
        """Note that an execution is gone for good; one that has no files is not noted. What was
        noted of any until ``forget_ms`` is forgotten, some of it at a time.
        """

    def noted(self, owner: str) -> int:
        """Tell what is noted of an execution, as of the holder of a payload: ``PRESENT``, the
        epoch ms at which it was gone for good, or minus the epoch ms at which it was first missed.
        It goes with the last file of the execution.
        """

    def note(self, owner: str, before: int, after: int) -> bool:
        """Note something else; whether it still was ``before``, and the execution has files."""

    def due(self, now_ms: int, limit: int) -> tuple[str, ...]:
        """List files that are to be looked at, the longest overdue first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedUrl:
    """Where to send or fetch bytes until an instant; one that begins with ``/`` is a path of this
    server.
    """

    url: str
    expires_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    """Bytes that never change again: their name in the storage, length and hash."""

    content: str
    size: int
    hash: str


class FileContents(Protocol):
    """A storage of bytes. Every method raises ``StoreUnavailable`` when it is away."""

    @property
    def storage_type(self) -> str:
        """What clients choose their way of transfer by."""

    def upload_url(self, record: FileRecord) -> SignedUrl:
        """Make a URL to PUT all bytes to."""

    def download_url(self, record: FileRecord) -> SignedUrl:
        """Make a URL to GET the bytes from."""

    def take(self, file_id: str) -> StoredContent | None:
        """Keep what the URL brought; ``None`` when it brought nothing."""

    def drop_draft(self, file_id: str) -> None:
        """Remove what the URL brought; nothing is removed already."""

    def begin_parts(self, file_id: str) -> str:
        """Begin an upload in parts, and name it."""

    def part_url(self, record: FileRecord, part: int) -> SignedUrl:
        """Make a URL to PUT one part to, of the upload that the record names; the answer's
        ``ETag`` is for ``join_parts``.
        """

    def join_parts(self, file_id: str, upload_id: str, etags: tuple[str, ...]) -> StoredContent:
        """Make one content of the parts 1, 2, ... with these tags; ``InvalidInput`` when they are
        not what was sent, ``PayloadTooLarge``.
        """

    def drop_parts(self, file_id: str, upload_id: str) -> None:
        """End an upload in parts; one that does not exist is ended already."""

    def drop(self, file_id: str, content: str) -> None:
        """Remove one content."""

    def drop_all(self, file_id: str) -> None:
        """Remove whatever there is of a file: contents, drafts, parts."""


class PartUpload(Upload, Protocol):
    """An upload that knows the tag of what it was given."""

    def etag(self) -> str:
        """Tell the tag, without quotes."""


class ServedContents(FileContents, Protocol):
    """A storage whose URLs this server itself serves."""

    def check_token(
        self, token: str, method: str, file_id: str, *, upload_id: str = "", part: int = 0
    ) -> None:
        """Raise ``UrlRefused`` unless this is the token of a URL for just that, not yet expired.

        Where URLs are not signed, any token will do.
        """

    def open_upload(self, file_id: str, upload_id: str, part: int) -> PartUpload:
        """Take the bytes of a PUT: all of them (``part`` 0), or a part; ``NotFound`` for an upload
        in parts that has ended.
        """

    def open_content(self, file_id: str, content: str) -> BinaryIO:
        """Read a content; the caller closes. ``NotFound`` when it is gone."""
