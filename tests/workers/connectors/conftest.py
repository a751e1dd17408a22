"""SQL databases of three kinds, each with what a test needs to look into it."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conductor_workers.pipelines.databases.dialect import DatabaseError, Trouble, read_address
from conductor_workers.pipelines.databases.opening import Database
from tests.services import ObjectStore, absent
from tests.services.buckets import S3Bucket
from tests.waiting import PATIENCE_S
from tests.workers.pipelines.jobs import Trial

#: Of the contract of all sinks: with children that are killed, or that race. One sink shows them
#: in every run.
_WITH_CHILDREN = {
    "test_killed_while_publishing_the_next_one_finishes",
    "test_published_from_two_processes_at_once_is_seen_once",
}
_SHOWN_BY = "test_files.py::TestPublished::"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What the other sinks show of them belongs to `make test-pipelines`."""
    for item in items:
        name = getattr(item, "originalname", "")
        elsewhere = _SHOWN_BY in item.nodeid or item.get_closest_marker("thorough")
        if name in _WITH_CHILDREN and not elsewhere:
            item.add_marker(pytest.mark.thorough(target="pipelines"))


@dataclass(frozen=True)
class Sql:
    """A database and a name for this test's own table."""

    url: str
    table: str
    server: str | None = None

    def database(self, lock_wait_s: float = PATIENCE_S) -> Database:
        return Database(node="test", address=read_address(self.url), lock_wait_s=lock_wait_s)

    def run(self, *statements: str) -> None:
        with self.database().connected() as connection:
            for statement in statements:
                connection.cursor().execute(statement)
            connection.commit()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query gives; nothing where its table is not there yet."""
        with (
            contextlib.suppress(_NoTable),
            _translated(),
            self.database().connected() as connection,
        ):
            cursor = connection.cursor()
            cursor.execute(query)
            return [tuple(row) for row in cursor.fetchmany(1_000_000)]
        return []

    def fill(self, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        self.run(f"CREATE TABLE {self.table} ({columns})")
        database = self.database()
        marks = ", ".join([database.dialect.placeholder] * len(rows[0]))
        with database.connected() as connection:
            database.dialect.begin(connection)
            connection.cursor().executemany(f"INSERT INTO {self.table} VALUES ({marks})", rows)
            connection.commit()


class _NoTable(Exception):
    pass


@contextlib.contextmanager
def _translated():
    try:
        yield
    except DatabaseError as error:
        if error.trouble is Trouble.NO_TABLE:
            raise _NoTable from error
        raise


def _table() -> str:
    return f"t_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def sqlite(tmp_path: Path) -> Sql:
    return Sql(url=f"sqlite:///{tmp_path}/data.db", table=_table())


@pytest.fixture
def postgresql(postgresql_server: str) -> Sql:
    return Sql(url=postgresql_server, table=_table())


@pytest.fixture
def mariadb(mariadb_server: str) -> Sql:
    return Sql(url=mariadb_server, table=_table())


@pytest.fixture
def mysql(mysql_server: str) -> Sql:
    return Sql(url=mysql_server, table=_table())


@pytest.fixture
def bucket(s3_bucket: S3Bucket, object_store: ObjectStore) -> S3Bucket:
    if object_store.name == "rclone":
        absent("rclone's store knows no conditions: versitygw is needed")
    return s3_bucket


@pytest.fixture
def known_bucket(bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> S3Bucket:
    """A bucket that the environment says how to reach, as a worker's does."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.endpoint)
    monkeypatch.setenv("AWS_REGION", bucket.region)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", bucket.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", bucket.secret_key)
    return bucket


@pytest.fixture
def trial(spark: SparkSession, tmp_path: Path) -> Trial:
    return Trial(spark=spark, place=tmp_path)
