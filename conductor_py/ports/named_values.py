"""Named values: secrets, and what else a deployment hands to definitions by name."""

from __future__ import annotations

import re
from typing import Final, Protocol

NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
"""What a value may be called."""


class NamedValues(Protocol):
    """Values by name, read-only. What is not listed cannot be had."""

    def names(self) -> tuple[str, ...]:
        """List the names, in order."""

    def value(self, name: str) -> str | None:
        """Read a value; ``None`` when there is none by that name."""
