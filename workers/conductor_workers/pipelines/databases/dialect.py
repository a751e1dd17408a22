"""What one kind of database is asked for, and how its refusals are told apart.

A dialect owns its client library: nothing else imports it, and none of its exceptions leaves. Spark
types are named as Spark SQL names them (``decimal(12,2)``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from conductor_py.records import dataclass, field

Row = Sequence[Any]


class Trouble(StrEnum):
    """Why a database refused."""

    LOCKED = "is locked by somebody else"
    AWAY = "does not answer"
    NO_TABLE = "has no such table"
    NO_COLUMN = "has no such column"
    DUPLICATE = "has a row with that key already"
    OTHER = "refused"


class DatabaseError(Exception):
    """A refusal: which kind, and what the database said in one line."""

    def __init__(self, trouble: Trouble, said: str) -> None:
        """Keep both."""
        super().__init__(trouble, said)
        self.trouble = trouble
        self.said = said

    @property
    def passes(self) -> bool:
        """Whether the same may work later."""
        return self.trouble in (Trouble.LOCKED, Trouble.AWAY)

    def __str__(self) -> str:
        return f"{self.trouble.value} ({self.said})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a database is. ``password`` and ``options`` are shown nowhere."""

    scheme: str
    host: str = ""
    port: int | None = None
    user: str = ""
    database: str = ""
    password: str = field(default="", repr=False)
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def shown(self) -> str:
        """The address for sentences, without user and password."""
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{self.host}{port}/{self.database.lstrip('/')}"


def read_address(url: str, *, user: str | None = None, password: str | None = None) -> Address:
    """Read a URL; ``user`` and ``password`` stand in for those that it lacks.

    ``sqlite:///relative``, ``sqlite:////absolute``; other schemes as usual. Raises ``ValueError``.
    """
    parts = urlsplit(url.removeprefix("jdbc:"))
    path = unquote(parts.path)
    return Address(
        scheme=parts.scheme,
        host=parts.hostname or "",
        port=parts.port,
        user=unquote(parts.username or "") or (user or ""),
        password=unquote(parts.password or "") or (password or ""),
        database=path[1:] if parts.scheme == "sqlite" else path.strip("/"),
        options=tuple(parse_qsl(parts.query)),
    )


class Cursor(Protocol):
    """The part of a DB-API cursor that is used here."""

    @property
    def rowcount(self) -> int: ...
    @property
    def description(self) -> Sequence[Sequence[Any]] | None: ...
    def execute(self, sql: str, args: Sequence[Any] = ...) -> object: ...
    def executemany(self, sql: str, args: Sequence[Row]) -> object: ...
    def fetchone(self) -> Row | None: ...
    def fetchmany(self, size: int) -> Sequence[Row]: ...
    def close(self) -> None: ...


class Connection(Protocol):
    """The part of a DB-API connection that is used here."""

    def cursor(self) -> Cursor: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """Where rows go: the quoted table, its quoted columns, and the key that an upsert replaces by.

    An empty ``key`` appends.
    """

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    batch_rows: int = 1000


class Dialect(Protocol):
    """One kind of database. Every method may raise what ``explained`` understands."""

    @property
    def placeholder(self) -> str:
        """How a statement marks a value."""

    def connect(self, address: Address, *, lock_wait_s: float, read_only: bool) -> Connection:
        """Connect; waits for locks at most that long, and works in UTC."""

    def explained(self, error: BaseException) -> DatabaseError | None:
        """Say what the client's exception means; None when it is not the client's."""

    def quoted(self, name: str) -> str:
        """Quote a name of a column, or one part of a table's."""

    def columns(self, connection: Connection, query: str) -> tuple[tuple[str, str | None], ...]:
        """Return name and Spark type of a query's columns; None for a type that has no match."""

    def stream(
        self, connection: Connection, query: str, args: Sequence[Any], fetch_rows: int
    ) -> Iterator[Sequence[Row]]:
        """Run a query and return its rows in portions, without holding all of them.

        Values are always given, if only none: see ``formatted``.
        """

    def begin(self, connection: Connection) -> None:
        """Begin a transaction that writes."""

    def insert_missing(self, table: str, columns: Sequence[str]) -> str:
        """Return an insert that does nothing when the key is there."""

    def load(self, connection: Connection, loading: Loading, rows: Iterator[Row]) -> None:
        """Write rows inside the present transaction, the fastest way there is."""

    def column_type(self, spark_type: str) -> str | None:
        """Return the database's type for one of Spark's; None when there is none."""

    def stored(self, spark_type: str, value: Any) -> Any:  # noqa: ANN401 - values of any type
        """Return a value as the client takes it for such a column."""

    def refusal(self, connection: Connection, table: str) -> str | None:
        """Say why a table cannot take part in a transaction; None when it can."""


def formatted(dialect: Dialect, text: str) -> str:
    """Return a part of a statement such that nothing in it is taken for the mark of a value."""
    return text.replace("%", "%%") if dialect.placeholder == "%s" else text


def quoted_table(dialect: Dialect, name: str) -> str:
    """Quote a table's name, part by part: ``mart.daily``."""
    return ".".join(dialect.quoted(part) for part in name.split("."))


def named_columns(dialect: Dialect, columns: Sequence[str]) -> str:
    """Return columns as a list of a statement."""
    return ", ".join(dialect.quoted(column) for column in columns)
