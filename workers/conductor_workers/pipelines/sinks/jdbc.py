"""``jdbc``: rows appended to a table of a SQL database, or put there by their key, exactly once.

Settings: ``url``, ``user``, ``password``, ``table``, ``write`` (``append`` or ``upsert``), ``key``,
``create`` (make the table if it is missing), ``batch_rows``, ``lock_wait_s``.

Rows wait in the work directory until their epoch is decided, and go to the table in one transaction
with two rows of ours: ``_df_fence`` holds the newest token of each task and refuses older ones;
``_df_epochs`` holds what each line of a task has published, so a repeat finds its own row and does
nothing. Of several rows of one epoch with the same key, the last one staged stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from conductor_py.errors import ConfigurationError
from conductor_py.pipelines import spec
from conductor_py.pipelines.record import Staged
from conductor_py.pipelines.spec import Guarantee
from conductor_py.records import dataclass
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.connectors import Epoch, Evidence, Owner, SinkProblem
from conductor_workers.pipelines.databases.dialect import (
    Connection,
    DatabaseError,
    Dialect,
    Loading,
    Row,
    Trouble,
    quoted_table,
)
from conductor_workers.pipelines.databases.opening import Database, open_database, sentence
from conductor_workers.pipelines.registry import Place
from conductor_workers.pipelines.staged import StagedLost, StagingPlace
from conductor_workers.pipelines.storage import open_storage
from conductor_workers.pipelines.store import Fenced

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_FENCE: Final = "_df_fence"
_EPOCHS: Final = "_df_epochs"
_NAME: Final = "VARCHAR(190)"
_LONGEST_NAME: Final = 190
_BOOKS: Final = (
    f"CREATE TABLE IF NOT EXISTS {_FENCE} (task {_NAME} PRIMARY KEY, token BIGINT NOT NULL)",
    (
        f"CREATE TABLE IF NOT EXISTS {_EPOCHS} (task {_NAME} NOT NULL, node {_NAME} NOT NULL, "
        "epoch BIGINT NOT NULL, token BIGINT NOT NULL, hash VARCHAR(80) NOT NULL, "
        "row_count BIGINT NOT NULL, PRIMARY KEY (task, node, epoch))"
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the rows go. An empty ``key`` appends."""

    table: str
    key: tuple[str, ...] = ()
    create: bool = False
    batch_rows: int = 1000


