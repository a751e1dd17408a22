"""Payloads in a directory: one file a document, written beside its place and linked into it, once.

Any number of processes of one machine may share the directory. A reader sees a whole document or
none, and always the same; a crash leaves at most a temporary file. A path becomes a file name only
after ``checked_path``, so nothing outside the directory can be reached.

A directory without its secret is not the directory: a mount is gone, and what is below it is empty.
Nothing in it counts as missing then, and nothing is written there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, Self

from conductor_py.adapters.files.durable import settle_once, sync_directory
from conductor_py.adapters.files.signed_token import Grant, sign, verify
from conductor_py.errors import Conflict, NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.ports.payloads import (
    MOST_BYTES,
    SENT_ALREADY,
    Accepted,
    Location,
    PayloadKind,
    checked_path,
    mint_own_path,
    mint_path,
    refuse_larger,
)

DEFAULT_EXPIRY_MS = 60_000
"""How long a URL may be used: to begin the transfer, not to end it."""

_SECRET_NAME = "signing-secret"  # noqa: S105 - a file name
_SECRET_BYTES = 32
_AWAY = (
    f"The payload directory has no {_SECRET_NAME}: it is new, or what it is mounted from is away."
)


class FilePayloads:
    """``Payloads`` and ``ServedPayloads`` over the directory ``root``.

    ``base_url`` is where the API serves the URLs. The signing secret is a file in ``root``, for
    its owner's eyes only. Whoever first writes or makes a URL makes both; until then nothing is
    touched. Removing the secret, with all processes stopped, makes every URL that is out invalid.
    """

    def __init__(
        self,
        root: Path,
        *,
        base_url: str,
        now_ms: Callable[[], int],
        expiry_ms: int = DEFAULT_EXPIRY_MS,
        max_bytes: int = MOST_BYTES,
    ) -> None:
        self._root = root
        self._base_url = base_url.rstrip("/")
        self._now_ms = now_ms
        self._expiry_ms = expiry_ms
        self._max_bytes = max_bytes
        self._known_secret: bytes | None = None

    def write_location(self, kind: PayloadKind, requested_path: str | None = None) -> Location:
        return self._location("PUT", mint_path(kind))

    def read_location(self, path: str) -> Location:
        return self._location("GET", checked_path(path))

    def put(self, kind: PayloadKind, document: bytes) -> str:
        path = mint_own_path(kind)
        self._secret()
        with _FileUpload(self._file(path), max_bytes=len(document)) as upload:
            upload.write(document)
        return path

    def accept(self, path: str, most: int, what: str) -> Accepted:
        size = self.size(path)
        refuse_larger(size, most, what)
        return Accepted(path=path, size=size)

    def get(self, path: str, *, most: int = MOST_BYTES) -> bytes:
        file = self._file(path)
        with self._present(), file.open("rb") as opened:
            refuse_larger(os.fstat(opened.fileno()).st_size, most, "The payload")
            return opened.read(most)

    def size(self, path: str) -> int:
        file = self._file(path)
        with self._present():
            return file.stat().st_size

    def delete(self, path: str) -> None:
        with _wrapped():
            self._file(path).unlink(missing_ok=True)
            if not self._is_there():
                raise StoreUnavailable(_AWAY)

    def open_upload(self, token: str) -> _FileUpload:
        grant = verify(token, self._secret(), method="PUT", now_ms=self._now_ms())
        return _FileUpload(self._file(grant.path), max_bytes=grant.max_bytes)

    def open_download(self, token: str) -> BinaryIO:
        grant = verify(token, self._secret(), method="GET", now_ms=self._now_ms())
        file = self._file(grant.path)
        with self._present():
            return file.open("rb")

    def _location(self, method: str, path: str) -> Location:
        grant = Grant(
            method=method,
            path=path,
            expires_ms=self._now_ms() + self._expiry_ms,
            max_bytes=self._max_bytes,
        )
        return Location(uri=f"{self._base_url}/{sign(grant, self._secret())}", path=path)

    def _secret(self) -> bytes:
        """The secret, of a directory that is there."""
        with _wrapped():
            if self._known_secret is None:
                self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._known_secret = stored_secret(self._root / _SECRET_NAME)
            elif not self._is_there():
                raise StoreUnavailable(_AWAY)
        return self._known_secret

    @contextlib.contextmanager
    def _present(self) -> Iterator[None]:
        """Tell what is missing in the directory from what is missing with it."""
        try:
            with _wrapped():
                yield
        except NotFound as error:
            with _wrapped():
                is_there = self._is_there()
            if not is_there:
                raise StoreUnavailable(_AWAY) from error
            raise

    def _is_there(self) -> bool:
        return (self._root / _SECRET_NAME).exists()

    def _file(self, path: str) -> Path:
        folder, name = checked_path(path).rsplit("/", 1)
        # Two more digits keep a directory listing of a million documents bearable.
        return self._root / folder / name[:2] / name


class _FileUpload:
    """Bytes into a temporary file beside the target; that becomes it at the end, or is removed."""

    def __init__(self, target: Path, *, max_bytes: int) -> None:
        self._target = target
        self._left = max_bytes
        with _wrapped():
            target.parent.mkdir(parents=True, exist_ok=True)
            self._file = NamedTemporaryFile(  # noqa: SIM115 - closed by __exit__
                dir=target.parent, prefix=".upload-", delete=False
            )

    def __enter__(self) -> Self:
        return self

    def write(self, chunk: bytes) -> None:
        self._left -= len(chunk)
        if self._left < 0:
            raise PayloadTooLarge("The upload is larger than its URL allows; nothing was stored.")
        with _wrapped():
            self._file.write(chunk)

    def __exit__(self, *failure: object) -> None:
        with _wrapped():
            settled = settle_once(self._file, self._target, keep=failure[0] is None)
        if not settled:
            raise Conflict(SENT_ALREADY)


def stored_secret(file: Path) -> bytes:
    """Read the secret, or make it; of several processes that make one, the first wins."""
    if not file.exists():
        draft = file.with_name(f".{file.name}-{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as made:
            made.write(secrets.token_bytes(_SECRET_BYTES))
            made.flush()
            os.fsync(made.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, file)
        draft.unlink()
        sync_directory(file.parent)
    secret = file.read_bytes()
    if len(secret) != _SECRET_BYTES:
        raise StoreUnavailable(f"The signing secret {file.name} is damaged; remove it.")
    return secret


@contextlib.contextmanager
def _wrapped() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound("No such payload.") from error
    except OSError as error:
        raise StoreUnavailable(f"The payload directory failed: {error.strerror}") from error
