"""The catalog in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.ports.catalog import PUBLISHED, Cell, Table, Write

_K = TypeVar("_K")
_V = TypeVar("_V")


class MemoryCatalogStore:
    """``CatalogStore`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def change(self, writes: Sequence[Write]) -> bool:
        with self._space.lock:
            if not all(self._holds(each) for each in writes if each.checked):
                return False
            for each in writes:
                self._put(each.cell, each.after)
            if any(each.cell.table is Table.REGISTERED for each in writes):
                self._space.raise_revision()
            return True

    def read(self, cells: Sequence[Cell]) -> tuple[bytes | None, ...]:
        with self._space.lock:
            return tuple(self._get(cell) for cell in cells)

    def rows(self, table: Table, rows: Sequence[str]) -> tuple[dict[str, bytes], ...]:
        with self._space.lock:
            known = self._space.catalog
            return tuple(dict(sorted(known.get((table, row), {}).items())) for row in rows)

    def page(self, row: str, first: str, last: str, limit: int) -> tuple[tuple[str, bytes], ...]:
        (found,) = self.rows(Table.HEAD, (row,))
        return tuple(each for each in found.items() if first <= each[0] <= last)[:limit]

    def _holds(self, write: Write) -> bool:
        cell = write.cell
        first = (cell.table, cell.field, write.before) == (Table.REGISTERED, PUBLISHED, None)
        if first and self._space.workflows.get(cell.row):
            return False
        return self._get(cell) == write.before

    def _get(self, cell: Cell) -> bytes | None:
        if cell.table is not Table.REGISTERED:
            return self._space.catalog.get((cell.table, cell.row), {}).get(cell.field)
        if cell.field == PUBLISHED:
            version = self._space.published.get(cell.row)
            return None if version is None else str(version).encode()
        return self._space.workflows.get(cell.row, {}).get(int(cell.field))

    def _put(self, cell: Cell, document: bytes | None) -> None:
        space = self._space
        if cell.table is not Table.REGISTERED:
            _keep(space.catalog.setdefault((cell.table, cell.row), {}), cell.field, document)
        elif cell.field == PUBLISHED:
            _keep(space.published, cell.row, None if document is None else int(document))
        else:
            _keep(space.workflows.setdefault(cell.row, {}), int(cell.field), document)


def _keep(place: dict[_K, _V], key: _K, value: _V | None) -> None:
    if value is None:
        place.pop(key, None)
    else:
        place[key] = value
