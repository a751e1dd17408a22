"""A sheet over the catalog's tables: what is changed on it is read back from it, and reaches the
store all at once or not at all.

So several saves, each of which builds on the one before, become one step of the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conductor_py.ports.catalog import CatalogStore, Cell, Table, Write


class Sheet:
    """``CatalogStore`` over another; for what is not among the registered definitions."""

    def __init__(self, store: CatalogStore) -> None:
        """See through to this store; nothing of it is changed."""
        self._store = store
        self._writes: dict[Cell, Write] = {}
        self._rows: dict[tuple[Table, str], dict[str, bytes | None]] = {}

    @property
    def writes(self) -> tuple[Write, ...]:
        """What changes the store as the sheet was changed, if all that it relied on is as it
        was read.
        """
        return tuple(self._writes.values())

    def change(self, writes: Sequence[Write]) -> bool:
        checked = [each for each in writes if each.checked]
        held = self.read([each.cell for each in checked])
        if any(each.before != found for each, found in zip(checked, held, strict=True)):
            return False
        for each in writes:
            cell = each.cell
            assert cell.table is not Table.REGISTERED, "its rows are not those of the tables"
            first = self._writes.get(cell)
            # What was checked first is what the store holds; the rest was checked on the sheet.
            self._writes[cell] = each if first is None else replace(first, after=each.after)
            self._rows.setdefault((cell.table, cell.row), {})[cell.field] = each.after
        return True

    def read(self, cells: Sequence[Cell]) -> tuple[bytes | None, ...]:
        below = [cell for cell in cells if cell not in self._writes]
        found = dict(zip(below, self._store.read(below), strict=True)) if below else {}
        return tuple(
            self._writes[cell].after if cell in self._writes else found[cell] for cell in cells
        )

    def rows(self, table: Table, rows: Sequence[str]) -> tuple[dict[str, bytes], ...]:
        below = self._store.rows(table, rows)
        return tuple(self._laid(table, row, of) for row, of in zip(rows, below, strict=True))

    def page(self, row: str, first: str, last: str, limit: int) -> tuple[tuple[str, bytes], ...]:
        below = dict(self._store.page(row, first, last, limit))
        found = self._laid(Table.HEAD, row, below)
        return tuple(each for each in found.items() if first <= each[0] <= last)[:limit]

    def _laid(self, table: Table, row: str, below: dict[str, bytes]) -> dict[str, bytes]:
        over = self._rows.get((table, row))
        if not over:
            return below
        found = {**below, **over}
        return {field: held for field, held in sorted(found.items()) if held is not None}
