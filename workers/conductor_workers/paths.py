"""Which files and objects the tasks of a worker may name: what lies below the places it was given.

Paths stand in definitions, and whoever may register one writes them. A path is judged by its text,
before anything is opened: what a pattern names must lie below a place whatever it matches. Links
below a place are followed: who runs the worker has put them there.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable
from typing import Final, Self
from urllib.parse import unquote, urlsplit

from conductor_py.errors import ConductorError, ConfigurationError
from conductor_py.records import dataclass

#: Characters that patterns of Spark, Hadoop and Python have.
_WILD: Final = re.compile(r"[*?\[{]")
#: A step that goes up, also as an alternative of a pattern.
_UP: Final = re.compile(r"(?:^|[/{,])\.\.(?:$|[/},])")
#: Nothing of a path: an escape may stand before any character of a pattern.
_ODD: Final = re.compile(r"[\\\0]")
_LOCAL: Final = frozenset(("", "file"))


class PathRefused(ConductorError):
    """A task names files that this worker was not given."""

    code = "PATH_REFUSED"


@dataclass(frozen=True, slots=True)
class _Root:
    """A folder, or a prefix of a store; ``where`` is the scheme and the bucket, empty for disks."""

    where: str
    path: str

    def holds(self, where: str, path: str) -> bool:
        return where == self.where and (
            not self.path or path == self.path or path.startswith(f"{self.path}/")
        )


@dataclass(frozen=True, slots=True)
class AllowedPaths:
    """The places of a worker; ``None`` stands for all there are."""

    roots: tuple[_Root, ...] | None

    @classmethod
    def below(cls, places: Iterable[str]) -> Self:
        """Allow what lies in these folders, and below these prefixes (``s3://bucket/prefix``).

        Raises ``ConfigurationError`` for what is neither.
        """
        roots = []
        for place in places:
            if _WILD.search(place) or _climbs(place):
                raise ConfigurationError(
                    f"--allow-path must name one folder or s3://bucket/prefix, not {place!r}."
                )
            where, path = _read(place)
            roots.append(_Root(where, path))
            if not where:  # reached by a link, too: /tmp of macOS is one
                roots.append(_Root(where, os.path.realpath(path or "/").rstrip("/")))
        return cls(tuple(roots))

    def refuse_others(self, said_at: str, text: str) -> None:
        """Let a path or pattern pass; ``said_at`` names it in the refusal, a ``PathRefused``."""
        if not self.allow(text):
            raise _refused(said_at, text)

    def refuse_other_files(self, said_at: str, names: Iterable[str]) -> None:
        """Let files and objects pass that were found: any character may stand in their names."""
        for name in names if self.roots is not None else ():
            if ".." in name.split("/") or not self._hold(name):
                raise _refused(said_at, name)

    def allow(self, text: str) -> bool:
        """Whether all that the path or pattern can name lies below one of the places."""
        if self.roots is None:
            return True
        if any(_climbs(each) for each in (text, unquote(text))):
            return False
        return self._hold(_literal(text))

    def _hold(self, text: str) -> bool:
        where, path = _read(text)
        return any(root.holds(where, path) for root in self.roots or ())


ANYWHERE: Final = AllowedPaths(None)
NOWHERE: Final = AllowedPaths(())


def _refused(said_at: str, text: str) -> PathRefused:
    return PathRefused(
        f"{said_at}: {text} is not below a place that this worker may use; start it with "
        "--allow-path."
    )


def _climbs(text: str) -> bool:
    """Whether a path or pattern may leave the folder that it begins with."""
    if _UP.search(text) or _ODD.search(text):
        return True
    depth = 0  # steps put together of alternatives could be any, `{./.,x}.` goes up
    for character in text:
        depth += (character == "{") - (character == "}")
        if character == "/" and depth > 0:
            return True
    return False


def _literal(pattern: str) -> str:
    """Return the folder that a pattern names before its first wild step; a path as it is."""
    wild = _WILD.search(pattern)
    return pattern if wild is None else pattern[: wild.start()].rpartition("/")[0] or "/"


def _read(text: str) -> tuple[str, str]:
    parts = urlsplit(text.replace("#", "%23"))  # part of a name
    if parts.scheme in _LOCAL:
        if parts.netloc not in ("", "localhost"):
            return parts.netloc, parts.path
        # Without following links: a place is known by the name that people know.
        path = os.path.abspath(unquote(parts.path) if parts.scheme else text)  # noqa: PTH100
        return "", path.rstrip("/")
    scheme = "s3" if parts.scheme in ("s3", "s3a") else parts.scheme
    return f"{scheme}://{parts.netloc}", parts.path.strip("/")
