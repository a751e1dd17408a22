"""What the HTTP front needs of workers and servers that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from conductor_py.model.json import JsonObject
from conductor_py.model.workers import WorkerSign


class Workers(Protocol):
    """Workers that are there."""

    def report(self, sign: WorkerSign, /) -> int:
        """Take a sign of life; for how many ms it counts."""

    def leave(self, worker: str, /) -> None:
        """Forget one."""

    def present(self, task_type: str, /) -> Sequence[JsonObject]:
        """List them, by id; of those that take a type, unless it is empty."""


class Shards(Protocol):
    """Servers and their shards."""

    def servers(self) -> Sequence[JsonObject]:
        """List the servers that are there, with their shards."""
