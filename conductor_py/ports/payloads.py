"""Payloads: large inputs and outputs, kept outside the engine's store.

Bytes travel between a worker and the object store directly, by URLs that this port mints and that
carry all the authority there is: one key, one method, one content type, until an expiry. Keys are
made here and only here; a path that a client sends is looked up, and never becomes a key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO, ClassVar, Protocol, Self
from uuid import uuid4

from conductor_py.errors import ConductorError, NotFound

CONTENT_TYPE = "application/json"
"""What every payload is; an upload must send exactly this content type, it is part of the
signature.
"""

_FORM = r"(?:workflow|task)/(?:input|output)/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json"
_PATH = re.compile(_FORM)
_NAMED = re.compile(_FORM.encode())
_PART = b"put/"


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


class Payloads(Protocol):
    """A store of immutable JSON documents. Every method raises ``StoreUnavailable`` when it is
    away.
    """

    def write_location(self, kind: PayloadKind, requested_path: str | None = None) -> Location:
        """Mint a key and a URL to PUT one document to it, as ``application/json``.

        ``requested_path`` is what Conductor's clients send; it is ignored. Whoever holds the URL
        may overwrite that one document until the URL expires.
        """

    def read_location(self, path: str) -> Location:
        """Mint a URL to GET the document; ``NotFound`` for a path that was never minted here.

        Whether the document exists shows when the URL is used.
        """

    def put(self, kind: PayloadKind, document: bytes) -> str:
        """Store a document under a new path, durable when this returns."""

    def get(self, path: str) -> bytes:
        """Read a document; ``NotFound`` when there is none."""

    def size(self, path: str) -> int:
        """Read the length in bytes, without the document; ``NotFound`` when there is none."""

    def delete(self, path: str) -> None:
        """Remove a document; one that does not exist is removed already."""


class Upload(Protocol):
    """A document on its way in: there, whole, when the ``with`` block ends without an error."""

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

    def open_upload(self, token: str, content_type: str) -> Upload:
        """Serve a PUT; ``UrlRefused`` also for a content type other than the signed one."""

    def open_download(self, token: str) -> BinaryIO:
        """Serve a GET; the caller closes. ``NotFound`` when nothing was ever uploaded there."""


def mint_path(kind: PayloadKind) -> str:
    """Make a new path that nobody can guess."""
    return f"{kind.value}/{uuid4()}.json"


def is_path(path: str) -> bool:
    """Whether ``mint_path`` could have made it."""
    return _PATH.fullmatch(path) is not None


def paths_in(stored: bytes) -> list[str]:
    """Find the paths that a stored document names, anywhere in its text."""
    if _PART not in stored:
        return []
    return [found.decode() for found in _NAMED.findall(stored)]


def checked_path(path: str) -> str:
    """Let through only what ``mint_path`` could have made; anything else is ``NotFound``."""
    if not is_path(path):
        raise NotFound("No such payload: the path is not one that this server gave out.")
    return path
