"""Definitions: registered, versioned, and never read by an execution that already has its
snapshot.
"""

from __future__ import annotations

from typing import Protocol

from conductor_py.model.ids import ExecutionId


class MetadataStore(Protocol):
    """Canonical JSON of definitions (opaque bytes) by name and version; one store for all
    partitions.
    """

    def put_workflow(self, name: str, version: int, document: bytes, *, create: bool) -> bool:
        """Store a version; with ``create`` an existing one is left alone and the answer is
        false, as it is for a name that the catalog has published.
        """

    def workflow(self, name: str, version: int | None) -> bytes | None:
        """Read a version, or with ``None`` the one that the catalog has published, else the
        numerically largest.
        """

    def workflows(self) -> tuple[tuple[str, int, bytes], ...]:
        """Read every version of every workflow, by name and version."""

    def delete_workflow(self, name: str, version: int) -> bool:
        """Forget a version; false when there is none, or the catalog has published the name.
        Executions keep their snapshot.
        """

    def put_task(self, name: str, document: bytes, *, must_exist: bool) -> bool:
        """Store a task definition; with ``must_exist`` an unknown one is not created and the answer
        is false.
        """

    def tasks(self, names: tuple[str, ...] | None) -> dict[str, bytes]:
        """Read the task definitions of those names (unknown ones left out), or all."""

    def delete_task(self, name: str) -> bool:
        """Forget a task definition; false when there is none."""

    def put_schema(self, name: str, version: int, document: bytes) -> None:
        """Store a version of a schema, new or not."""

    def schema(self, name: str, version: int | None) -> bytes | None:
        """Read a version of a schema, or with ``None`` the numerically largest."""

    def schemas(self) -> tuple[tuple[str, int, bytes], ...]:
        """Read every version of every schema, by name and version."""

    def delete_schema(self, name: str, version: int) -> bool:
        """Forget a version of a schema; false when there is none."""

    def put_tags(self, noun: str, name: str, before: bytes | None, after: bytes | None) -> bool:
        """Replace the tags of a definition (``noun``: ``workflow`` or ``task``) if they are still
        ``before``; ``None`` stands for none. False when they are not.
        """

    def tags(self, noun: str, name: str | None = None) -> dict[str, bytes]:
        """Read the tags of all definitions of a noun that have any, by name; or of one of them."""

    def revision(self, partition: int) -> int:
        """Read the number that grows, in every partition, after each change; a starter compares
        it.
        """

    def retell(self) -> int:
        """Tell partitions that do not know of the last change (whoever made it died, or a failover
        lost it); returns how many. When the definitions themselves have lost a change that others
        know of, everybody is told to read them again.
        """


class PlanStore(Protocol):
    """Compiled definitions by content, in the partition that uses them.

    The store counts, for each plan, the present executions whose header (``h``) names it: one more
    when a start or a commit creates one, one less when one is removed, moved when a commit writes a
    header that names another. A fragment has an owner instead, the execution whose dynamic task
    brought it, and is not counted.
    """

    def put(
        self,
        partition: int,
        plan: str,
        blob: bytes,
        reads: dict[str, bytes],
        owner: ExecutionId | None = None,
    ) -> None:
        """Store a snapshot under its hash with, for each reference, its reads (JSON list of
        strings); with ``owner``, an execution of this partition, as its fragment.

        The reads under ``*`` are those of every reference that is not listed.
        """

    def get(self, partition: int, plan: str) -> bytes | None:
        """Read the snapshot."""

    def count(self, partition: int) -> int:
        """Count the snapshots stored."""

    def collect(self, partition: int, plans: tuple[str, ...], unused_ms: int) -> int:
        """Drop those of ``plans`` that nobody touched for ``unused_ms``, used or not; returns how
        many. For fragments of an execution that leaves.
        """

    def collect_unused(self, partition: int, unused_ms: int, limit: int) -> tuple[int, int]:
        """Walk plans and drop those that nothing uses: no present execution's header names it, it
        has no owner that is present, and no put, start or commit touched it for ``unused_ms``
        (which is to be hours, as a start or commit touches once an hour).

        Looks at no more than ``limit``; who is looked at and stays is not looked at again for
        ``unused_ms``, so that repeated calls get through them all. Returns how many were looked at
        (fewer than ``limit``: no more for now) and how many went.
        """
