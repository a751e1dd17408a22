"""PostgreSQL, by psycopg: cursors on the server, ``COPY`` for rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import psycopg
from psycopg.types.string import TextLoader

from conductor_workers.pipelines.databases.dialect import (
    Address,
    Connection,
    DatabaseError,
    Loading,
    Row,
    Trouble,
)
from conductor_workers.pipelines.databases.sqlite import on_conflict

_BY_OID: Final = {
    16: "boolean",
    17: "binary",
    20: "bigint",
    21: "smallint",
    23: "int",
    25: "string",
    114: "string",
    700: "float",
    701: "double",
    1042: "string",
    1043: "string",
    19: "string",
    1082: "date",
    1114: "timestamp_ntz",
    1184: "timestamp",
    2950: "string",
    3802: "string",
}
_NUMERIC: Final = 1700
_NUMERIC_OF_ANY_SIZE: Final = "decimal(38,18)"
_MOST_DIGITS: Final = 38
_TYPES: Final = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
_TROUBLES: Final = {
    "55P03": Trouble.LOCKED,
    "40P01": Trouble.LOCKED,
    "40001": Trouble.LOCKED,
    "42P01": Trouble.NO_TABLE,
    "3F000": Trouble.NO_TABLE,
    "42703": Trouble.NO_COLUMN,
    "23505": Trouble.DUPLICATE,
    "42P07": Trouble.DUPLICATE,
    "42710": Trouble.DUPLICATE,  # a table's row type, made by two at once
}
_AWAY: Final = ("08", "57P", "53")


class Postgresql:
    """``Dialect`` of PostgreSQL."""

    placeholder = "%s"

    def connect(self, address: Address, *, lock_wait_s: float, read_only: bool) -> Connection:
        connection = psycopg.connect(
            host=address.host or None,
            port=address.port,
            user=address.user or None,
            password=address.password or None,
            dbname=address.database or None,
            connect_timeout=max(2, int(lock_wait_s)),
            options=f"-c lock_timeout={int(lock_wait_s * 1000)} -c timezone=UTC",
            **dict(address.options),  # type: ignore[arg-type]
        )
        connection.read_only = read_only
        for name in ("json", "jsonb", "uuid"):  # text, as Spark has them
            connection.adapters.register_loader(name, TextLoader)
        return cast("Connection", connection)

    def explained(self, error: BaseException) -> DatabaseError | None:
        if not isinstance(error, psycopg.Error):
            return None
        said = (str(error).splitlines() or ["no reason given"])[0]
        state = error.sqlstate
        if state is None:
            away = isinstance(error, psycopg.OperationalError)
            return DatabaseError(Trouble.AWAY if away else Trouble.OTHER, said)
        if state.startswith(_AWAY):
            return DatabaseError(Trouble.AWAY, said)
        return DatabaseError(_TROUBLES.get(state, Trouble.OTHER), said)

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def columns(self, connection: Connection, query: str) -> tuple[tuple[str, str | None], ...]:
        cursor = _psycopg(connection).cursor()
        cursor.execute(f"SELECT * FROM ({query}) AS _q WHERE 1 = 0".encode())  # noqa: S608
        return tuple((column.name, _spark_type(column)) for column in cursor.description or ())

    def stream(
        self, connection: Connection, query: str, args: Sequence[Any], fetch_rows: int
    ) -> Iterator[Sequence[Row]]:
        with _psycopg(connection).cursor(name="_df_rows") as cursor:
            cursor.execute(query.encode(), tuple(args))
            while rows := cursor.fetchmany(fetch_rows):
                yield rows

    def begin(self, connection: Connection) -> None:
        """A connection of this client is in a transaction from its first statement."""

    def insert_missing(self, table: str, columns: Sequence[str]) -> str:
        marks = ", ".join(["%s"] * len(columns))
        listed = ", ".join(columns)
        return f"INSERT INTO {table} ({listed}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608

    def load(self, connection: Connection, loading: Loading, rows: Iterator[Row]) -> None:
        """Append by ``COPY``; an upsert copies aside, and the last row of a key counts."""
        listed = ", ".join(loading.columns)
        if not loading.key:
            _copy(connection, loading.table, listed, rows)
            return
        first = next(rows, None)
        if first is None:
            return
        cursor = connection.cursor()
        cursor.execute(
            f"CREATE TEMPORARY TABLE _df_staged ON COMMIT DROP AS SELECT {listed} "  # noqa: S608
            f"FROM {loading.table} WITH NO DATA"
        )
        cursor.execute("ALTER TABLE _df_staged ADD COLUMN _df_ord bigserial")
        _copy(connection, "_df_staged", listed, itertools.chain((first,), rows))
        key = ", ".join(loading.key)
        cursor.execute(
            f"INSERT INTO {loading.table} ({listed}) SELECT {listed} FROM "  # noqa: S608
            f"(SELECT DISTINCT ON ({key}) * FROM _df_staged ORDER BY {key}, _df_ord DESC) AS _q"
            + on_conflict(loading)
        )

    def column_type(self, spark_type: str) -> str | None:
        if spark_type.startswith("decimal"):
            return spark_type.replace("decimal", "numeric")
        return _TYPES.get(spark_type)

    def stored(self, spark_type: str, value: Any) -> Any:  # noqa: ANN401 - values of any type
        # The server's text cannot hold the character that ends strings in C.
        return value.replace("\x00", "") if isinstance(value, str) else value

    def refusal(self, connection: Connection, table: str) -> str | None:
        return None


def _psycopg(connection: Connection) -> psycopg.Connection[tuple[Any, ...]]:
    return cast("psycopg.Connection[tuple[Any, ...]]", connection)


def _copy(connection: Connection, table: str, columns: str, rows: Iterator[Row]) -> None:
    cursor = _psycopg(connection).cursor()
    with cursor.copy(f"COPY {table} ({columns}) FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)


def _spark_type(column: psycopg.Column) -> str | None:
    if column.type_code != _NUMERIC:
        return _BY_OID.get(column.type_code)
    precision, scale = column.precision, column.scale
    if (
        precision is None
        or scale is None
        or precision > _MOST_DIGITS
        or not 0 <= scale <= precision
    ):
        return _NUMERIC_OF_ANY_SIZE
    return f"decimal({precision},{scale})"
