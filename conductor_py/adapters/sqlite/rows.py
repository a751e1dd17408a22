"""Documents into their three tables, unless versions as new are there already.

A batch takes one statement for each kind of step, not one for each document. ``given`` is the batch
as a statement sees it: what stands beside a number is looked up by that.
"""
# ruff: noqa: S608 - every name is of the catalogue, every value a parameter

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import orjson

from conductor_py.adapters.sqlite.schema import SLOTS, Table, first_row, last_row
from conductor_py.adapters.sqlite.several import find, write
from conductor_py.adapters.sqlite.statement import tag
from conductor_py.codec.search_document import (
    LIST_FIELDS,
    StoredSummary,
    keyword_words,
    text_words,
)
from conductor_py.errors import StoreUnavailable
from conductor_py.records import dataclass, field


@dataclass(slots=True, kw_only=True, eq=False)
class _Document:
    """One that is to be written, and the row that it has, or gets."""

    identity: str
    time_ms: int
    version: int
    stored: StoredSummary
    body: bytes
    row: int = -1
    slot: int = field(init=False)

    def __post_init__(self) -> None:
        self.slot = zlib.crc32(self.identity.encode())

    def has_its_row(self) -> bool:
        """Whether the row that it has is one of its time."""
        return first_row(self.time_ms) <= self.row <= last_row(self.time_ms)


def write_documents(
    connection: sqlite3.Connection, table: Table, given: Iterable[tuple[StoredSummary, int]]
) -> None:
    """Insert or replace those with their versions, within the caller's transaction."""
    sql = _statements(table)
    known, new = _divided(connection, sql, _newest(table, given))
    # Most tasks of an execution that ends: nothing of them has changed since they ended.
    same = {row for (row,) in find(connection, sql["same"], [(d.row, d.body) for d in known])}
    write(connection, sql["fence"], [(d.row, d.version) for d in known if d.row in same])
    changed = [d for d in known if d.row not in same]
    moved = [d for d in changed if not d.has_its_row()]
    forget(connection, table, [d.row for d in moved])
    _give_rows(connection, sql["taken"], new + moved)
    _write(connection, table, changed + new)


def forget(connection: sqlite3.Connection, table: Table, rows: Sequence[int]) -> None:
    """Delete the documents of these rows."""
    sql, gone = _statements(table), [(row,) for row in rows]
    for statement in ("forget words", "forget body", "forget"):
        write(connection, sql[statement], gone)


def _newest(table: Table, given: Iterable[tuple[StoredSummary, int]]) -> list[_Document]:
    """Of each document the newest version, of equal ones the first."""
    newest: dict[str, _Document] = {}
    for stored, version in given:
        identity = stored[table.identity]
        there = newest.get(identity)
        if there is None or there.version < version:
            newest[identity] = _Document(
                identity=identity,
                time_ms=stored.get(table.time, 0),
                version=version,
                stored=stored,
                body=orjson.dumps(stored),
            )
    return list(newest.values())


def _divided(
    connection: sqlite3.Connection, sql: Mapping[str, str], documents: Sequence[_Document]
) -> tuple[list[_Document], list[_Document]]:
    """Those of which an older version is there, with its row, and those of which none is."""
    fences: dict[int, int] = {}
    asked = [(at, document.identity) for at, document in enumerate(documents)]
    for at, row, fence in find(connection, sql["find"], asked):
        documents[at].row, fences[at] = row, fence
    known = [documents[at] for at, fence in fences.items() if fence < documents[at].version]
    return known, [d for at, d in enumerate(documents) if at not in fences]


def _give_rows(connection: sqlite3.Connection, taken: str, documents: list[_Document]) -> None:
    """Find each a number of its millisecond that no other document has."""
    given: set[int] = set()
    for offset in range(SLOTS):
        later, asked = [], {}
        for document in documents:
            document.row = first_row(document.time_ms) + (document.slot + offset) % SLOTS
            if document.row in given or document.row in asked:
                later.append(document)
            else:
                asked[document.row] = document
        given |= asked.keys()
        rows = [(row,) for row in asked]
        later += [asked[row] for (row,) in find(connection, taken, rows)]
        documents = later
        if not documents:
            return
    time_ms = documents[0].time_ms
    raise StoreUnavailable(f"More than {SLOTS} documents have the time {time_ms}.")


def _write(connection: sqlite3.Connection, table: Table, documents: Sequence[_Document]) -> None:
    sql = _statements(table)
    rows = ((d.row, d.version, *_columns(table, d.stored)) for d in documents)
    write(connection, sql["row"], rows)
    write(connection, sql["body"], ((d.row, d.body) for d in documents))
    write(connection, sql["words"], ((d.row, *_words(table, d.stored)) for d in documents))


@cache
def _statements(table: Table) -> dict[str, str]:
    name, columns, words = table.name, (*table.columns, *table.texts), table.texts
    return {
        "find": "WITH given (place, identity) AS ({values}) SELECT group_concat("
        f"given.place || ' ' || held.row || ' ' || held.fence) FROM given JOIN {name} held"
        f" ON held.{table.identity} = given.identity",
        "same": "WITH given (row, document) AS ({values}) SELECT group_concat(given.row)"
        f" FROM given JOIN {name}_body held ON held.row = given.row"
        " WHERE held.document = given.document",
        "fence": f"WITH given (row, fence) AS ({{values}}) UPDATE {name} SET fence ="
        f" (SELECT given.fence FROM given WHERE given.row = {name}.row)"
        " WHERE row IN (SELECT row FROM given)",
        "taken": f"SELECT group_concat(row) FROM {name} WHERE row IN ({{values}})",
        "row": f"INSERT OR REPLACE INTO {name} (row, fence, {', '.join(columns)}) {{values}}",
        "body": f"INSERT OR REPLACE INTO {name}_body (row, document) {{values}}",
        "words": f"INSERT OR REPLACE INTO {name}_words (rowid, tags, keywords,"
        f" {', '.join(words)}) {{values}}",
        "forget": f"DELETE FROM {name} WHERE row IN ({{values}})",
        "forget body": f"DELETE FROM {name}_body WHERE row IN ({{values}})",
        "forget words": f"DELETE FROM {name}_words WHERE rowid IN ({{values}})",
    }


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
