"""Codes of what is imported: those that come with it where nobody has them, else minted ones."""

from __future__ import annotations

from conductor_py.engine.catalog.saving import Mint
from conductor_py.engine.catalog.writes import head_cell
from conductor_py.model.catalog import Kind
from conductor_py.model.codes import CodeLayout
from conductor_py.ports.catalog import CatalogStore


class ImportCodes:
    """Gives a code once."""

    def __init__(self, store: CatalogStore, mint: Mint, layout: CodeLayout, now_ms: int) -> None:
        """Look in ``store`` for who has a code. One of a time that is not before ``now_ms`` (epoch
        ms) is not kept, as it is going to be minted, nor one that the ``layout`` has no room for.
        """
        self._store = store
        self._mint = mint
        self._layout = layout
        self._now_ms = now_ms
        self._given: set[int] = set()
        self.minted: set[int] = set()

    def give(self, code: int) -> int:
        """Keep a code if that can be, else mint another one."""
        if not self._is_free(code):
            (code,) = self._mint(1)
            self.minted.add(code)
        self._given.add(code)
        return code

    def _is_free(self, code: int) -> bool:
        if code in self._given or code.bit_length() > self._layout.bits:
            return False
        if self._layout.time_of(code) >= self._now_ms:
            return False
        return self._store.read([head_cell(kind, code) for kind in Kind]) == (None, None)
