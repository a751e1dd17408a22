"""Statements about many rows at once.

The driver gives up the interpreter's lock, and waits for it again, some four times a statement:
with a statement a row an indexed execution did so seventy times, and each time another thread was
woken. Rows come in pieces whose lengths are powers of two, so that few statements are compiled.
"""
# ruff: noqa: S608 - every name is our own

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Final, TypeAlias, TypeVar

from conductor_py.model.search import ExecutionDocument

Row: TypeAlias = Sequence[object]
T = TypeVar("T")

_MOST_VALUES: Final = 999
"""What SQLite binds in one statement before version 3.32."""
_MOST_ROWS: Final = 64
_MOST_BYTES: Final = 128 * 1024
"""A statement that is kept compiled keeps what was bound to it last."""


def portions(
    given: Iterable[T], bytes_of: Callable[[T], int], *, most: int, most_bytes: int
) -> Iterator[list[T]]:
    """Divide what comes: each portion has at most so many, and ends where it has so many bytes."""
    portion: list[T] = []
    held = 0
    for each in given:
        portion.append(each)
        held += bytes_of(each)
        if len(portion) >= most or held >= most_bytes:
            yield portion
            portion, held = [], 0
    if portion:
        yield portion


def write(connection: sqlite3.Connection, sql: str, rows: Iterable[Row]) -> None:
    """Carry out a statement in which ``{values}`` stands for ``VALUES`` and the rows; all rows are
    of one width, and without any nothing is done.
    """
    for piece in _pieces(rows):
        connection.execute(_filled(sql, len(piece[0]), len(piece)), _flat(piece))


def find(
    connection: sqlite3.Connection, sql: str, rows: Iterable[Row]
) -> Iterator[tuple[int, ...]]:
    """Ask as ``write`` does. The statement selects one text, ``group_concat`` of a row of numbers
    with a blank between them: it is one step, however many there are.
    """
    for piece in _pieces(rows):
        found = connection.execute(_filled(sql, len(piece[0]), len(piece)), _flat(piece))
        if numbers := found.fetchone()[0]:
            for row in str(numbers).split(","):
                yield tuple(map(int, row.split(" ")))


def without_newer(
    connection: sqlite3.Connection, table: str, documents: Sequence[ExecutionDocument]
) -> list[ExecutionDocument]:
    """Leave out those of which the table holds a version as new."""
    sql = (
        "WITH given (place, id, version) AS ({values}) SELECT group_concat(given.place)"
        f" FROM given JOIN {table} held ON held.workflowId = given.id"
        " AND held.version >= given.version"
    )
    asked = [(at, each.execution_id, each.version) for at, each in enumerate(documents)]
    newer = {at for (at,) in find(connection, sql, asked)}
    return [document for at, document in enumerate(documents) if at not in newer]


def _pieces(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    for some in portions(rows, _bytes_of, most=_MOST_ROWS, most_bytes=_MOST_BYTES):
        at = 0
        while at < len(some):
            left = min(len(some) - at, _MOST_VALUES // len(some[at]))
            end = at + (1 << (left.bit_length() - 1))
            yield some[at:end]
            at = end


def _bytes_of(row: Row) -> int:
    return sum(len(value) for value in row if isinstance(value, str | bytes))


def _flat(piece: Sequence[Row]) -> tuple[object, ...]:
    return tuple(chain.from_iterable(piece))


@cache
def _filled(sql: str, width: int, number: int) -> str:
    row = f"({', '.join('?' * width)})"
    rows = ", ".join([row] * number)
    return sql.replace("{values}", f"VALUES {rows}")
