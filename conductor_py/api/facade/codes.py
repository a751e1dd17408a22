"""What the HTTP front needs of codes: names for what is not saved yet."""

from __future__ import annotations

from typing import Protocol

from conductor_py.model.codes import CodeLayout


class Codes(Protocol):
    """Minting of codes."""

    @property
    def layout(self) -> CodeLayout:
        """How the bits of a code are laid out."""

    def codes(self, count: int, /) -> tuple[int, ...]:
        """Mint so many."""
