"""Payloads: large inputs and outputs, kept outside the engine's store.

Bytes travel between a worker and the object store directly, by URLs that this port mints and that
carry all the authority there is: one key, one method, until an expiry. Keys are made here and only
here; a path that a client sends is looked up, and never becomes a key.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import BinaryIO, ClassVar, Protocol, Self
from uuid import uuid4

from conductor_py.errors import ConductorError, NotFound, PayloadTooLarge
from conductor_py.records import dataclass

CONTENT_TYPE = "application/json"
"""What every payload is, and is served as, whatever its sender calls it: Netflix's Java client
uploads with the content type of a form.
"""

MOST_BYTES = 64 * 1024 * 1024
"""The most that one upload may bring, and that is read of one document; the engine's own limits are
lower.
"""

SENT_ALREADY = (
    "There is a document under this URL already, and it stays; ask for another URL to send another."
)
_FORM = r"(?:workflow|task)/(?:input|output)/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json"
_PATH = re.compile(_FORM)
_NAMED = re.compile(_FORM.encode())
_PART = b"put/"
# Where the version of a UUID stands: 4 in the names of what others send, 8 in those of our own.
_VERSION_AT = 14
_OWN = "8"


class PayloadKind(Enum):
    """Whose payload it is; the value is the folder of its keys, as Conductor names them."""

    WORKFLOW_INPUT = "workflow/input"
    WORKFLOW_OUTPUT = "workflow/output"
    TASK_INPUT = "task/input"
    TASK_OUTPUT = "task/output"


class UrlRefused(ConductorError):
    """The signed URL is forged, expired or meant for something else."""

    code: ClassVar[str] = "URL_REFUSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a payload is: ``uri`` to send or fetch the bytes (secret, short-lived), ``path`` to
    name it by.
    """

    uri: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A document that stays as it is: its path, and its length in bytes."""

    path: str
    size: int


class Payloads(Protocol):
    """A store of immutable JSON documents. Every method raises ``StoreUnavailable`` when it is
    away.
    """

    def write_location(self, kind: PayloadKind, requested_path: str | None = None) -> Location:
        """Mint a key and a URL to PUT one document to it, as ``application/json``.

        ``requested_path`` is what Conductor's clients send; it is ignored. Whoever holds the URL
        may send that one document until the URL expires; whether they can send another in its
        place differs, so what is sent is not relied on until ``accept``.
        """

    def accept(self, path: str, most: int, what: str) -> Accepted:
        """Take what somebody has sent: the same document where no URL changes it any more, which
        may be a copy under another path.

        ``NotFound`` when there is none, ``PayloadTooLarge``, about ``what``, above ``most`` bytes.
        """

    def read_location(self, path: str) -> Location:
        """Mint a URL to GET the document; ``NotFound`` for a path that was never minted here.

        Whether the document exists shows when the URL is used.
        """

    def put(self, kind: PayloadKind, document: bytes) -> str:
        """Store a document under a new path, durable when this returns. No URL to send anything
        there is ever made.
        """

    def get(self, path: str, *, most: int = MOST_BYTES) -> bytes:
        """Read a document; ``NotFound`` when there is none, ``PayloadTooLarge`` when it has more
        than ``most`` bytes, of which no more are held.
        """

    def size(self, path: str) -> int:
        """Read the length in bytes, without the document; ``NotFound`` when there is none."""

    def delete(self, path: str) -> None:
        """Remove a document; one that does not exist is removed already."""


class Upload(Protocol):
    """A document on its way in: there, whole, when the ``with`` block ends without an error.

    Sent again it changes nothing; another one in its place is a ``Conflict``.
    """

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(self, *failure: object) -> None:
        """Store durably, or forget everything when the block failed."""

    def write(self, chunk: bytes) -> None:
        """Take the next bytes; ``PayloadTooLarge`` beyond what the URL allows."""


class ServedPayloads(Protocol):
    """The other end of the URLs, for stores whose URLs this server itself has to serve.

    A URL is ``<base>/<token>``. Both methods raise ``UrlRefused`` for a token that is forged,
    expired or of the other method; what is allowed stands in the token, nothing else of the
    request is believed.
    """

    def open_upload(self, token: str) -> Upload:
        """Serve a PUT."""

    def open_download(self, token: str) -> BinaryIO:
        """Serve a GET; the caller closes. ``NotFound`` when nothing was ever uploaded there."""


def mint_path(kind: PayloadKind) -> str:
    """Make a new path, for what others send, that nobody can guess."""
    return f"{kind.value}/{uuid4()}.json"


def mint_own_path(kind: PayloadKind) -> str:
    """Make a new path for what this server stores; it shows that no URL to send was made for it."""
    name = str(uuid4())
    return f"{kind.value}/{name[:_VERSION_AT]}{_OWN}{name[_VERSION_AT + 1 :]}.json"


def is_own(path: str) -> bool:
    """Whether a path is one of ``mint_own_path``."""
    return path.rsplit("/", 1)[-1][_VERSION_AT : _VERSION_AT + 1] == _OWN


def kind_of(path: str) -> PayloadKind:
    """Tell the kind of a path that was minted here."""
    return PayloadKind(path.rsplit("/", 1)[0])


def refuse_larger(size: int, most: int, what: str) -> None:
    """Raise ``PayloadTooLarge``, about ``what``, for a size (in bytes) above the most."""
    if size > most:
        raise PayloadTooLarge(f"{what} of {size} bytes is larger than the limit of {most} bytes")


def is_path(path: str) -> bool:
    """Whether ``mint_path`` could have made it."""
    return _PATH.fullmatch(path) is not None


def paths_in(stored: bytes) -> list[str]:
    """Find the paths that a stored document names, anywhere in its text."""
    if _PART not in stored:  # most name none
        return []
    return [found.decode() for found in _NAMED.findall(stored)]


def checked_path(path: str) -> str:
    """Let through only what ``mint_path`` could have made; anything else is ``NotFound``."""
    if not is_path(path):
        raise NotFound("No such payload: the path is not one that this server gave out.")
    return path
