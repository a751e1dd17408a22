"""What the HTTP front needs of a page of search results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from conductor_py.model.json import JsonObject


class FoundPage(Protocol):
    """A page of search results."""

    @property
    def total_hits(self) -> int:
        """How many match in all."""

    @property
    def results(self) -> Sequence[JsonObject]:
        """The summaries of this page."""
