"""SQLite: a file that all readers and the writer reach under the same path."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast
from urllib.parse import quote

from conductor_workers.pipelines.databases.dialect import (
    Address,
    Connection,
    DatabaseError,
    Loading,
    Row,
    Trouble,
)
from conductor_workers.pipelines.databases.portions import portions

_SAMPLE = 100
_DECLARED = (
    (re.compile(r"BOOL"), "boolean"),
    (re.compile(r"INT"), "bigint"),
    (re.compile(r"CHAR|CLOB|TEXT|DATE|TIME|UUID|JSON"), "string"),
    (re.compile(r"BLOB"), "binary"),
    (re.compile(r"REAL|FLOA|DOUB"), "double"),
)
_EXACT_DIGITS = 15
_PRECISE = re.compile(r"(?:DECIMAL|NUMERIC)\((\d+),\s*(\d+)\)")
_BY_VALUE = {int: "bigint", float: "double", str: "string", bytes: "binary"}
_TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "INTEGER",
    "smallint": "INTEGER",
    "int": "INTEGER",
    "bigint": "INTEGER",
    "float": "REAL",
    "double": "REAL",
    "string": "TEXT",
    "binary": "BLOB",
    "date": "TEXT",
    "timestamp": "TEXT",
    "timestamp_ntz": "TEXT",
}


class Sqlite:
    """``Dialect`` of SQLite."""

    placeholder = "?"

    def connect(self, address: Address, *, lock_wait_s: float, read_only: bool) -> Connection:
        mode = "ro" if read_only else "rwc"
        made = sqlite3.connect(
            f"file:{quote(address.database)}?mode={mode}",
            uri=True,
            timeout=lock_wait_s,
            isolation_level=None,
            check_same_thread=False,
        )
        return cast("Connection", made)

    def explained(self, error: BaseException) -> DatabaseError | None:
        if not isinstance(error, sqlite3.Error):
            return None
        said = str(error)
        if "locked" in said or "busy" in said:
            return DatabaseError(Trouble.LOCKED, said)
        if "no such table" in said:
            return DatabaseError(Trouble.NO_TABLE, said)
        if "no such column" in said or "has no column" in said:
            return DatabaseError(Trouble.NO_COLUMN, said)
        if "unable to open" in said:
            return DatabaseError(Trouble.AWAY, said)
        if isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in said:
            return DatabaseError(Trouble.DUPLICATE, said)
        return DatabaseError(Trouble.OTHER, said)

    def quoted(self, name: str) -> str:
        """With double quotes an unknown name would be taken for a text."""
        return "`" + name.replace("`", "``") + "`"

    def columns(self, connection: Connection, query: str) -> tuple[tuple[str, str | None], ...]:
        """Declared types are only hints here, and expressions have none: values decide then."""
        cursor = connection.cursor()
        cursor.execute(f"SELECT * FROM ({query}) LIMIT {_SAMPLE}")  # noqa: S608 - the author's query
        names = [str(column[0]) for column in cursor.description or ()]
        rows = cursor.fetchmany(_SAMPLE)
        declared = self._declared(connection, query)
        return tuple(
            (name, declared.get(name) or _by_values([row[at] for row in rows]))
            for at, name in enumerate(names)
        )

    def stream(
        self, connection: Connection, query: str, args: Sequence[Any], fetch_rows: int
    ) -> Iterator[Sequence[Row]]:
        cursor = connection.cursor()
        cursor.execute(query, args)
        while rows := cursor.fetchmany(fetch_rows):
            yield rows

    def begin(self, connection: Connection) -> None:
        connection.cursor().execute("BEGIN IMMEDIATE")

    def insert_missing(self, table: str, columns: Sequence[str]) -> str:
        marks = ", ".join("?" * len(columns))
        listed = ", ".join(columns)
        return f"INSERT INTO {table} ({listed}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608

    def load(self, connection: Connection, loading: Loading, rows: Iterator[Row]) -> None:
        marks = ", ".join("?" * len(loading.columns))
        listed = ", ".join(loading.columns)
        statement = f"INSERT INTO {loading.table} ({listed}) VALUES ({marks})"  # noqa: S608 - quoted
        if loading.key:
            statement += on_conflict(loading)
        cursor = connection.cursor()
        for portion in portions(rows, loading.batch_rows):
            cursor.executemany(statement, portion)

    def column_type(self, spark_type: str) -> str | None:
        if precise := _PRECISE.fullmatch(spark_type.upper()):
            # As a number it would be rounded: SQLite goes by what is in the name of the type.
            exact = int(precise[1]) <= _EXACT_DIGITS
            return "NUMERIC" if exact else f"TEXT_{precise[0]}"
        return _TYPES.get(spark_type)

    def stored(self, spark_type: str, value: Any) -> Any:  # noqa: ANN401 - values of any type
        if isinstance(value, Decimal):
            return str(value)
        if isinstance(value, datetime):
            return value.replace(tzinfo=None).isoformat(" ")
        return value.isoformat() if isinstance(value, date) else value

    def refusal(self, connection: Connection, table: str) -> str | None:
        return None

    def _declared(self, connection: Connection, query: str) -> dict[str, str | None]:
        table = re.fullmatch(r"SELECT .* FROM ((?:`[^`]+`\.)*`([^`]+)`)( WHERE .*)?", query)
        if table is None:
            return {}
        cursor = connection.cursor()
        cursor.execute("SELECT name, type FROM pragma_table_info(?)", (table[2],))
        return {str(name): _by_declaration(str(kind)) for name, kind in cursor.fetchmany(10_000)}


def on_conflict(loading: Loading) -> str:
    """Return the end of an insert that replaces what has the same key."""
    rest = [column for column in loading.columns if column not in loading.key]
    changes = ", ".join(f"{column} = excluded.{column}" for column in rest)
    action = f"UPDATE SET {changes}" if rest else "NOTHING"
    return f" ON CONFLICT ({', '.join(loading.key)}) DO {action}"


def _by_declaration(declared: str) -> str | None:
    upper = declared.upper()
    precise = _PRECISE.search(upper)
    if precise is not None:
        return f"decimal({precise[1]},{precise[2]})"
    return next((spark for pattern, spark in _DECLARED if pattern.search(upper)), None)


def _by_values(values: Sequence[Any]) -> str | None:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return "double"
    return _BY_VALUE.get(kinds.pop()) if len(kinds) == 1 else "string" if not kinds else None
