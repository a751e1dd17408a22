"""Presence: what was said a moment ago and is forgotten by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """What was said under a key: the document, when, and until when it counts (epoch ms)."""

    key: str
    document: bytes
    at_ms: int
    until_ms: int


class Presence(Protocol):
    """Signs of life, one board a namespace. A hint for people: losing it loses nothing."""

    def put(self, signs: Mapping[str, bytes], lease_ms: int) -> None:
        """Replace these signs; each counts for ``lease_ms``. Beyond 10,000 those that end first
        go.
        """

    def present(self) -> tuple[Sign, ...]:
        """List the signs that count, by key."""
