"""Connections to the one file: any number of readers, one writer at a time, over any number of
processes.

SQLite's own locks decide between processes (WAL: readers never wait, writers queue). A connection
is never carried over a fork, and never used by two threads at once. Driver errors become
``StoreUnavailable`` here and nowhere else.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from conductor_py.adapters.sqlite.schema import ADDED, FORMAT, HAS_ADDED, statements
from conductor_py.errors import ConfigurationError, InvalidInput, StoreUnavailable
from conductor_py.ports.search import LOOKS_AT_TOO_MUCH

_BUSY_TIMEOUT_S = 15.0
_IDLE_READERS = 8
_WAL_LIMIT_BYTES = 64 * 1024 * 1024
_STEPS = 1_000_000
_SOON_MS = 1_000
"""How long writers may wait for a checkpoint that waits for readers."""


class Connections:
    """Opens the file, made with its tables when missing, on first use in each process."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._process = os.getpid()
        self._readers: list[sqlite3.Connection] = []
        self._readers_lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._writing = threading.Lock()
        self._ready = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection inside one consistent snapshot."""
        with self._lent() as connection:
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _lent(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection."""
        with _wrapped():
            connection = self._borrow()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def row(self, sql: str, *given: object) -> tuple[Any, ...] | None:
        """The one row that a statement selects, if there is any: a snapshot by itself."""
        with self._lent() as connection:
            found: tuple[Any, ...] | None = connection.execute(sql, given).fetchone()
            return found

    @contextmanager
    def writing(self, *, flushed: bool = False) -> Iterator[sqlite3.Connection]:
        """Lend the writer inside a transaction that commits at the end, or leaves nothing.

        A commit outlives the process; one that is ``flushed`` outlives the machine, too, with all
        that were committed before it.
        """
        with _wrapped():
            self._prepare()
            with self._writing:
                if self._writer is None:
                    self._writer = self._open()
                connection = self._writer
                connection.execute(f"PRAGMA synchronous = {'FULL' if flushed else 'NORMAL'}")
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")

    def rewrite(self, most_bytes: int) -> None:
        """Write the file anew, unless it has more bytes. Readers go on, writers wait."""
        with _wrapped():
            self._prepare()
            if self._file.stat().st_size <= most_bytes:
                with closing(self._open()) as connection:
                    connection.execute("VACUUM")

    def empty_log(self) -> bool:
        """Bring all that was committed into the file, and leave an empty log; whether that worked.
        It does not beside a reader that lasts.
        """
        with _wrapped():
            self._prepare()
            with closing(self._open()) as connection:
                connection.execute(f"PRAGMA busy_timeout = {_SOON_MS}")
                checkpoint = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                is_busy: int = checkpoint.fetchone()[0]
        return not is_busy

    def close(self) -> None:
        """Close what is idle; the next use opens again."""
        with self._writing, self._readers_lock:
            for connection in (*self._readers, self._writer):
                if connection is not None:
                    connection.close()
            self._readers.clear()
            self._writer = None

    def _prepare(self) -> None:
        if self._process != os.getpid():
            # After a fork the parent's connections stay open and unused here: to close them would
            # drop locks and write-ahead state that the parent still relies on.
            _abandoned.append((self._readers, self._writer))
            self._readers, self._writer, self._ready = [], None, False
            self._readers_lock, self._writing = threading.Lock(), threading.Lock()
            self._process = os.getpid()
        if not self._ready:
            self._make_ready()
            self._ready = True

    def _make_ready(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # Two processes that switch an empty file to WAL at once can fail; one at a time cannot.
        lock = self._file.with_name(f"{self._file.name}.lock")
        with lock.open("w") as guard, closing(self._open()) as connection:
            fcntl.flock(guard, fcntl.LOCK_EX)
            connection.execute("PRAGMA journal_mode = WAL")
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found == FORMAT and connection.execute(HAS_ADDED).fetchone():
                return
            if found not in {0, FORMAT}:
                raise ConfigurationError(
                    f"The search file has format {found}; this version reads format {FORMAT}."
                )
            connection.execute("BEGIN IMMEDIATE")
            for statement in ADDED if found == FORMAT else statements():
                connection.execute(statement)
            connection.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._file,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
        # What is deleted is overwritten: 1 % of the time, 8 % of the bytes that are written.
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def _borrow(self) -> sqlite3.Connection:
        self._prepare()
        with self._readers_lock:
            if self._readers:
                return self._readers.pop()
        connection = self._open()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._readers_lock:
            if len(self._readers) < _IDLE_READERS:
                self._readers.append(connection)
                return
        connection.close()


_abandoned: list[tuple[list[sqlite3.Connection], sqlite3.Connection | None]] = []


@contextmanager
def bounded(connection: sqlite3.Connection, most_steps: int) -> Iterator[None]:
    """Let what is asked within take so many steps of SQLite's machine; more is ``InvalidInput``."""
    looks = itertools.count(1)
    each = min(_STEPS, most_steps)
    connection.set_progress_handler(lambda: next(looks) * each >= most_steps, each)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        raise InvalidInput(LOOKS_AT_TOO_MUCH) from error
    finally:
        connection.set_progress_handler(None, 0)


@contextmanager
def _wrapped() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnavailable(f"The search file failed: {error}") from error
    except OSError as error:
        raise StoreUnavailable(f"The search file failed: {error.strerror}") from error
