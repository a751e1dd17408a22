"""Definitions in memory: the reference implementation of the port."""

from __future__ import annotations

from conductor_py.adapters.memory.space import MemorySpace


class MemoryMetadataStore:
    """``MetadataStore`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def put_workflow(self, name: str, version: int, document: bytes, *, create: bool) -> bool:
        with self._space.lock:
            versions = self._space.workflows.setdefault(name, {})
            if name in self._space.published or (create and version in versions):
                return False
            versions[version] = document
            self._space.raise_revision()
            return True

    def workflow(self, name: str, version: int | None) -> bytes | None:
        with self._space.lock:
            versions = self._space.workflows.get(name)
            if not versions:
                return None
            latest = self._space.published.get(name) or max(versions)
            return versions.get(latest if version is None else version)

    def workflows(self) -> tuple[tuple[str, int, bytes], ...]:
        with self._space.lock:
            return tuple(
                (name, version, versions[version])
                for name, versions in sorted(self._space.workflows.items())
                for version in sorted(versions)
            )

    def delete_workflow(self, name: str, version: int) -> bool:
        with self._space.lock:
            if name in self._space.published:
                return False
            if self._space.workflows.get(name, {}).pop(version, None) is None:
                return False
            self._space.raise_revision()
            return True

    def put_task(self, name: str, document: bytes, *, must_exist: bool) -> bool:
        with self._space.lock:
            if must_exist and name not in self._space.tasks:
                return False
            self._space.tasks[name] = document
            self._space.raise_revision()
            return True

    def tasks(self, names: tuple[str, ...] | None) -> dict[str, bytes]:
        with self._space.lock:
            known = self._space.tasks
            wanted = sorted(known) if names is None else names
            return {name: known[name] for name in wanted if name in known}

    def delete_task(self, name: str) -> bool:
        with self._space.lock:
            if self._space.tasks.pop(name, None) is None:
                return False
            self._space.raise_revision()
            return True

    def put_schema(self, name: str, version: int, document: bytes) -> None:
        with self._space.lock:
            self._space.schemas[name, version] = document
            self._space.raise_revision()

    def schema(self, name: str, version: int | None) -> bytes | None:
        with self._space.lock:
            known = [number for other, number in self._space.schemas if other == name]
            if not known:
                return None
            return self._space.schemas.get((name, max(known) if version is None else version))

    def schemas(self) -> tuple[tuple[str, int, bytes], ...]:
        with self._space.lock:
            return tuple(
                (name, version, document)
                for (name, version), document in sorted(self._space.schemas.items())
            )

    def delete_schema(self, name: str, version: int) -> bool:
        with self._space.lock:
            if self._space.schemas.pop((name, version), None) is None:
                return False
            self._space.raise_revision()
            return True

    def put_tags(self, noun: str, name: str, before: bytes | None, after: bytes | None) -> bool:
        with self._space.lock:
            if self._space.tags.get((noun, name)) != before:
                return False
            if after is None:
                self._space.tags.pop((noun, name), None)
            else:
                self._space.tags[noun, name] = after
            self._space.raise_revision()
            return True

    def tags(self, noun: str, name: str | None = None) -> dict[str, bytes]:
        with self._space.lock:
            found = sorted(self._space.tags.items())
            return {
                known: document
                for (of, known), document in found
                if of == noun and name in {None, known}
            }

    def revision(self, partition: int) -> int:
        with self._space.lock:
            return self._space.revision

    def retell(self) -> int:
        return 0
