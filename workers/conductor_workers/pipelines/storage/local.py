"""Objects as files of a local or mounted directory.

A file is written aside and linked to its name: it is there whole or not at all, and a name that is
taken is refused by the kernel.
"""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from conductor_py.errors import ConfigurationError
from conductor_workers.datafiles import sync_file
from conductor_workers.manifest import sync_directory
from conductor_workers.pipelines.storage import AlreadyThere

_ASIDE = ".aside-"


class LocalStorage:
    """See ``Storage``."""

    def __init__(self, root: Path) -> None:
        """Keep objects below that directory; it is made when the first one comes."""
        self.root = root

    @classmethod
    def at(cls, uri: str) -> Self:
        """Read a path or a ``file:`` address."""
        parts = urlsplit(uri)
        path = Path(unquote(parts.path) if parts.scheme else uri)
        if not path.is_absolute():
            raise ConfigurationError(f"{uri} is not an absolute path.")
        return cls(path)

    def create(self, name: str, content: bytes) -> None:
        """See ``Storage``."""
        place = self._place(name)
        _make_folder(place.parent)
        aside = place.with_name(f"{_ASIDE}{place.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            with aside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.link(aside, place)
        except FileExistsError as error:
            raise AlreadyThere(name) from error
        finally:
            aside.unlink(missing_ok=True)
        sync_directory(place.parent)

    def prepare(self, name: str) -> None:
        """Make the folder that a name is to lie in, durably."""
        _make_folder(self._place(name).parent)

    def settle(self, name: str) -> None:
        """Make all that somebody else has written below a name survive a crash of the machine;
        what is deleted meanwhile was not wanted.
        """
        place = self._place(name)
        for folder, _, files in os.walk(place, topdown=False):
            for file in files:
                with suppress(FileNotFoundError):
                    sync_file(Path(folder) / file)
            sync_directory(Path(folder))
        sync_directory(place.parent)

    def read(self, name: str) -> bytes:
        """See ``Storage``."""
        try:
            return self._place(name).read_bytes()
        except NotADirectoryError as error:
            raise FileNotFoundError(name) from error

    def names(self, prefix: str) -> tuple[str, ...]:
        """See ``Storage``."""
        place = self._place(prefix)
        found = (
            str(file.relative_to(self.root))
            for file in place.rglob("*")
            if file.is_file() and not file.name.startswith(_ASIDE)
        )
        return tuple(sorted(found))

    def beginning(self, start: str) -> tuple[str, ...]:
        """See ``Storage``."""
        folder = start.rpartition("/")[0]
        return tuple(name for name in self.names(folder) if name.startswith(start))

    def delete(self, name: str) -> None:
        """See ``Storage``."""
        place = self._place(name)
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)

    def _place(self, name: str) -> Path:
        place = self.root / name
        if ".." in place.parts:
            raise ConfigurationError(f"{name} leaves the work directory.")
        return place


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, each of them durably."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_directory(each.parent)
