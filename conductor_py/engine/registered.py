"""What is registered, wherever it stands: as a definition, or in the catalog that published it.

Among the registered definitions a published version is a pointer into the catalog; here it is
followed. Nobody who starts, shows or checks workflows needs to know which of the two one is.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from conductor_py.codec.catalog import load_pointer
from conductor_py.codec.definitions import dump_workflow, load_workflow, workflow_to_json
from conductor_py.engine.composing import Composer
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.json import JsonObject
from conductor_py.ports.metadata import MetadataStore


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
        listed = self._metadata.workflows()
        pointers = [load_pointer(stored) for _, _, stored in listed]
        found = self._composer.published(pointer for pointer in pointers if pointer)
        for pointer, (_, _, stored) in zip(pointers, listed, strict=True):
            if pointer is None:
                yield orjson.loads(stored)
            elif pointer in found:  # else it was withdrawn and purged meanwhile
                yield workflow_to_json(found[pointer])

    def latest(self) -> Iterator[JsonObject]:
        """Read of each workflow the version that is meant where none is named."""
        newest: dict[str, JsonObject] = {}
        listed = self._metadata.workflows()
        published = {name for name, _, stored in listed if load_pointer(stored)}
        for definition in self.all():
            name = str(definition["name"])
            meant = self.version_of_latest(name) if name in published else None
            if meant is None or definition.get("version") == meant:
                newest[name] = definition
        yield from newest.values()

    def _pointed(self, pointer: tuple[int, int]) -> WorkflowDef | None:
        return self._composer.published((pointer,)).get(pointer)
