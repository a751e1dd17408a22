"""What is registered, wherever it stands: as a definition, or in the catalog that published it.

Among the registered definitions a published version is a pointer into the catalog; here it is
followed. Nobody who starts, shows or checks workflows needs to know which of the two one is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, groupby, islice
from typing import TypeVar

from conductor_py.codec.catalog import load_pointer
from conductor_py.codec.definitions import dump_workflow, load_workflow, workflow_to_json
from conductor_py.engine.definitions.composing import Composer
from conductor_py.engine.definitions.readable import BeforeHeavy, nothing, readable, told_each
from conductor_py.errors import NotFound
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.json import JsonObject
from conductor_py.ports.metadata import MetadataStore
from conductor_py.records import dataclass

_Pointer = tuple[int, int]
"""The code and the version of what the catalog has published."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """A stored version, not parsed; ``pointer`` where it is one."""

    name: str
    version: int
    stored: bytes
    pointer: _Pointer | None


class Registered:
    """Reads registered workflows by name and version."""

    def __init__(self, metadata: MetadataStore, composer: Composer) -> None:
        """Read from both."""
        self._metadata = metadata
        self._composer = composer

    def definition(self, name: str, version: int | None) -> WorkflowDef | None:
        """Read a version, or the one that is meant without one; ``None`` when there is none."""
        stored = self._metadata.workflow(name, version)
        if stored is None:
            return None
        pointer = load_pointer(stored)
        return self._pointed(pointer) if pointer else load_workflow(stored)

    def document(self, name: str, version: int | None) -> bytes | None:
        """Read the same as JSON."""
        stored = self._metadata.workflow(name, version)
        if stored is None:
            return None
        pointer = load_pointer(stored)
        if pointer is None:
            return stored
        found = self._pointed(pointer)
        return None if found is None else dump_workflow(found)

    def has(self, name: str, version: int | None) -> bool:
        """Whether there is a version, or any at all."""
        return self._metadata.workflow(name, version) is not None

    def version_of_latest(self, name: str) -> int | None:
        """Tell the version that is meant where none is named; ``None`` when there is none."""
        stored = self._metadata.workflow(name, None)
        if stored is None:
            return None
        pointer = load_pointer(stored)
        return pointer[1] if pointer else load_workflow(stored).version

    def missing(self, name: str, version: int | None) -> NotFound:
        """Make the error of a workflow, or of a version, that is not registered."""
        which = name if version is None else f"{name}.{version}"
        return NotFound(f"No such workflow found by name: {which}{self.instead(name, version)}")

    def instead(self, name: str, version: int | None) -> str:
        """Say in parentheses what there is of it all the same; empty when there is nothing."""
        if version is not None and self._metadata.workflow(name, None) is not None:
            return f" ({name} is registered, but not with version {version})"
        if self._composer.saved(name):
            return f" ({name} is saved in the catalog, but not published)"
        return ""

    def code_of(self, name: str) -> int | None:
        """Tell under which code the catalog has published a name; ``None``: it has not."""
        stored = self._metadata.workflow(name, None)
        pointer = load_pointer(stored) if stored is not None else None
        return pointer[0] if pointer else None

    def each(
        self, told: Callable[[JsonObject], _T], before_heavy: BeforeHeavy = nothing
    ) -> Iterator[_T]:
        """Read every version of every workflow as JSON, one after the other, and give what is
        ``told`` of each.
        """
        for entry in self._listed():
            yield from self._told(entry, told, before_heavy)

    def each_latest(
        self, told: Callable[[JsonObject], _T], before_heavy: BeforeHeavy = nothing
    ) -> Iterator[_T]:
        """Read of each workflow the version that is meant where none is named; the one before it
        where that cannot be read.
        """
        for name, versions in groupby(self._listed(), key=lambda entry: entry.name):
            entries = list(versions)
            if any(entry.pointer for entry in entries):
                meant = self.version_of_latest(name)
                entries = [one for one in entries if meant in {None, one.version}]
            found = (self._told(entry, told, before_heavy) for entry in reversed(entries))
            yield from islice(chain.from_iterable(found), 1)

    def _listed(self) -> Iterator[_Listed]:
        """The stored versions, by name and version."""
        for name, version, stored in self._metadata.workflows():
            entry = ((f"{name} {version}", stored),)
            for pointer in readable("workflow definition", entry, load_pointer):
                yield _Listed(name=name, version=version, stored=stored, pointer=pointer)

    def _told(
        self, entry: _Listed, told: Callable[[JsonObject], _T], before_heavy: BeforeHeavy
    ) -> Iterator[_T]:
        """What is told of a version; nothing when it cannot be read, or was withdrawn and purged
        meanwhile.
        """
        pointer = entry.pointer
        if pointer is None:
            label = f"{entry.name} {entry.version}"
            yield from told_each(
                "workflow definition", ((label, entry.stored),), told, before_heavy
            )
            return
        # How much it comes to is known when it is put together.
        before_heavy()
        named = ((f"{pointer[0]} {pointer[1]}", pointer),)
        for found in readable("published workflow", named, self._pointed):
            if found is not None:
                yield told(workflow_to_json(found))

    def _pointed(self, pointer: tuple[int, int]) -> WorkflowDef | None:
        return self._composer.published((pointer,)).get(pointer)
