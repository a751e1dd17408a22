"""Definitions in Redis: one copy, in partition 0, and a revision in every partition.

A change and the revision of partition 0 move in one script; the other partitions are told right
after. Should that be cut short, ``retell`` tells them.
"""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import name_of, names_of, number_of, pairs_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.catalog import PUBLISHED

_PUBLISHED = PUBLISHED.encode()


class RedisMetadataStore:
    """``MetadataStore`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._connection = scripts.connection
        self._home = scripts.prefix(0)

    def put_workflow(self, name: str, version: int, document: bytes, *, create: bool) -> bool:
        mode = "create" if create else "put"
        return self._change("workflow", name, version, mode, document)

    def workflow(self, name: str, version: int | None) -> bytes | None:
        key = f"{self._home}meta:workflow:{name}"
        if version is None:
            fields = self._connection.command("HKEYS", key)
            if not fields:
                return None
            if _PUBLISHED in fields:
                version = int(self._connection.command("HGET", key, _PUBLISHED) or 0)
            else:
                version = max(map(int, fields))
        document: bytes | None = self._connection.command("HGET", key, version)
        return document

    def workflows(self) -> tuple[tuple[str, int, bytes], ...]:
        members = self._connection.command("SMEMBERS", f"{self._home}meta:workflows")
        names = sorted(names_of(members))
        if not names:
            return ()
        hashes = self._connection.pipeline(
            [("HGETALL", f"{self._home}meta:workflow:{name}") for name in names]
        )
        return tuple(
            (name, version, document)
            for name, flat in zip(names, hashes, strict=True)
            for version, document in _versions(flat)
        )

    def delete_workflow(self, name: str, version: int) -> bool:
        return self._change("workflow", name, version, "delete", b"")

    def put_task(self, name: str, document: bytes, *, must_exist: bool) -> bool:
        return self._change("task", name, name, "update" if must_exist else "put", document)

    def tasks(self, names: tuple[str, ...] | None) -> dict[str, bytes]:
        key = f"{self._home}meta:tasks"
        if names is None:
            return dict(sorted(pairs_of(self._connection.command("HGETALL", key))))
        if not names:
            return {}
        documents = self._connection.command("HMGET", key, *names)
        found = zip(names, documents, strict=True)
        return {name: document for name, document in found if document is not None}

    def delete_task(self, name: str) -> bool:
        return self._change("task", name, name, "delete", b"")

    def put_schema(self, name: str, version: int, document: bytes) -> None:
        self._change("schema", name, f"{version} {name}", "put", document)

    def schema(self, name: str, version: int | None) -> bytes | None:
        if version is None:
            versions = [number for other, number, _ in self.schemas() if other == name]
            if not versions:
                return None
            version = max(versions)
        field = f"{version} {name}"
        document: bytes | None = self._connection.command(
            "HGET", f"{self._home}meta:schemas", field
        )
        return document

    def schemas(self) -> tuple[tuple[str, int, bytes], ...]:
        flat = self._connection.command("HGETALL", f"{self._home}meta:schemas")
        found: list[tuple[str, int, bytes]] = []
        for at in range(0, len(flat), 2):
            first, _, rest = flat[at].partition(b" ")
            version, name = number_of(first), name_of(rest)
            if version is not None and name is not None:
                found.append((name, version, flat[at + 1]))
        return tuple(sorted(found))

    def delete_schema(self, name: str, version: int) -> bool:
        return self._change("schema", name, f"{version} {name}", "delete", b"")

    def put_tags(self, noun: str, name: str, before: bytes | None, after: bytes | None) -> bool:
        arguments: list[Argument] = [noun, name, before or b"", after or b"", self._scripts.now()]
        return self._told(self._scripts.run("change_tags", 0, arguments, again=False))

    def tags(self, noun: str, name: str | None = None) -> dict[str, bytes]:
        key = f"{self._home}meta:tags:{noun}"
        if name is None:
            return dict(sorted(pairs_of(self._connection.command("HGETALL", key))))
        found = self._connection.command("HGET", key, name)
        return {} if found is None else {name: found}

    def revision(self, partition: int) -> int:
        prefix = self._scripts.prefix(partition)
        return _revision(self._connection.command("GET", f"{prefix}meta:revision"))

    def retell(self) -> int:
        prefixes = self._scripts.namespace.prefixes
        if len(prefixes) == 1:
            return 0
        replies = self._connection.each([("GET", f"{prefix}meta:revision") for prefix in prefixes])
        told = {
            partition: _revision(reply)
            for partition, reply in enumerate(replies)
            if not isinstance(reply, Exception)
        }
        if 0 not in told:
            raise StoreUnavailable("The partition of the definitions does not answer")
        newest = max(told.values())
        if told[0] < newest:
            newest += 1
        behind = [partition for partition, revision in told.items() if revision < newest]
        for partition in sorted(behind):
            self._scripts.run("raise_revision", partition, (newest,))
        return len(behind)

    def _change(self, kind: str, name: str, field: Argument, mode: str, document: bytes) -> bool:
        arguments: list[Argument] = [kind, name, field, mode, document, self._scripts.now()]
        return self._told(self._scripts.run("change_definition", 0, arguments, again=False))

    def _told(self, revision: int) -> bool:
        """Tell the other partitions; whether there was a change."""
        if not revision:
            return False
        for partition in range(1, self._scripts.namespace.partitions):
            self._scripts.run("raise_revision", partition, (revision,))
        return True


def _versions(flat: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Read the versions of one definition, without what is none of them."""
    numbers = ((number_of(flat[at]), flat[at + 1]) for at in range(0, len(flat), 2))
    return sorted((number, document) for number, document in numbers if number is not None)


def _revision(stored: bytes | None) -> int:
    """Read a revision; one that is no number is set aside, and is 0 until then."""
    return number_of(stored or b"") or 0
