"""What is registered, wherever it stands: as a definition, or in the catalog that published it.

Among the registered definitions a published version is a pointer into the catalog; here it is
followed. Nobody who starts, shows or checks workflows needs to know which of the two one is.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from conductor_py.codec.catalog import load_pointer
from conductor_py.codec.definitions import dump_workflow, load_workflow
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
        return self._pointed(stored) or load_workflow(stored)

    def document(self, name: str, version: int | None) -> bytes | None:
        """Read the same as JSON."""
        stored = self._metadata.workflow(name, version)
        if stored is None:
            return None
        found = self._pointed(stored)
        return stored if found is None else dump_workflow(found)

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
        for name, version, stored in self._metadata.workflows():
            whole = self.document(name, version) if load_pointer(stored) else stored
            if whole is not None:
                yield orjson.loads(whole)

    def _pointed(self, stored: bytes) -> WorkflowDef | None:
        pointer = load_pointer(stored)
        if pointer is None:
            return None
        return self._composer.definition(self._composer.split(*pointer), pointer[1])
