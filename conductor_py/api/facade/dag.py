"""What the HTTP front needs to write DAGs: codes to name things by."""

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
