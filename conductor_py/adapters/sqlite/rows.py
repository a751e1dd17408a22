"""One document into its three tables, unless a version as new is there already."""
# ruff: noqa: S608 - every name is of the catalogue, every value a parameter

from __future__ import annotations

import sqlite3
import zlib
from functools import cache

import orjson

from conductor_py.adapters.sqlite.schema import SLOTS, Table, first_row, last_row
from conductor_py.adapters.sqlite.statement import tag
from conductor_py.codec.search_document import (
    LIST_FIELDS,
    StoredSummary,
    keyword_words,
    text_words,
)
from conductor_py.errors import StoreUnavailable


def write_document(
    connection: sqlite3.Connection, table: Table, stored: StoredSummary, version: int
) -> None:
    """Insert or replace, within the caller's transaction."""
    sql = _statements(table)
    identity, time_ms = stored[table.identity], stored.get(table.time, 0)
    body = orjson.dumps(stored)
    held = connection.execute(sql["find"], (identity,)).fetchone()
    if held is None:
        row = _free_row(connection, sql["taken"], identity, time_ms)
    elif held[1] >= version:
        return
    elif connection.execute(sql["held"], (held[0],)).fetchone() == (body,):
        # Most tasks of an execution that ends: nothing of them has changed since they ended.
        connection.execute(sql["fence"], (version, held[0]))
        return
    elif first_row(time_ms) <= held[0] <= last_row(time_ms):
        row = held[0]
    else:
        for statement in ("forget words", "forget body", "forget"):
            connection.execute(sql[statement], (held[0],))
        row = _free_row(connection, sql["taken"], identity, time_ms)
    connection.execute(sql["row"], (row, version, *_columns(table, stored)))
    connection.execute(sql["body"], (row, body))
    connection.execute(sql["words"], (row, *_words(table, stored)))


@cache
def _statements(table: Table) -> dict[str, str]:
    name, columns, words = table.name, (*table.columns, *table.texts), table.texts
    return {
        "find": f"SELECT row, fence FROM {name} WHERE {table.identity} = ?",
        "held": f"SELECT document FROM {name}_body WHERE row = ?",
        "fence": f"UPDATE {name} SET fence = ? WHERE row = ?",
        "taken": f"SELECT 1 FROM {name} WHERE row = ?",
        "row": f"INSERT OR REPLACE INTO {name} (row, fence, {', '.join(columns)})"
        f" VALUES ({_marks(len(columns) + 2)})",
        "body": f"INSERT OR REPLACE INTO {name}_body (row, document) VALUES (?, ?)",
        "words": f"INSERT OR REPLACE INTO {name}_words (rowid, tags, keywords, {', '.join(words)})"
        f" VALUES ({_marks(len(words) + 3)})",
        "forget": f"DELETE FROM {name} WHERE row = ?",
        "forget body": f"DELETE FROM {name}_body WHERE row = ?",
        "forget words": f"DELETE FROM {name}_words WHERE rowid = ?",
    }


def _marks(number: int) -> str:
    return ", ".join("?" * number)


def _free_row(connection: sqlite3.Connection, taken: str, identity: str, time_ms: int) -> int:
    """Find a number of the document's millisecond that no other document has."""
    first = zlib.crc32(identity.encode())
    for offset in range(SLOTS):
        row = first_row(time_ms) + (first + offset) % SLOTS
        if connection.execute(taken, (row,)).fetchone() is None:
            return row
    raise StoreUnavailable(f"More than {SLOTS} documents have the time {time_ms}.")


def _columns(table: Table, stored: StoredSummary) -> list[object]:
    get = stored.get
    values = [get(name) for name in table.columns]
    if not LIST_FIELDS.isdisjoint(stored):
        for at, name in enumerate(table.columns):
            if name in LIST_FIELDS and name in stored:
                values[at] = orjson.dumps(stored[name]).decode()
    # Of a long text the narrow row holds only whether there is one.
    return values + [1 if name in stored else None for name in table.texts]


def _words(table: Table, stored: StoredSummary) -> list[str]:
    tags = " ".join(tag(name, stored[name]) for name in table.tags if name in stored)
    texts = (" ".join(text_words(stored, name)) for name in table.texts)
    return [tags, " ".join(keyword_words(stored, table.fields)), *texts]
