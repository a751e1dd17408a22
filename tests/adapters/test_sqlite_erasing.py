"""The search file keeps no byte of what was deleted, once it was asked to erase."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conductor_py.adapters.sqlite.connections import Connections
from conductor_py.adapters.sqlite.search import SqliteSearch
from conductor_py.errors import StoreUnavailable
from conductor_py.model.search import (
    ExecutionDocument,
    ExecutionSummary,
    SearchRequest,
    TaskSummary,
    anywhere,
)

_DOCUMENTS = 400
_MARK = re.compile(rb"zq(\d{5})")


def _mark(number: int, field: str) -> str:
    """Begins with something of its own: sorted words share their beginnings."""
    return f"{number * 2654435761 % (1 << 32):08x}{field}zq{number:05}"


def _document(number: int, version: int, chance: random.Random) -> ExecutionDocument:
    """As long as chance has it, so that rows move from page to page."""
    filler = " ".join(f"{chance.getrandbits(24):x}" for _ in range(chance.randrange(80)))
    execution = f"e{number}"
    return ExecutionDocument(
        version=version,
        summary=ExecutionSummary(
            execution_id=execution,
            workflow_type="orders",
            workflow_version=1,
            status="RUNNING",
            start_ms=chance.randrange(10_000) if version == 1 else 10 * number,
            correlation_id=_mark(number, "c"),
            input=f"{_mark(number, 'i')} {filler}",
            output=_mark(number, "o"),
        ),
        tasks=(
            TaskSummary(
                task_id=f"{execution}-1",
                execution_id=execution,
                workflow_type="orders",
                task_type="SIMPLE",
                reference="t",
                scheduled_ms=10 * number,
                status="COMPLETED",
                input=_mark(number, "t"),
            ),
        ),
        kept=(_mark(number, "k") * chance.randrange(1, 900)).encode(),
        archive=_mark(number, "a").encode(),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "search.sqlite"


@pytest.fixture
def search(file: Path) -> Iterator[SqliteSearch]:
    made = SqliteSearch(file)
    yield made
    made.close()


def _filled(search: SqliteSearch) -> set[int]:
    """Put documents, change each twice, delete half; the numbers of those."""
    chance = random.Random(7)
    numbers = list(range(_DOCUMENTS))
    for version in (1, 2, 3):
        chance.shuffle(numbers)
        for first in range(0, _DOCUMENTS, 20):
            part = numbers[first : first + 20]
            search.put([_document(number, version, chance) for number in part])
    gone = set(chance.sample(numbers, _DOCUMENTS // 2))
    for number in sorted(gone):
        search.delete(f"e{number}", 3)
    return gone


def _erase(search: SqliteSearch) -> None:
    while not search.erase():
        pass


def _left(file: Path, numbers: set[int]) -> dict[str, set[int]]:
    """Which of the numbers are still in which file."""
    found = {
        path.name: {int(mark) for mark in _MARK.findall(path.read_bytes())} & numbers
        for path in file.parent.iterdir()
    }
    return {name: marks for name, marks in found.items() if marks}


def test_no_byte_of_what_was_deleted_is_left_and_all_else_is_found(
    file: Path, search: SqliteSearch
) -> None:
    gone = _filled(search)
    assert _left(file, gone)

    _erase(search)

    assert _left(file, gone) == {}
    stays = set(range(_DOCUMENTS)) - gone
    assert _left(file, stays)[file.name] == stays
    for number in (min(stays), max(stays)):
        for field in ("c", "i", "o"):
            found = search.search(SearchRequest(query=anywhere(_mark(number, field))))
            assert [each.execution_id for each in found.results] == [f"e{number}"]
        (task,) = search.search_tasks(SearchRequest(query=anywhere(_mark(number, "t")))).results
        assert task.execution_id == f"e{number}"
        kept = search.kept(f"e{number}")
        assert kept is not None
        assert _mark(number, "k").encode() in kept.document


def test_it_is_done_again_for_what_is_deleted_later(file: Path, search: SqliteSearch) -> None:
    gone = _filled(search)
    _erase(search)
    later = set(sorted(set(range(_DOCUMENTS)) - gone)[::2])
    for number in later:
        search.delete(f"e{number}", 3)
    assert _left(file, later)

    _erase(search)

    assert _left(file, later) == {}


def test_a_reader_that_lasts_is_waited_for_step_by_step(file: Path, search: SqliteSearch) -> None:
    gone = _filled(search)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM execution").fetchone()
        assert not any(search.erase() for _ in range(5))
        search.put([_document(_DOCUMENTS, 1, random.Random(1))])
        reader.execute("ROLLBACK")

    _erase(search)

    assert _left(file, gone) == {}


def test_a_file_that_cannot_be_written_anew_has_an_empty_log(
    file: Path, search: SqliteSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreUnavailable("database or disk is full")

    gone = _filled(search)
    with monkeypatch.context() as broken:
        broken.setattr(Connections, "rewrite", full)
        with pytest.raises(StoreUnavailable):
            _erase(search)
    log = file.with_name(f"{file.name}-wal")
    assert log.stat().st_size == 0
    _erase(search)
    assert _left(file, gone) == {}


def test_a_large_file_is_not_written_anew_whole(file: Path) -> None:
    """It stays as large as it was; what was deleted is overwritten but for a few copies."""
    search = SqliteSearch(file, rewritten_bytes=0)
    gone = _filled(search)
    size = file.stat().st_size
    _erase(search)
    assert file.stat().st_size >= size
    assert len(_left(file, gone).get(file.name, set())) < len(gone) // 10
    search.close()
