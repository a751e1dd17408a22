"""Statements about many rows at once.

The driver gives up the interpreter's lock, and waits for it again, some four times a statement:
with a statement a row an indexed execution did so seventy times, and each time another thread was
woken. Rows come in pieces whose lengths are powers of two, so that few statements are compiled.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Final, TypeAlias

Row: TypeAlias = Sequence[object]

_MOST_VALUES: Final = 999
"""What SQLite binds in one statement before version 3.32."""
_MOST_ROWS: Final = 64


def write(connection: sqlite3.Connection, sql: str, rows: Sequence[Row]) -> None:
    """Carry out a statement in which ``{values}`` stands for ``VALUES`` and the rows; all rows are
    of one width, and without any nothing is done.
    """
    for piece in _pieces(rows):
        connection.execute(_filled(sql, len(piece[0]), len(piece)), _flat(piece))


def find(
    connection: sqlite3.Connection, sql: str, rows: Sequence[Row]
) -> Iterator[tuple[int, ...]]:
    """Ask as ``write`` does. The statement selects one text, ``group_concat`` of a row of numbers
    with a blank between them: it is one step, however many there are.
    """
    for piece in _pieces(rows):
        found = connection.execute(_filled(sql, len(piece[0]), len(piece)), _flat(piece))
        if numbers := found.fetchone()[0]:
            for row in str(numbers).split(","):
                yield tuple(map(int, row.split(" ")))


def marks(number: int) -> str:
    """The marks of so many values, with what separates them."""
    return ", ".join("?" * number)


def _pieces(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    at = 0
    while at < len(rows):
        left = min(len(rows) - at, _MOST_ROWS, _MOST_VALUES // len(rows[at]))
        end = at + (1 << (left.bit_length() - 1))
        yield rows[at:end]
        at = end


def _flat(piece: Sequence[Row]) -> tuple[object, ...]:
    return tuple(chain.from_iterable(piece))


@cache
def _filled(sql: str, width: int, number: int) -> str:
    rows = ", ".join([f"({marks(width)})"] * number)
    return sql.replace("{values}", f"VALUES {rows}")
