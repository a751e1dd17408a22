"""Writes that are there whole, and survive a loss of power, or are not there at all."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def settle(file: IO[bytes], target: Path, *, keep: bool) -> None:
    """End the writing of a temporary file: it becomes ``target``, or goes. ``OSError``."""
    with _ended(file, keep=keep) as temporary:
        if keep:
            temporary.replace(target)
            sync_directory(target.parent)


def settle_once(file: IO[bytes], target: Path, *, keep: bool) -> bool:
    """End the writing of a temporary file as ``settle`` does, but leave a target that is there as
    it is; false when that is another document. ``OSError``.
    """
    with _ended(file, keep=keep) as temporary:
        if keep:
            try:
                os.link(temporary, target)
            except FileExistsError:
                return filecmp.cmp(temporary, target, shallow=False)
            sync_directory(target.parent)
        return True


@contextmanager
def _ended(file: IO[bytes], *, keep: bool) -> Iterator[Path]:
    """Close a temporary file, on the disk if it is kept; its name goes when the block ends."""
    temporary = Path(file.name)
    try:
        with file:
            if keep:
                file.flush()
                os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def sync_directory(folder: Path) -> None:
    """Make the names of a directory last. ``OSError``."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