class JdbcSink:
    """``Sink`` of the kind."""

    def __init__(self, database: Database, target: Target, staging: StagingPlace) -> None:
        """Prepare; nothing is connected yet."""
        self._database = database
        self._target = target
        self._staging = staging

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.EXACTLY_ONCE

    def stage(self, frame: DataFrame, epoch: Epoch) -> Staged:
        """See ``Sink``. Raises ``TYPE_UNSUPPORTED`` for a column that no table can take."""
        columns = [[field.name, field.dataType.simpleString()] for field in frame.schema]
        for name, kind in columns:
            if self._database.dialect.column_type(kind) is None:
                raise SinkProblem(
                    "TYPE_UNSUPPORTED",
                    f"{self._staging.sink}: the column {name} is {kind}, which no column of the "
                    "table can take; turn it into text (to_json) before the sink.",
                    retryable=False,
                )
        missing = [name for name in self._target.key if name not in dict(columns)]
        if missing:
            raise SinkProblem(
                "KEY_MISSING",
                f"{self._staging.sink}: the rows have no column {missing[0]}, which is a key.",
                retryable=False,
            )
        return {**self._staging.write(frame, epoch), "columns": columns}

    def publish(self, staged: Staged, epoch: Epoch, record_hash: str) -> None:
        """See ``Sink``. Raises ``Fenced`` when the database has seen a newer token."""
        try:
            with self._database.connected() as connection:
                _Publication(self._database.dialect, self._target, connection).run(
                    staged, epoch, record_hash, self._staging
                )
        except StagedLost:
            # Whoever published it meanwhile has deleted it as well.
            if self._published_hash(epoch) != record_hash:
                raise
        except DatabaseError as error:
            raise self._problem(error) from error
        faults.reach("F11")
        self._staging.delete(staged)

    def evidence(self, owner: Owner, pipeline: str) -> Evidence | None:
        query = (
            f"SELECT epoch, hash FROM {_EPOCHS} WHERE task = {{0}} AND node = {{0}} "  # noqa: S608
            "ORDER BY epoch DESC LIMIT 1"
        )
        found = self._looked_up(query, (line_name(owner), node_name(pipeline, self._staging.sink)))
        return None if found is None else Evidence(epoch=int(found[0]), record_hash=str(found[1]))

    def discard(self, owner: Owner, pipeline: str, *, below: int, keep: Staged | None) -> None:
        """See ``Sink``. From then on the database refuses lower tokens, too."""
        try:
            with self._database.connected() as connection:
                publication = _Publication(self._database.dialect, self._target, connection)
                publication.make_books()
                publication.raise_fence(owner, below)
                connection.commit()
        except DatabaseError as error:
            raise self._problem(error) from error
        self._staging.discard(owner, pipeline, below=below, keep=keep)

    def withdraw(self, epoch: Epoch) -> None:
        """See ``Withdrawing``."""
        self._staging.withdraw(epoch)

    def close(self) -> None:
        """Nothing is held between calls."""

    def _published_hash(self, epoch: Epoch) -> str | None:
        query = f"SELECT hash FROM {_EPOCHS} WHERE task = {{0}} AND node = {{0}} AND epoch = {{0}}"  # noqa: S608
        names = (line_name(epoch.owner), node_name(epoch.pipeline, epoch.sink))
        found = self._looked_up(query, (*names, epoch.number))
        return None if found is None else str(found[0])

    def _looked_up(self, query: str, args: Sequence[Any]) -> Row | None:
        try:
            with self._database.connected() as connection:
                cursor = connection.cursor()
                cursor.execute(query.format(self._database.dialect.placeholder), args)
                return cursor.fetchone()
        except DatabaseError as error:
            if error.trouble is Trouble.NO_TABLE:
                return None
            raise self._problem(error) from error

    def _problem(self, error: DatabaseError) -> SinkProblem:
        said = sentence(self._database, error, f"the table {self._target.table}")
        code = "SINK_UNAVAILABLE" if error.passes else "SINK_REFUSED"
        return SinkProblem(code, said + ".", retryable=error.passes)


