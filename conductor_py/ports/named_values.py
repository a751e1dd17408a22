"""Named values: secrets, and what else a deployment hands to definitions by name."""

from __future__ import annotations

from typing import Protocol


class NamedValues(Protocol):
    """Values by name, read-only. What is not listed cannot be had."""

    def names(self) -> tuple[str, ...]:
        """List the names, in order."""

    def value(self, name: str) -> str | None:
        """Read a value; ``None`` when there is none by that name."""
