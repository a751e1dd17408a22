"""The tables: one narrow row a document to filter and sort by, its words, and its body elsewhere.

The row number is made of the document's time and grows with it, so that newest-first, the order
that nearly everybody asks for, is the order of the file and of the word index. Bodies stand in a
table of their own: a scan of the narrow rows of a million documents stays in the cache.
"""
# ruff: noqa: S608 - every name is of the catalogue

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conductor_py.model.search import (
    EXECUTION_FIELDS,
    EXECUTIONS_NEWEST_FIRST,
    TASK_FIELDS,
    TASKS_NEWEST_FIRST,
    FieldKind,
)
from conductor_py.records import dataclass, field

FORMAT = 1
"""``user_version`` of the file; another one is not touched."""

SLOTS = 1 << 20
"""Row numbers of one millisecond."""

_LATEST_MS = (1 << 63) // SLOTS - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """One kind of document: its columns are the fields of the catalogue under their own names."""

    name: str
    identity: str
    time: str
    fields: Mapping[str, FieldKind]
    tags: tuple[str, ...]
    """Fields whose values also stand in the word index, because people combine them with words."""
    indices: tuple[tuple[str, ...], ...]

    columns: tuple[str, ...] = field(init=False)
    """The fields whose values stand in the narrow row."""
    texts: tuple[str, ...] = field(init=False)
    """The fields searched by words; the narrow row says only whether there is a text."""

    def __post_init__(self) -> None:
        """Divide the fields once: both are asked for with each document."""
        texts = tuple(name for name, kind in self.fields.items() if kind is FieldKind.TEXT)
        object.__setattr__(self, "texts", texts)
        object.__setattr__(self, "columns", tuple(n for n in self.fields if n not in texts))


EXECUTIONS = Table(
    name="execution",
    identity="workflowId",
    time=EXECUTIONS_NEWEST_FIRST.field,
    fields=EXECUTION_FIELDS,
    tags=("workflowType", "status"),
    indices=(("workflowType", "status"), ("status",), ("correlationId",), ("parentWorkflowId",)),
)

TASKS = Table(
    name="task",
    identity="taskId",
    time=TASKS_NEWEST_FIRST.field,
    fields=TASK_FIELDS,
    tags=("taskDefName", "status"),
    indices=(("workflowId",), ("taskDefName", "status")),
)


_KEPT = (
    "CREATE TABLE IF NOT EXISTS kept (workflowId TEXT PRIMARY KEY, version INTEGER NOT NULL,"
    " document BLOB NOT NULL)"
)


def _counting(table: Table) -> Iterator[str]:
    """Keep the number of documents: counting a million of them takes a quarter of a second."""
    name = table.name
    change = f"UPDATE counted SET number = number %s WHERE name = '{name}'"
    yield f"INSERT OR IGNORE INTO counted SELECT '{name}', count(*) FROM {name}"
    # What replaces a row is inserted, too, and nothing is deleted for it.
    yield (
        f"CREATE TRIGGER IF NOT EXISTS {name}_comes BEFORE INSERT ON {name}"
        f" WHEN NOT EXISTS (SELECT 1 FROM {name} WHERE row = NEW.row)"
        f" BEGIN {change % '+ 1'}; END"
    )
    yield (
        f"CREATE TRIGGER IF NOT EXISTS {name}_goes AFTER DELETE ON {name}"
        f" BEGIN {change % '- 1'}; END"
    )


_PAGES = (
    "CREATE TABLE IF NOT EXISTS archive_page (workflowId TEXT NOT NULL, version INTEGER NOT NULL,"
    " page INTEGER NOT NULL, document BLOB NOT NULL, PRIMARY KEY (workflowId, version, page))"
)
# For servers of earlier versions, too, which know of no pages.
_PAGES_GO = (
    "CREATE TRIGGER IF NOT EXISTS archive_goes AFTER DELETE ON archive"
    " BEGIN DELETE FROM archive_page WHERE workflowId = OLD.workflowId; END"
)

ADDED = (
    _KEPT,
    "CREATE TABLE IF NOT EXISTS counted (name TEXT PRIMARY KEY, number INTEGER NOT NULL)",
    *_counting(EXECUTIONS),
    *_counting(TASKS),
    _PAGES,
    _PAGES_GO,
)
"""What files of this format made by earlier versions lack, all or the end of it."""
HAS_ADDED = "SELECT 1 FROM sqlite_master WHERE name = 'archive_goes'"
"""Finds the last of it."""


def statements() -> Iterator[str]:
    """List the statements that make an empty file ready."""
    for table in (EXECUTIONS, TASKS):
        yield from _table(table)
    yield (
        "CREATE TABLE archive (workflowId TEXT PRIMARY KEY, version INTEGER NOT NULL,"
        " endTime INTEGER, document BLOB NOT NULL)"
    )
    yield from ADDED
    yield "CREATE INDEX archive_ended ON archive (endTime, workflowId, version)"
    yield (
        "CREATE TABLE deleted (sequence INTEGER PRIMARY KEY AUTOINCREMENT,"
        " workflowId TEXT NOT NULL UNIQUE, version INTEGER NOT NULL)"
    )
    yield f"PRAGMA user_version = {FORMAT}"


def first_row(time_ms: int | None) -> int:
    """Find the least row number of that time; of all times for None."""
    return _bounded(time_ms or 0) * SLOTS


def last_row(time_ms: int | None) -> int:
    """Find the greatest row number of that time; of all times for None."""
    return (_bounded(_LATEST_MS if time_ms is None else time_ms) + 1) * SLOTS - 1


def _bounded(time_ms: int) -> int:
    return min(max(time_ms, 0), _LATEST_MS)


def _table(table: Table) -> Iterator[str]:
    name = table.name
    columns = ", ".join(_column(table, column) for column in (*table.columns, *table.texts))
    yield (f"CREATE TABLE {name} (row INTEGER PRIMARY KEY, fence INTEGER NOT NULL, {columns})")
    yield f"CREATE TABLE {name}_body (row INTEGER PRIMARY KEY, document BLOB NOT NULL)"
    # The words are lower-case and separated already; the tokenizer only takes them apart again.
    yield (
        f"CREATE VIRTUAL TABLE {name}_words USING fts5(tags, keywords, {', '.join(table.texts)},"
        " tokenize = 'unicode61 remove_diacritics 0', detail = 'column', columnsize = 0)"
    )
    for index in table.indices:
        # Few executions have a parent or a correlation id: those without cost no entry.
        present = f" WHERE {index[0]} IS NOT NULL" if len(index) == 1 else ""
        yield (f"CREATE INDEX {name}_{'_'.join(index)} ON {name} ({', '.join(index)}){present}")


def _column(table: Table, column: str) -> str:
    kind = "TEXT" if table.fields[column] is FieldKind.KEYWORD else "INTEGER"
    return f"{column} {kind}{' NOT NULL UNIQUE' if column == table.identity else ''}"
