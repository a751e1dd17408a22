"""What is registered, wherever it stands: as a definition, or in the catalog that published it.

Among the registered definitions a published version is a pointer into the catalog; here it is
followed. Nobody who starts, shows or checks workflows needs to know which of the two one is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conductor_py.codec.catalog import load_pointer
from conductor_py.codec.definitions import dump_workflow, load_workflow, workflow_to_json
from conductor_py.engine.composing import Composer
from conductor_py.engine.readable import document_named, readable
from conductor_py.errors import StoreUnavailable
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.json import JsonObject
from conductor_py.ports.metadata import MetadataStore

_Pointer = tuple[int, int]
"""The code and the version of what the catalog has published."""
_Listed = tuple[str, _Pointer | None, JsonObject]
"""A stored version: the name, where it is a pointer, and what it says otherwise."""


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

    def version_of_latest(self, name: str) -> int | None:
        """Tell the version that is meant where none is named; ``None`` when there is none."""
        stored = self._metadata.workflow(name, None)
        if stored is None:
            return None
        pointer = load_pointer(stored)
        return pointer[1] if pointer else load_workflow(stored).version

    def code_of(self, name: str) -> int | None:
        """Tell under which code the catalog has published a name; ``None``: it has not."""
        stored = self._metadata.workflow(name, None)
        pointer = load_pointer(stored) if stored is not None else None
        return pointer[0] if pointer else None

    def all(self) -> Iterator[JsonObject]:
        """Read every version of every workflow as JSON."""
        return self._definitions(self._listed())

    def _definitions(self, listed: Sequence[_Listed]) -> Iterator[JsonObject]:
        found = self._published([pointer for _, pointer, _ in listed if pointer])
        for _, pointer, document in listed:
            if pointer is None:
                yield document
            elif pointer in found:  # else it was withdrawn and purged meanwhile
                yield workflow_to_json(found[pointer])

    def latest(self) -> Iterator[JsonObject]:
        """Read of each workflow the version that is meant where none is named."""
        newest: dict[str, JsonObject] = {}
        listed = self._listed()
        published = {name for name, pointer, _ in listed if pointer}
        for definition in self._definitions(listed):
            name = str(definition["name"])
            meant = self.version_of_latest(name) if name in published else None
            if meant is None or definition.get("version") == meant:
                newest[name] = definition
        yield from newest.values()

    def _listed(self) -> list[_Listed]:
        """The stored versions."""
        listed = [
            (f"{name} {version}", (name, stored))
            for name, version, stored in self._metadata.workflows()
        ]
        return list(readable("workflow definition", listed, _listed))

    def _published(self, wanted: Sequence[_Pointer]) -> dict[_Pointer, WorkflowDef]:
        """Read what pointers point at: at once, or one by one when one of them cannot be read."""
        try:
            return self._composer.published(wanted)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - each is read again, and which it was is said
            named = ((f"{code} {version}", (code, version)) for code, version in wanted)
            alone = lambda pointer: self._composer.published((pointer,))  # noqa: E731
            read = readable("published workflow", named, alone)
            return {pointer: found for one in read for pointer, found in one.items()}

    def _pointed(self, pointer: tuple[int, int]) -> WorkflowDef | None:
        return self._composer.published((pointer,)).get(pointer)


def _listed(entry: tuple[str, bytes]) -> _Listed:
    name, stored = entry
    pointer = load_pointer(stored)
    return name, pointer, {} if pointer else document_named(stored)
