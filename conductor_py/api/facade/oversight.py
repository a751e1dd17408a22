"""What the HTTP front needs to watch over executions: explanations, audits, quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from conductor_py.model.json import JsonObject


class Why(Protocol):
    """Why executions do not move."""

    def explain(self, execution: str, /) -> JsonObject:
        """Name the cause and what to do; ``NotFound``."""


class Finding(Protocol):
    """What an audit has found."""

    @property
    def invariant(self) -> str:
        """The invariant that is broken; empty: none."""

    def to_json(self) -> JsonObject:
        """Write it."""


class AuditPage(Protocol):
    """What a page of an audit has found."""

    @property
    def executions(self) -> int:
        """How many executions were looked at."""

    @property
    def keys(self) -> int:
        """How many keys were looked at, those of the executions included."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What was found."""

    @property
    def cursor(self) -> str:
        """Where the next page begins; empty: this was the last."""


class Auditor(Protocol):
    """Audits of the store."""

    def page(self, cursor: str, limit: int, /) -> AuditPage:
        """Audit one page; ``InvalidInput`` for a cursor that is none."""

    def execution(self, execution: str, /) -> Sequence[Finding]:
        """Audit one execution; ``NotFound``."""


class Retries(Protocol):
    """What became of those in quarantine that were tried again."""

    @property
    def decided(self) -> int:
        """How many were decided."""

    @property
    def failed(self) -> int:
        """How many were not."""

    @property
    def left(self) -> int:
        """How many are to be tried yet."""

    @property
    def cursor(self) -> str:
        """Where to go on; empty: that were all."""


class Quarantine(Protocol):
    """Executions that cannot be decided."""

    def listed(self, *, start: int, size: int) -> tuple[Sequence[JsonObject], int]:
        """List them, with how many there are."""

    def retry(self, execution: str, /) -> bool:
        """Try one again now; whether it was decided. ``NotFound``."""

    def retry_all(self, cursor: str, /) -> Retries:
        """Try all again, from ``cursor`` on, for some seconds; ``InvalidInput``."""

    def end(self, execution: str, reason: str | None, /) -> bool:
        """End one; false when it is not in quarantine. ``Conflict``: it cannot be read."""

    def damaged(self) -> Sequence[JsonObject]:
        """List what cannot be read at all, longest first."""

    def retry_damaged(self, entry: str, /) -> None:
        """Let what could not be read be looked at now. ``NotFound``."""

    def drop_damaged(self, entry: str, /) -> None:
        """Delete what cannot be read, for ever. ``NotFound``."""
