"""The right dialect for a URL, and one sentence for whatever a database refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Final

from conductor_py.errors import MissingExtra
from conductor_py.records import dataclass
from conductor_workers.pipelines.databases.dialect import (
    Address,
    Connection,
    DatabaseError,
    Dialect,
    read_address,
)
from conductor_workers.pipelines.settings import NodeSettings

_DIALECTS: Final = {
    "sqlite": ("sqlite", "Sqlite", ""),
    "postgresql": ("postgresql", "Postgresql", "postgresql"),
    "postgres": ("postgresql", "Postgresql", "postgresql"),
    "mysql": ("mysql", "Mysql", "mysql"),
    "mariadb": ("mysql", "Mysql", "mysql"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database that connections are made to; travels to tasks."""

    node: str
    address: Address
    lock_wait_s: float

    @property
    def dialect(self) -> Dialect:
        """What speaks to it. Raises ``MissingExtra`` when its client is not installed."""
        module, name, extra = _DIALECTS[self.address.scheme]
        try:
            loaded = import_module(f"conductor_workers.pipelines.databases.{module}")
        except ImportError as error:
            needs = f"{self.node}: {self.address.scheme} needs a client"
            raise MissingExtra(needs, extra=extra) from error
        made: Dialect = getattr(loaded, name)()
        return made

    @contextmanager
    def connected(self, *, read_only: bool = False) -> Iterator[Connection]:
        """Open a connection and close it at the end, whatever was not committed undone.

        Raises:
            DatabaseError: the client's refusals, also those raised inside.
        """
        dialect = self.dialect
        connection: Connection | None = None
        try:
            connection = dialect.connect(
                self.address, lock_wait_s=self.lock_wait_s, read_only=read_only
            )
            yield connection
        except Exception as error:
            explained = dialect.explained(error)
            if explained is None:
                raise
            raise explained from error
        finally:
            if connection is not None:
                connection.close()


def open_database(node: str, settings: NodeSettings) -> Database:
    """Read ``url``, ``user``, ``password`` and ``lock_wait_s``; nothing is connected yet."""
    try:
        address = read_address(
            settings.text("url"),
            user=settings.optional("user"),
            password=settings.optional("password"),
        )
    except ValueError:
        raise settings.refused("url", "is not a URL") from None  # it may hold a password
    if address.scheme not in _DIALECTS:
        raise settings.refused("url", f"must begin with one of {', '.join(_DIALECTS)}")
    return Database(node=node, address=address, lock_wait_s=settings.seconds("lock_wait_s", 30.0))


def sentence(database: Database, error: DatabaseError, what: str) -> str:
    """Say in one sentence what a database refused."""
    return f"{database.node}: {what} of {database.address.shown} {error}"
