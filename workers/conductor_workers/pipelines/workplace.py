"""The directory that a task keeps its large parts in, by names that tell whose they are.

    <work_dir>/<run>/l<line>/records/<pipeline>/<epoch>-t<token>.json   what was about to be decided
    <work_dir>/<run>/l<line>/objects/<pipeline>/...                     lists too long for a record
    <work_dir>/<run>/l<line>/frames/<pipeline>/<what>/<epoch>-t<token>-<once>/  rows Spark wrote

Everything is made once and never changed. What a lower token left and no record names is deleted,
and so is what an earlier line of the task left, once another one begins.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable
from typing import Final

from conductor_py.records import dataclass
from conductor_workers.datafiles import address
from conductor_workers.pipelines.connectors import Owner
from conductor_workers.pipelines.storage import Storage
from conductor_workers.pipelines.storage.local import LocalStorage

_LINE: Final = re.compile(r"l(?P<line>\d+)")
_TOKEN: Final = re.compile(r"\d-t(?P<token>\d+)")


def run_name(owner: Owner) -> str:
    """Return a file name for a task, the same for all its attempts."""
    return hashlib.sha256(owner.task.encode()).hexdigest()[:16]


def line_address(work_dir: str, owner: Owner) -> str:
    """Return the address of a line's directory."""
    return f"{work_dir.rstrip('/')}/{run_name(owner)}/l{owner.line}"


def forget_lines(run: Storage, *, before: int) -> None:
    """Delete what lines earlier than that one have kept below their task's directory."""
    for name in {name.partition("/")[0] for name in run.names("")}:
        found = _LINE.fullmatch(name)
        if found and int(found["line"]) < before:
            run.delete(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """The part of one pipeline. ``address`` is the line's directory, as Spark reads it."""

    storage: Storage
    run: str
    address: str
    pipeline: str
    token: int

    def mirror(self, epoch: int, token: int) -> str:
        """Return the name of a record's copy."""
        return f"records/{self.pipeline}/{epoch:06d}-t{token}.json"

    def mirrors(self, epoch: int) -> tuple[str, ...]:
        """Return the names of all copies of an epoch, of any token."""
        return tuple(name for name in self.copies() if f"/{epoch:06d}-t" in name)

    def copies(self) -> tuple[str, ...]:
        """Return the names of all copies of records that are left."""
        return self.storage.names(f"records/{self.pipeline}")

    def object(self, what: str, epoch: int) -> str:
        """Return a new name for an object."""
        return f"objects/{self.pipeline}/{what}/{self._once(epoch)}"

    def frame(self, what: str, epoch: int) -> str:
        """Return a new name for rows that Spark writes."""
        return f"frames/{self.pipeline}/{what}/{self._once(epoch)}"

    def path(self, name: str) -> str:
        """Return the address of a name, with its scheme: Spark may have another one by default."""
        if isinstance(self.storage, LocalStorage):
            return address(self.storage.root / name)
        return f"{self.address.rstrip('/')}/{name}"

    def exists(self, name: str) -> bool:
        """Say whether anything is kept below that name."""
        if isinstance(self.storage, LocalStorage):
            return (self.storage.root / name).exists()
        return bool(self.storage.names(name))

    def kept(self) -> frozenset[str]:
        """Return the names of all objects and frames that are left."""
        areas = (f"objects/{self.pipeline}", f"frames/{self.pipeline}")
        return frozenset(_made(each) for area in areas for each in self.storage.names(area))

    def sweep(self, kept: Iterable[str]) -> None:
        """Delete what lower tokens made and the record does not name."""
        named = {name.partition("#")[0] for name in kept}
        for name in self.kept():
            found = _TOKEN.search(name.rpartition("/")[2])
            if found and int(found["token"]) < self.token and name not in named:
                self.storage.delete(name)

    def forget(self, *, before: int) -> None:
        """Delete the copies of records of earlier epochs."""
        for name in self.copies():
            if int(name.rpartition("/")[2].partition("-")[0]) < before:
                self.storage.delete(name)

    def _once(self, epoch: int) -> str:
        return f"{epoch:06d}-t{self.token}-{uuid.uuid4().hex[:8]}"


def _made(name: str) -> str:
    """Return the object, or the frame that a file belongs to: four steps down."""
    return "/".join(name.split("/")[:4])
