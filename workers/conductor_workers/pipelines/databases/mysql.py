"""MySQL and MariaDB, by PyMySQL: rows arrive unbuffered, and leave in inserts of many rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE, FLAG
from pymysql.cursors import SSCursor

from conductor_workers.pipelines.databases.dialect import (
    Address,
    Connection,
    DatabaseError,
    Loading,
    Row,
    Trouble,
    formatted,
)
from conductor_workers.pipelines.databases.portions import portions

_BY_TYPE: Final = {
    FIELD_TYPE.TINY: "smallint",
    FIELD_TYPE.SHORT: "int",
    FIELD_TYPE.INT24: "int",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
    FIELD_TYPE.YEAR: "int",
    FIELD_TYPE.FLOAT: "float",
    FIELD_TYPE.DOUBLE: "double",
    FIELD_TYPE.DATE: "date",
    FIELD_TYPE.NEWDATE: "date",
    FIELD_TYPE.DATETIME: "timestamp_ntz",
    FIELD_TYPE.TIMESTAMP: "timestamp",
    FIELD_TYPE.TIME: "string",
    FIELD_TYPE.JSON: "string",
    FIELD_TYPE.BIT: "binary",
}
_UNSIGNED: Final = {FIELD_TYPE.LONG: "bigint", FIELD_TYPE.LONGLONG: "decimal(20,0)"}
_DECIMALS: Final = (FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL)
_TEXTS: Final = (
    FIELD_TYPE.VARCHAR,
    FIELD_TYPE.VAR_STRING,
    FIELD_TYPE.STRING,
    FIELD_TYPE.BLOB,
    FIELD_TYPE.TINY_BLOB,
    FIELD_TYPE.MEDIUM_BLOB,
    FIELD_TYPE.LONG_BLOB,
    FIELD_TYPE.ENUM,
    FIELD_TYPE.SET,
)
_BINARY: Final = 63
"""The character set of bytes."""
_MOST_DIGITS: Final = 38
_TYPES: Final = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "LONGTEXT",
    "binary": "LONGBLOB",
    "date": "DATE",
    "timestamp": "DATETIME(6)",
    "timestamp_ntz": "DATETIME(6)",
}
_TROUBLES: Final = {
    1205: Trouble.LOCKED,
    1213: Trouble.LOCKED,
    3572: Trouble.LOCKED,
    1146: Trouble.NO_TABLE,
    1051: Trouble.NO_TABLE,
    1049: Trouble.NO_TABLE,
    1054: Trouble.NO_COLUMN,
    1062: Trouble.DUPLICATE,
    1040: Trouble.AWAY,
    1053: Trouble.AWAY,
    2003: Trouble.AWAY,
    2006: Trouble.AWAY,
    2013: Trouble.AWAY,
    2055: Trouble.AWAY,
}
_OPTIONS: Final = ("ssl_ca", "ssl_cert", "ssl_key", "unix_socket")


class Mysql:
    """``Dialect`` of MySQL and MariaDB."""

    placeholder = "%s"

    def connect(self, address: Address, *, lock_wait_s: float, read_only: bool) -> Connection:
        waits = max(1, int(lock_wait_s))
        options: dict[str, Any] = {k: v for k, v in address.options if k in _OPTIONS}
        made = pymysql.connect(
            host=address.host or "localhost",
            port=address.port or 3306,
            user=address.user or None,
            password=address.password,
            database=address.database or None,
            charset="utf8mb4",
            connect_timeout=waits,
            client_flag=CLIENT.FOUND_ROWS,  # an update that changes nothing counts its rows, too
            init_command=(
                f"SET time_zone = '+00:00', lock_wait_timeout = {waits}, "
                f"innodb_lock_wait_timeout = {waits}, sql_mode = CONCAT(@@sql_mode, "
                "',STRICT_ALL_TABLES')"
            ),
            **options,
        )
        return cast("Connection", made)

    def explained(self, error: BaseException) -> DatabaseError | None:
        if not isinstance(error, pymysql.MySQLError):
            return None
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        said = str(error.args[1]) if len(error.args) > 1 else str(error)
        if isinstance(error, pymysql.InterfaceError):
            return DatabaseError(Trouble.AWAY, said)
        return DatabaseError(_TROUBLES.get(number, Trouble.OTHER), said)

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def columns(self, connection: Connection, query: str) -> tuple[tuple[str, str | None], ...]:
        with _pymysql(connection).cursor() as cursor:
            cursor.execute(f"SELECT * FROM ({query}) AS _q LIMIT 0")  # noqa: S608
            fields = cursor._result.fields if cursor._result else ()  # noqa: SLF001 - the description lacks the character set
            return tuple((field.name, _spark_type(field)) for field in fields)

    def stream(
        self, connection: Connection, query: str, args: Sequence[Any], fetch_rows: int
    ) -> Iterator[Sequence[Row]]:
        with _pymysql(connection).cursor(SSCursor) as cursor:
            cursor.execute(query, tuple(args))
            while rows := cursor.fetchmany(fetch_rows):
                yield [[_loaded(value) for value in row] for row in rows]

    def begin(self, connection: Connection) -> None:
        connection.cursor().execute("START TRANSACTION")

    def insert_missing(self, table: str, columns: Sequence[str]) -> str:
        marks = ", ".join(["%s"] * len(columns))
        return f"INSERT IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608

    def load(self, connection: Connection, loading: Loading, rows: Iterator[Row]) -> None:
        marks = "(" + ", ".join(["%s"] * len(loading.columns)) + ")"
        begin = f"INSERT INTO {loading.table} ({', '.join(loading.columns)}) VALUES "  # noqa: S608
        end = ""
        if loading.key:
            rest = [c for c in loading.columns if c not in loading.key] or [loading.key[0]]
            changes = ", ".join(f"{column} = VALUES({column})" for column in rest)
            end = f" ON DUPLICATE KEY UPDATE {changes}"
        begin, end = formatted(self, begin), formatted(self, end)
        cursor = connection.cursor()
        for portion in portions(rows, loading.batch_rows):
            values = [value for row in portion for value in row]
            statement = begin + ", ".join([marks] * len(portion)) + end
            cursor.execute(statement, values)

    def column_type(self, spark_type: str) -> str | None:
        if spark_type.startswith("decimal"):
            return spark_type.upper()
        return _TYPES.get(spark_type)

    def stored(self, spark_type: str, value: Any) -> Any:  # noqa: ANN401 - values of any type
        return value.replace(tzinfo=None) if isinstance(value, datetime) else value

    def refusal(self, connection: Connection, table: str) -> str | None:
        schema, dot, name = table.rpartition(".")
        cursor = connection.cursor()
        cursor.execute(
            "SELECT engine FROM information_schema.tables WHERE table_name = %s AND "
            "table_schema = COALESCE(%s, DATABASE())",
            (name, schema if dot else None),
        )
        row = cursor.fetchone()
        engine = str(row[0]) if row is not None else "InnoDB"
        if engine == "InnoDB":
            return None
        return f"the table {table} is kept by {engine}, which has no transactions; use InnoDB"


def _pymysql(connection: Connection) -> pymysql.Connection[Any]:
    return cast("pymysql.Connection[Any]", connection)


def _spark_type(field: Any) -> str | None:  # noqa: ANN401 - the client's own, without a type
    kind, unsigned = field.type_code, bool(field.flags & FLAG.UNSIGNED)
    if kind in _DECIMALS:
        # What is told is the number of characters: the sign and the point are among them.
        digits = field.length - (0 if unsigned else 1) - (1 if field.scale else 0)
        return f"decimal({min(digits, _MOST_DIGITS)},{field.scale})"
    if kind in _TEXTS:
        return "binary" if field.charsetnr == _BINARY else "string"
    return (_UNSIGNED.get(kind) if unsigned else None) or _BY_TYPE.get(kind)


def _loaded(value: Any) -> Any:  # noqa: ANN401 - values of any type
    return str(value) if isinstance(value, timedelta) else value
