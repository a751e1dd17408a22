"""Where the descriptors of very many splits lie, and what of them a record names."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor_py.pipelines.record import SourceState, SplitDescriptor
from conductor_workers.pipelines.splits import SplitTable
from conductor_workers.pipelines.storage import ObjectLost
from conductor_workers.pipelines.storage.local import LocalStorage
from conductor_workers.pipelines.workplace import Workplace

_PAGES = 700


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    return Workplace(
        storage=LocalStorage(tmp_path), run="r", address=str(tmp_path), pipeline="p", token=3
    )


def _packed(workplace: Workplace, state: SourceState, first: int, after: int) -> SourceState:
    table = SplitTable(workplace)
    for epoch in range(first, after):
        page = (SplitDescriptor(ord=epoch, descriptor={"n": epoch}),)
        state = SourceState(discovered=epoch + 1, tables=state.tables, pages=page)
        state = table.packed("a-1.b", state, limit=0, epoch=epoch)
    return state


def _numbers(workplace: Workplace, state: SourceState) -> list[int]:
    table = SplitTable(workplace)
    table.load({"a": state})
    return [table.of("a", at).descriptor["n"] for at in range(table.known("a"))]


def test_many_pages_are_few_objects_and_all_splits_are_there_in_order(workplace: Workplace) -> None:
    state = _packed(workplace, SourceState(), 0, _PAGES)
    assert not state.pages
    assert len(state.tables) <= 2 + 15 + 15
    assert sum(map(len, state.tables)) < 64 << 10
    assert _numbers(workplace, state) == list(range(_PAGES))


def test_an_older_record_finds_the_objects_that_it_names(workplace: Workplace) -> None:
    older = _packed(workplace, SourceState(), 0, 15)
    newer = _packed(workplace, older, 15, 40)
    assert set(older.tables).isdisjoint(newer.tables)
    assert _numbers(workplace, older) == list(range(15))
    assert _numbers(workplace, newer) == list(range(40))


def test_an_object_that_is_gone_is_not_left_out_of_a_larger_one(workplace: Workplace) -> None:
    state = _packed(workplace, SourceState(), 0, 15)
    workplace.storage.delete(state.tables[3].partition("#")[0])
    with pytest.raises(ObjectLost):
        _packed(workplace, state, 15, 16)
