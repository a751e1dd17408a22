"""What is installed here, and where this machine keeps its data."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path

from conductor_py.config import Settings


@cache
def version() -> str:
    """Return the version of this software."""
    try:
        return installed_version("conductor-py")
    except PackageNotFoundError:
        return "0"


def data_directory(settings: Settings) -> Path:
    """Return where this machine keeps what it keeps."""
    return Path(settings.data.directory).absolute()
