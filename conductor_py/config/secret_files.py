"""Secrets out of files: ``KEY.file`` names the file that holds the value of the setting ``KEY``.

So a credential stands neither in the list of processes nor in an environment that children inherit.
Every setting that is a secret can be given so, and those whose URL may hold one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from conductor_py.errors import ConfigurationError

SUFFIX: Final = ".file"
"""What follows the key of the setting."""

_MOST_BYTES: Final = 65_536
_FOR_OTHERS: Final = stat.S_IROTH | stat.S_IWOTH


def read_secret(file: Path, place: str) -> str:
    """Read a value, without the blanks around it; ``ConfigurationError`` names ``place`` and file,
    never what is in it.
    """
    try:
        with file.open("rb") as opened:
            stored = opened.read(_MOST_BYTES + 1)
        value = stored.decode().strip()
    except OSError as error:
        raise ConfigurationError(f"{place}: {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        # Not ``from`` it: the error holds the bytes.
        raise ConfigurationError(f"{place}: {file} is not UTF-8 text") from None
    if len(stored) > _MOST_BYTES:
        raise ConfigurationError(f"{place}: {file} is longer than {_MOST_BYTES:,} bytes")
    if not value:
        raise ConfigurationError(f"{place}: {file} is empty; it must hold the value")
    return value


def others_read(file: Path) -> bool:
    """Whether every user of the machine may read or change a file."""
    return os.name == "posix" and bool(file.stat().st_mode & _FOR_OTHERS)
