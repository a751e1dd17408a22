"""A sheet over the catalog's tables reads as a store that was changed, and changes it the same."""

from __future__ import annotations

import random

import pytest

from conductor_py.adapters.memory.catalog import MemoryCatalogStore
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.engine.catalog.sheet import Sheet
from conductor_py.ports.catalog import CatalogStore, Cell, Table, Write

_FIELDS = [f"{number:019d}" for number in range(6)]
_CELLS = [
    Cell(table=table, row=row, field=field)
    for table in (Table.HEAD, Table.DOCUMENT)
    for row in ("workflow", "task")
    for field in _FIELDS
]


def _store() -> MemoryCatalogStore:
    return MemoryCatalogStore(MemorySpace())


def _write(of: random.Random) -> Write:
    cell, held = of.choice(_CELLS), [b"a", b"b"]
    may_be_empty = cell.table is Table.DOCUMENT
    after = of.choice([*held, None] if may_be_empty else held)
    return Write(
        cell=cell,
        after=after,
        checked=of.random() < 0.5,
        before=of.choice([*held, None, None]),
    )


def _seen(store: CatalogStore) -> object:
    rows = [
        store.rows(table, ("workflow", "task", "nothing")) for table in (Table.HEAD, Table.DOCUMENT)
    ]
    pages = [store.page("task", _FIELDS[1], _FIELDS[4], limit) for limit in (1, 3, 10)]
    return rows, store.read(_CELLS), store.read(()), pages


@pytest.mark.parametrize("seed", range(20))
def test_a_sheet_is_like_the_store_that_it_becomes(seed: int) -> None:
    of = random.Random(seed)
    real, other = _store(), _store()
    for each in (_write(of) for _ in range(10)):
        plain = Write(cell=each.cell, after=each.after)
        assert real.change([plain])
        assert other.change([plain])
    before, sheet = _seen(other), Sheet(other)
    for _ in range(30):
        writes = [_write(of) for _ in range(of.randint(1, 3))]
        if len({each.cell for each in writes}) == len(writes):
            assert sheet.change(writes) == real.change(writes)
        assert _seen(sheet) == _seen(real)
    assert _seen(other) == before
    assert other.change(sheet.writes)
    assert _seen(other) == _seen(real)


def test_what_was_relied_on_is_looked_at_again_when_all_is_written() -> None:
    store = _store()
    cell, relied = _CELLS[0], _CELLS[1]
    store.change([Write(cell=relied, after=b"a")])
    sheet = Sheet(store)
    assert sheet.change([Write(cell=relied, after=b"a", checked=True, before=b"a")])
    assert sheet.change([Write(cell=cell, after=b"x", checked=True)])
    store.change([Write(cell=relied, after=b"b")])
    assert not store.change(sheet.writes)
    assert store.read((cell, relied)) == (None, b"b")