@dataclass(frozen=True, slots=True)
class _Publication:
    """One connection's work on one epoch."""

    dialect: Dialect
    target: Target
    connection: Connection

    def run(self, staged: Staged, epoch: Epoch, record_hash: str, staging: StagingPlace) -> None:
        """Put the rows into the table, unless they are there; commits."""
        self.make_books()
        self._make_table(staged)
        refusal = self.dialect.refusal(self.connection, self.target.table)
        if refusal is not None:
            raise SinkProblem("NOT_TRANSACTIONAL", f"{epoch.sink}: {refusal}.", retryable=False)
        self.raise_fence(epoch.owner, epoch.token)
        if self._enter(staged, epoch, record_hash):
            self.dialect.load(self.connection, self._loading(staged), self._rows(staged, staging))
            faults.reach("F10")
        self.connection.commit()

    def make_books(self) -> None:
        """Make the two tables of ours; somebody else may be doing the same."""
        for statement in _BOOKS:
            self._tolerant(statement)

    def raise_fence(self, owner: Owner, token: int) -> None:
        """Begin a transaction in which no lower token can publish. Raises ``Fenced``."""
        self.dialect.begin(self.connection)
        task = task_name(owner)
        self._execute(self.dialect.insert_missing(_FENCE, ("task", "token")), task, token)
        changed = self._execute(
            f"UPDATE {_FENCE} SET token = {{0}} WHERE task = {{0}} AND token <= {{0}}",  # noqa: S608
            *(token, task, token),
        )
        if changed != 1:
            self.connection.rollback()
            raise Fenced

    def _enter(self, staged: Staged, epoch: Epoch, record_hash: str) -> bool:
        """Note the epoch as published; False when it was. The fence's row is ours meanwhile."""
        names = (line_name(epoch.owner), node_name(epoch.pipeline, epoch.sink))
        cursor = self.connection.cursor()
        mark = self.dialect.placeholder
        cursor.execute(
            f"SELECT hash FROM {_EPOCHS} WHERE task = {mark} AND node = {mark} AND epoch = {mark}",  # noqa: S608
            (*names, epoch.number),
        )
        there = cursor.fetchone()
        if there is not None:
            if str(there[0]) == record_hash:
                return False
            raise SinkProblem(
                "EPOCH_CONFLICT",
                f"Epoch {epoch.number} is in {self.target.table} with another record.",
                retryable=False,
            )
        self._execute(
            f"INSERT INTO {_EPOCHS} (task, node, epoch, token, hash, row_count) "  # noqa: S608
            f"VALUES ({', '.join(['{0}'] * 6)})",
            *(*names, epoch.number, epoch.token, record_hash, staged["rows"]),
        )
        return True

    def _make_table(self, staged: Staged) -> None:
        if not self.target.create:
            return
        columns = []
        for name, kind in staged["columns"]:
            taken = self.dialect.column_type(kind)
            if name in self.target.key:
                # A text without a bound can be no key in MySQL.
                taken = f"{_NAME if kind == 'string' else taken} NOT NULL"
            columns.append(f"{self.dialect.quoted(name)} {taken}")
        if self.target.key:
            key = ", ".join(self.dialect.quoted(name) for name in self.target.key)
            columns.append(f"PRIMARY KEY ({key})")
        table = quoted_table(self.dialect, self.target.table)
        self._tolerant(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(columns)})")

    def _loading(self, staged: Staged) -> Loading:
        quoted = self.dialect.quoted
        return Loading(
            table=quoted_table(self.dialect, self.target.table),
            columns=tuple(quoted(name) for name, _ in staged["columns"]),
            key=tuple(quoted(name) for name in self.target.key),
            batch_rows=self.target.batch_rows,
        )

    def _rows(self, staged: Staged, staging: StagingPlace) -> Iterator[Row]:
        kinds = [kind for _, kind in staged["columns"]]
        for batch in staging.read(staged):
            columns = [self._stored(*pair) for pair in zip(batch.columns, kinds, strict=True)]
            yield from zip(*columns, strict=True)

    def _stored(self, column: pa.Array, kind: str) -> list[Any]:
        stored = self.dialect.stored
        return [None if value is None else stored(kind, value) for value in column.to_pylist()]

    def _tolerant(self, statement: str) -> None:
        try:
            self.connection.cursor().execute(statement)
            self.connection.commit()
        except Exception as error:
            # `IF NOT EXISTS` of two at once: one of them is told that it exists.
            explained = self.dialect.explained(error)
            if explained is None or explained.trouble is not Trouble.DUPLICATE:
                raise
            self.connection.rollback()

    def _execute(self, statement: str, *args: object) -> int:
        cursor = self.connection.cursor()
        cursor.execute(statement.replace("{0}", self.dialect.placeholder), args)
        return cursor.rowcount


def open_sink(node: spec.Sink, place: Place) -> JdbcSink:
    """Make the sink of a node."""
    settings = place.settings(node)
    upsert = settings.choice("write", ("append", "upsert"), "append") == "upsert"
    key = settings.texts("key")
    if upsert and not key:
        raise ConfigurationError(f"{node.id}.key must name the columns that rows are replaced by.")
    target = Target(
        table=settings.text("table"),
        key=key if upsert else (),
        create=settings.flag("create", default=False),
        batch_rows=settings.whole("batch_rows", 1000),
    )
    staging = StagingPlace(storage=open_storage(place.work_dir), sink=node.id)
    return JdbcSink(open_database(node.id, settings), target, staging)


def task_name(owner: Owner) -> str:
    """Return the name of a task in the tables of ours: its own, or its hash when it is long."""
    return _bounded(owner.task)


def line_name(owner: Owner) -> str:
    """Return the name that epochs of a line of a task are entered under."""
    return _bounded(f"{owner.task}@{owner.line}")


def node_name(pipeline: str, sink: str) -> str:
    """Return the name of a sink of a pipeline in the tables of ours."""
    return _bounded(f"{pipeline}/{sink}")


def _bounded(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    return hashlib.sha256(name.encode()).hexdigest()
