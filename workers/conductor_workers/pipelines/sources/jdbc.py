"""``jdbc``: a table or a query of a SQL database, cut by ranges of a key.

Settings: ``url`` (``sqlite:///``, ``postgresql://``, ``mysql://``, ``mariadb://``), ``user``,
``password``, ``table`` or ``query``, ``columns``, ``where``, ``fetch_rows``, ``lock_wait_s``. With
``split: {by: key_range, column, rows}`` the key is walked from its smallest to its largest value, a
range every ``rows`` rows; rows without a key have a range of their own. Without it the whole is one
split. The largest key is looked at once: rows that come above it later are not this job's. Each
split is a consistent read of its own; several are not one snapshot of the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from conductor_py.errors import ConfigurationError
from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass
from conductor_workers.pipelines.connectors import Discovery, SourceProblem
from conductor_workers.pipelines.databases.dialect import (
    DatabaseError,
    Dialect,
    Trouble,
    formatted,
    named_columns,
    quoted_table,
)
from conductor_workers.pipelines.databases.keys import key_from_json, key_to_json
from conductor_workers.pipelines.databases.opening import Database, open_database, sentence
from conductor_workers.pipelines.enforcement import demanded
from conductor_workers.pipelines.reading import frame_of
from conductor_workers.pipelines.registry import Place
from conductor_workers.pipelines.shapes import NotOfType, arrow_schema, shaped
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_ROW_BYTES: Final = 100
"""What a row is taken to weigh: nobody says before it is read."""
_CODES = {Trouble.NO_COLUMN: "SCHEMA_CHANGED", Trouble.OTHER: "SOURCE_REFUSED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What is read: a quoted table or a query in brackets, and the author's condition."""

    place: str
    where: str = ""

    def formatted(self, dialect: Dialect) -> Rows:
        """Return the same for a statement with values."""
        return Rows(place=formatted(dialect, self.place), where=formatted(dialect, self.where))

    def query(self, columns: str, condition: str = "", end: str = "") -> str:
        """Return a statement over it."""
        conditions = [f"({part})" for part in (self.where, condition) if part]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {columns} FROM {self.place}{where}{end}"  # noqa: S608 - see the module


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSource:
    """``Source`` of the kind."""

    database: Database
    rows: Rows
    columns: tuple[str, ...] = ()
    declared: spec.Schema | None = None
    key: str = ""
    split_rows: int = 200_000
    fetch_rows: int = 10_000
    placing: bool = False
    """Whether ``frame`` says where each row stands."""

    def schema(self, spark: SparkSession) -> StructType:
        """Take the declared types, else the database's. ``TYPE_UNSUPPORTED`` for a column that has
        no match in Spark.
        """
        if self.declared is not None:
            fields = [(column.name, column.type) for column in self.declared.columns]
        else:
            fields = self._found()
        return spark.createDataFrame(
            [], ", ".join(f"{quoted(name)} {kind}" for name, kind in fields)
        ).schema

    def enumerator(self, restored: Mapping[str, Any]) -> JdbcEnumerator:
        """See ``Source``."""
        return JdbcEnumerator(self, restored)

    def reader(self, schema: StructType) -> JdbcReader:
        """See ``Source``."""
        return JdbcReader(
            database=self.database,
            rows=self.rows,
            key=self.key,
            schema=arrow_schema(schema),
            fetch_rows=self.fetch_rows,
        )

    def frame(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``NativeSource``: where values are demanded, rows that lack one are bad."""
        if self.declared is None:
            return None
        rows = frame_of(spark, self.reader(schema), splits, schema, placed=self.placing)
        return demanded(rows, self.declared)

    def placed(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``Placing``."""
        return replace(self, placing=True).frame(spark, splits, schema)

    def _found(self) -> list[tuple[str, str]]:
        dialect = self.database.dialect
        wanted = named_columns(dialect, self.columns) if self.columns else "*"
        try:
            with self.database.connected(read_only=True) as connection:
                columns = dialect.columns(connection, self.rows.query(wanted))
        except DatabaseError as error:
            raise problem_of(self.database, error) from error
        fields = []
        for name, kind in columns:
            if kind is None:
                raise SourceProblem(
                    "TYPE_UNSUPPORTED",
                    f"{self.database.node}: the column {name} has a type that Spark does not know; "
                    "declare a schema, name the columns, or cast it in a query.",
                )
            fields.append((name, kind))
        return fields


class JdbcEnumerator:
    """Walks the key. Its snapshot is the last bound, so a restore goes on where it was."""

    def __init__(self, source: JdbcSource, restored: Mapping[str, Any]) -> None:
        """Go on from a snapshot; nothing is connected yet."""
        self._source = source
        self._state: dict[str, Any] = dict(restored)

    def discover(self, *, first_ord: int, limit: int) -> Discovery:
        """See ``SplitEnumerator``."""
        if self._state.get("complete"):
            return Discovery(found=(), complete=True)
        if not self._source.key:
            self._state["complete"] = True
            return Discovery(found=(SplitDescriptor(ord=first_ord, descriptor={}),), complete=True)
        state = dict(self._state)
        try:
            with self._source.database.connected(read_only=True) as connection:
                walk = _Walk(self._source, connection, state)
                ranges = [found for _, found in zip(range(limit), walk.ranges(), strict=False)]
        except DatabaseError as error:
            raise problem_of(self._source.database, error) from error
        self._state = state
        rows = self._source.split_rows
        splits = (
            SplitDescriptor(
                ord=first_ord + at, descriptor=found, rows=rows, bytes=rows * _ROW_BYTES
            )
            for at, found in enumerate(ranges)
        )
        return Discovery(found=tuple(splits), complete=bool(state.get("complete")))

    def snapshot(self) -> Mapping[str, Any]:
        """See ``SplitEnumerator``."""
        return dict(self._state)

    def close(self) -> None:
        """Nothing is held between pages."""


class _Walk:
    """One page of the walk; ``state`` is brought forward with each range that is handed out."""

    def __init__(self, source: JdbcSource, connection: Any, state: dict[str, Any]) -> None:  # noqa: ANN401
        self._source = source
        self._dialect = source.database.dialect
        self._cursor = connection.cursor()
        self._state = state
        self._key = formatted(self._dialect, self._dialect.quoted(source.key))
        self._rows = source.rows.formatted(self._dialect)

    def ranges(self) -> Iterator[Mapping[str, Any]]:
        if "max" not in self._state:
            self._begin()
            if self._state.pop("nulls"):
                yield {"null": True}
        while not self._state.get("complete"):
            low, highest = self._state["low"], self._state["max"]
            high = self._after(key_from_json(low))
            if high is None:
                self._state["complete"] = True
                yield {"low": low, "high": highest, "inclusive": True}
            else:
                self._state["low"] = key_to_json(high)
                yield {"low": low, "high": self._state["low"], "inclusive": False}

    def _begin(self) -> None:
        key = self._key
        smallest, largest = self._one(self._rows.query(f"MIN({key}), MAX({key})"), ())
        nulls = self._one(self._rows.query("1", f"{key} IS NULL", " LIMIT 1"), ())
        self._state.update(nulls=nulls[0] is not None, max=None, low=None)
        if smallest is None:
            self._state["complete"] = True
            return
        self._state.update(max=key_to_json(largest), low=key_to_json(smallest))

    def _after(self, low: Any) -> Any:  # noqa: ANN401 - a key of any type
        """Return the key that the next range begins with; None when this is the last one."""
        key, mark = self._key, self._dialect.placeholder
        largest = key_from_json(self._state["max"])
        within = f"{key} >= {mark} AND {key} <= {mark}"
        offset = f" ORDER BY {key} LIMIT 1 OFFSET {self._source.split_rows}"
        (found,) = self._one(self._rows.query(key, within, offset), (low, largest))
        if found is None:
            return None
        # More rows than a split holds may have one key, and only the database knows what is equal.
        above = f"{key} >= {mark} AND {key} > {mark} AND {key} <= {mark}"
        (next_key,) = self._one(self._rows.query(f"MIN({key})", above), (found, low, largest))
        return next_key

    def _one(self, query: str, args: Sequence[Any]) -> Sequence[Any]:
        self._cursor.execute(query, tuple(args))
        row: Sequence[Any] | None = self._cursor.fetchone()
        return (None,) if row is None else row


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcReader:
    """``SplitReader``: the columns of ``schema``, by a cursor that holds a portion at a time."""

    database: Database
    rows: Rows
    key: str
    schema: pa.Schema
    fetch_rows: int

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``."""
        dialect = self.database.dialect
        condition, args = self._condition(dialect, split.descriptor)
        columns = named_columns(dialect, self.schema.names)
        query = self.rows.formatted(dialect).query(formatted(dialect, columns), condition)
        try:
            with self.database.connected(read_only=True) as connection:
                for rows in dialect.stream(connection, query, args, self.fetch_rows):
                    yield shaped(rows, self.schema)
        except DatabaseError as error:
            raise problem_of(self.database, error) from error
        except NotOfType as error:
            raise SourceProblem("SCHEMA_CHANGED", f"{self.database.node}: {error}") from error

    def _condition(
        self, dialect: Dialect, descriptor: Mapping[str, Any]
    ) -> tuple[str, tuple[Any, ...]]:
        if not self.key:
            return "", ()
        key, mark = formatted(dialect, dialect.quoted(self.key)), dialect.placeholder
        if descriptor.get("null"):
            return f"{key} IS NULL", ()
        end = "<=" if descriptor["inclusive"] else "<"
        bounds = (key_from_json(descriptor["low"]), key_from_json(descriptor["high"]))
        return f"{key} >= {mark} AND {key} {end} {mark}", bounds


def open_source(node: spec.Source, place: Place) -> JdbcSource:
    """Make the source of a node."""
    settings = place.settings(node)
    database = open_database(node.id, settings)
    table, query = settings.optional("table"), settings.optional("query")
    if (table is None) == (query is None):
        raise ConfigurationError(f"{node.id}: give a table or a query, and not both.")
    rule = node.split
    by_key = rule is not None and rule.by == "key_range"
    if by_key and not (rule and rule.column):
        raise ConfigurationError(f"{node.id}.split.column must name the key to cut by.")
    at = quoted_table(database.dialect, table) if table else f"({query}) _rows"
    return JdbcSource(
        database=database,
        rows=Rows(place=at, where=settings.optional("where") or ""),
        columns=settings.texts("columns"),
        declared=node.schema,
        key=rule.column if rule and by_key else "",
        split_rows=rule.rows if rule else 200_000,
        fetch_rows=settings.whole("fetch_rows", 10_000),
    )


def problem_of(database: Database, error: DatabaseError) -> SourceProblem:
    """Say what a database refused, and whether it may pass."""
    code = _CODES.get(error.trouble, "SOURCE_UNAVAILABLE")
    return SourceProblem(code, sentence(database, error, "the data") + ".", retryable=error.passes)
