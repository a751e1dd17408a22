"""What was fetched once: a folder of the user's, each entry whole or not there.

An entry is built in a folder beside its place and renamed when it is complete, under a file lock:
two test processes never build the same thing, and an interrupted build leaves nothing to trust.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_LOG_TAIL = 800


class Unobtainable(Exception):
    """A tool is missing or a download failed; the message is a sentence for the skip reason."""


def cache_dir() -> Path:
    """Where fetched services are kept."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "conductor-py-tests"


def fetched(name: str, build: Callable[[Path], None]) -> Path:
    """The entry `name`; `build` fills an empty folder when it is not there yet.

    Raises Unobtainable when `build` does.
    """
    place = cache_dir() / name
    if place.is_dir():
        return place
    with alone():
        if place.is_dir():
            return place
        scratch = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=cache_dir()))
        try:
            build(scratch)
            scratch.rename(place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return place


@contextmanager
def alone() -> Iterator[None]:
    """Nobody else fetches or installs meanwhile: one lock for all, as apt and Maven share folders,
    too.
    """
    cache_dir().mkdir(parents=True, exist_ok=True)
    with (cache_dir() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def tool(name: str) -> str:
    """The path of a program, or Unobtainable."""
    path = shutil.which(name)
    if path is None:
        raise Unobtainable(f"there is no `{name}` on this machine")
    return path


def run(
    *command: str, cwd: Path, timeout_s: float = 600, env: dict[str, str] | None = None
) -> None:
    """Run a build step; Unobtainable, with the end of its output, when it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unobtainable(f"`{command[0]}` took longer than {timeout_s} s") from error
    if done.returncode != 0:
        raise Unobtainable(f"`{' '.join(command[:3])}` failed: {done.stdout[-_LOG_TAIL:]}")
