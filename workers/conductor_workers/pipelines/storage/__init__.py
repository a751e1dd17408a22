"""Where a job keeps what is too large for its record: named objects that never change.

Names are relative POSIX paths. A reference to an object is ``name#hash``: what was damaged or
replaced is noticed, and never read as something else.
"""

from __future__ import annotations

import hashlib
from typing import Protocol
from urllib.parse import urlsplit

from conductor_py.errors import ConfigurationError


class AlreadyThere(Exception):
    """An object of that name exists; it was left as it is."""


class ObjectLost(Exception):
    """A reference names an object that is gone, or is not what it was."""


class StoreAway(OSError):
    """The store refused or did not answer; the message is one sentence."""


class Storage(Protocol):
    """A flat place for whole objects."""

    def create(self, name: str, content: bytes) -> None:
        """Keep a new object, whole and durably. Raises ``AlreadyThere``."""

    def read(self, name: str) -> bytes:
        """Return an object's content. Raises ``FileNotFoundError``."""

    def names(self, prefix: str) -> tuple[str, ...]:
        """Return the names below a directory, in order; none when there is no such directory."""

    def beginning(self, start: str) -> tuple[str, ...]:
        """Return the names that begin so, in order."""

    def delete(self, name: str) -> None:
        """Delete an object, or a directory with all below it; absent is deleted."""


def open_storage(uri: str) -> Storage:
    """Return the storage at that address; ``ConfigurationError`` for an unknown scheme."""
    scheme = urlsplit(uri).scheme
    if scheme in ("", "file"):
        from conductor_workers.pipelines.storage.local import LocalStorage

        return LocalStorage.at(uri)
    if scheme in ("s3", "s3a"):
        from conductor_workers.pipelines.storage.s3 import s3_storage

        return s3_storage(uri, {})
    raise ConfigurationError(f"{uri}: objects are kept on local disks and in S3 only.")


def keep(storage: Storage, name: str, content: bytes) -> str:
    """Create an object and return its reference; the very same one may be there already.

    Raises:
        AlreadyThere: one with other content is.
    """
    reference = f"{name}#{digest(content)}"
    try:
        storage.create(name, content)
    except AlreadyThere:
        if digest(storage.read(name)) != digest(content):
            raise
    return reference


def fetch(storage: Storage, reference: str) -> bytes:
    """Return what a reference names.

    Raises:
        ObjectLost: it is gone or changed.
    """
    name, _, expected = reference.rpartition("#")
    try:
        content = storage.read(name)
    except FileNotFoundError as error:
        raise ObjectLost(f"The object {name} of the work directory is gone.") from error
    if digest(content) != expected:
        raise ObjectLost(f"The object {name} of the work directory is not what was written there.")
    return content


def digest(content: bytes) -> str:
    """Return the hash that references carry."""
    return hashlib.sha256(content).hexdigest()[:32]
