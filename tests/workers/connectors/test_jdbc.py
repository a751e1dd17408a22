"""Tables of real databases as sources and as sinks."""

from __future__ import annotations

import math
import threading
import uuid
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import ClassVar

import pytest

from conductor_py.pipelines import spec
from conductor_workers.pipelines.connectors import Owner, SinkProblem, SourceProblem
from conductor_workers.pipelines.registry import Place, open_sink, open_source
from conductor_workers.testing import SinkContract, SinkTarget, SourceContract, SourceSample
from conductor_workers.testing.sinks import expected, rows_of
from conductor_workers.testing.sources import walked
from tests.waiting import PATIENCE_S, until
from tests.workers.connectors.conftest import Sql

pytestmark = [pytest.mark.spark, pytest.mark.service, pytest.mark.xdist_group("spark")]

_ANOTHER_SERVER = pytest.mark.thorough(target="versions")
DATABASES = (
    "postgresql",
    *(pytest.param(each, marks=_ANOTHER_SERVER) for each in ("sqlite", "mariadb")),
)
PEOPLE = [(n if n % 10 else None, f"name {n}", n / 4) for n in range(1, 96)]
COLUMNS = "id BIGINT, name VARCHAR(40), share DOUBLE PRECISION"


@pytest.fixture(params=DATABASES)
def sql(request) -> Sql:
    return request.getfixturevalue(request.param)


def place(tmp_path) -> Place:
    return Place(owner=Owner(task="e/r"), pipeline="p", work_dir=str(tmp_path / "work"))


def source_of(sql: Sql, tmp_path, *, split=None, schema=None, **settings):
    given = {"url": sql.url, "lock_wait_s": PATIENCE_S, **settings}
    if "query" not in given:
        given.setdefault("table", sql.table)
    node = spec.Source(id="in", kind="jdbc", output="o", split=split, schema=schema, settings=given)
    return open_source(node, place(tmp_path))


def by_key(column="id", rows=20):
    return spec.SplitRule(by="key_range", column=column, rows=rows)


class _Source(SourceContract):
    split: spec.SplitRule | None = None

    @pytest.fixture
    def sample(self, sql, tmp_path):
        sql.fill(COLUMNS, PEOPLE)

        def broken():
            gone = source_of(sql, tmp_path, table="no_such_table", split=self.split)
            column = source_of(sql, tmp_path, columns=["id", "no_such"], split=self.split)
            return {"SOURCE_UNAVAILABLE": gone, "SCHEMA_CHANGED": column}

        source = source_of(sql, tmp_path, split=self.split)
        return SourceSample(source=source, rows=PEOPLE, broken=broken)


class TestWholeTable(_Source):
    pass


class TestKeyRanges(_Source):
    split = by_key()


class TestTextKeyRanges(_Source):
    split = by_key("name", 13)


@_ANOTHER_SERVER
class TestMysqlKeyRanges(TestTextKeyRanges):
    """MySQL is near enough to MariaDB for one kind of source and one of sink."""

    @pytest.fixture
    def sql(self, mysql) -> Sql:
        return mysql


def sink_of(url, table, work_dir, create=True, **settings):
    node = spec.Sink(
        id="out",
        kind="jdbc",
        input="i",
        settings={
            "url": url,
            "table": table,
            "create": create,
            "lock_wait_s": PATIENCE_S,
            **settings,
        },
    )
    return open_sink(node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir=work_dir))


class _Sink(SinkContract):
    settings: ClassVar[dict[str, object]] = {}

    @pytest.fixture
    def target(self, sql, tmp_path):
        work = tmp_path / "work"
        return SinkTarget(
            open=partial(sink_of, sql.url, sql.table, str(work), **self.settings),
            rows=lambda: sql.rows(f"SELECT id, name FROM {sql.table}"),
            leftovers=lambda: [str(file) for file in work.rglob("*.parquet")],
            fences=True,
            replaces="key" in self.settings,
            killed_at=("F10", "F11"),
        )


class TestAppend(_Sink):
    pass


@pytest.mark.thorough(target="pipelines")
class TestUpsert(_Sink):
    settings: ClassVar[dict[str, object]] = {"write": "upsert", "key": ["id"]}


@_ANOTHER_SERVER
class TestMysqlUpsert(TestUpsert):
    @pytest.fixture
    def sql(self, mysql) -> Sql:
        return mysql


_UUID = "00000000-0000-0000-0000-00000000000a"
_NOON = datetime(2026, 2, 28, 12)  # noqa: DTZ001 - compared without zones
_COMMON = (2**62, Decimal("12.34"), "é", b"\x00\xff")
_GIVEN = (2**62, "12.34", "é", b"\x00\xff")
#: Columns, a row as it is given (and one of NULLs), Spark's types, and the row as it is read.
TYPED = {
    "sqlite": (
        "n INTEGER, d DECIMAL(10,2), t TEXT, b BLOB, f BOOLEAN, r REAL",
        (*_GIVEN, 1, 0.5),
        "bigint decimal(10,2) string binary boolean double",
        (*_COMMON, True, 0.5),
    ),
    "postgresql": (
        """n bigint, d numeric(10,2), t text, b bytea, f boolean, r real, j jsonb, u uuid,
        day date, at timestamptz, local timestamp, x numeric""",
        (
            *(*_GIVEN, True, 0.5, '{"a": 1}', _UUID, "2026-02-28"),
            *("2026-02-28 14:00+02", "2026-02-28 12:00", "1.5"),
        ),
        """bigint decimal(10,2) string binary boolean float string string
        date timestamp timestamp_ntz decimal(38,18)""",
        (
            *(*_COMMON, True, 0.5, '{"a": 1}', _UUID, date(2026, 2, 28)),
            *(_NOON, _NOON, Decimal("1.5")),
        ),
    ),
    "mariadb": (
        """n bigint, d decimal(10,2), t text, b blob, f tinyint(1), r double, e enum('a','b'),
        u bigint unsigned, day date, at timestamp null, local datetime, length time""",
        (
            *(*_GIVEN, 1, 0.5, "b", 2**64 - 1, "2026-02-28"),
            *("2026-02-28 12:00:00", "2026-02-28 12:00:00", "01:02:03"),
        ),
        """bigint decimal(10,2) string binary smallint double string decimal(20,0)
        date timestamp timestamp_ntz string""",
        (
            *(*_COMMON, 1, 0.5, "b", Decimal(2**64 - 1), date(2026, 2, 28)),
            *(_NOON, _NOON, "1:02:03"),
        ),
    ),
    "mysql": (
        "n bigint, d decimal(10,2), t text, b blob, f boolean, e set('a','b'), j json",
        (*_GIVEN, 1, "a,b", '{"a": 1}'),
        "bigint decimal(10,2) string binary smallint string string",
        (*_COMMON, 1, "a,b", '{"a": 1}'),
    ),
}
KINDS = [
    pytest.param(kind, marks=_ANOTHER_SERVER) if kind in {"mariadb", "mysql"} else kind
    for kind in TYPED
]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_arrive_with_their_types(kind, request, tmp_path, spark):
    sql = request.getfixturevalue(kind)
    columns, given, types, first = TYPED[kind]
    sql.fill(columns, [given, (None,) * len(given)])
    source = source_of(sql, tmp_path)
    schema = source.schema(spark)
    assert [field.dataType.simpleString() for field in schema] == types.split()
    (split,) = source.enumerator({}).discover(first_ord=0, limit=9).found
    (batch,) = source.reader(schema).read(split)
    found = [tuple(row.values()) for row in batch.to_pylist()]
    plain = [
        tuple(v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row)
        for row in found
    ]
    assert plain == [first, (None,) * len(first)]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_a_frame_come_back_as_they_were(kind, request, tmp_path, spark):
    sql = request.getfixturevalue(kind)
    frame = spark.sql(
        "SELECT 1Y AS a, 2S AS b, 3 AS c, 4L AS d, CAST(1.5 AS FLOAT) AS e, 2.5D AS f, "
        "CAST(12.34 AS DECIMAL(10,2)) AS g, 'tab\\tquote''\\\\n' AS h, X'00FF' AS i, TRUE AS j, "
        "DATE'2026-02-28' AS k, TIMESTAMP'2026-02-28 10:00:00.123456' AS l, "
        "CAST(NULL AS STRING) AS m"
    )
    target = SinkTarget(open=partial(sink_of, sql.url, sql.table, str(tmp_path)), rows=list)
    sink = target.open()
    sink.publish(sink.stage(frame, target.epoch(1)), target.epoch(1), "h")
    schema = spec.Schema(
        columns=tuple(
            spec.Column(name=field.name, type=field.dataType.simpleString())
            for field in frame.schema
        )
    )
    source = source_of(sql, tmp_path, schema=schema)
    read = source.schema(spark)
    (split,) = source.enumerator({}).discover(first_ord=0, limit=9).found
    (batch,) = source.reader(read).read(split)
    (row,) = batch.to_pylist()
    (want,) = frame.toArrow().to_pylist()
    assert {k: _naive(v) for k, v in row.items()} == {k: _naive(v) for k, v in want.items()}


def _naive(value):
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def test_ranges_are_about_as_large_as_asked_for(sql, tmp_path):
    sql.fill(COLUMNS, PEOPLE)
    source = source_of(sql, tmp_path, split=by_key(rows=20))
    splits, _ = walked(SourceSample(source=source, rows=()), limit=100)
    # 86 rows with a key in ranges of 20, and one range for those without.
    assert len(splits) == 1 + math.ceil(86 / 20)


def test_a_key_that_many_rows_share_is_one_range(sql, tmp_path, spark):
    rows = [(7 if n < 50 else n, f"name {n}", 0.5) for n in range(60)]
    sql.fill(COLUMNS, rows)
    source = source_of(sql, tmp_path, split=by_key(rows=5))
    splits, _ = walked(SourceSample(source=source, rows=rows), limit=100)
    reader = source.reader(source.schema(spark))
    ids = [n for split in splits for batch in reader.read(split) for n in batch["id"].to_pylist()]
    assert sorted(ids) == sorted(row[0] for row in rows)
    assert len(splits) == 3


@_ANOTHER_SERVER
def test_keys_that_only_the_database_holds_equal_are_not_lost(mariadb, tmp_path, spark):
    rows = [(n, "aA"[n % 2] if n < 30 else f"b{n}", 0.5) for n in range(40)]
    mariadb.fill(COLUMNS, rows)
    source = source_of(mariadb, tmp_path, split=by_key("name", 4))
    splits, _ = walked(SourceSample(source=source, rows=rows), limit=100)
    reader = source.reader(source.schema(spark))
    ids = [n for split in splits for batch in reader.read(split) for n in batch["id"].to_pylist()]
    assert sorted(ids) == list(range(40))


def test_rows_that_come_above_the_largest_key_are_not_read(sql, tmp_path, spark):
    sql.fill(COLUMNS, PEOPLE)
    source = source_of(sql, tmp_path, split=by_key())
    enumerator = source.enumerator({})
    first = enumerator.discover(first_ord=0, limit=2).found
    sql.run(f"INSERT INTO {sql.table} VALUES (1000, 'late', 1.0)")
    rest = enumerator.discover(first_ord=2, limit=100).found
    reader = source.reader(source.schema(spark))
    names = [
        name
        for split in (*first, *rest)
        for batch in reader.read(split)
        for name in batch["name"].to_pylist()
    ]
    assert sorted(names) == sorted(row[1] for row in PEOPLE)


def test_a_query_with_a_condition_is_a_source(sql, tmp_path, spark):
    sql.fill(COLUMNS, PEOPLE)
    source = source_of(
        sql,
        tmp_path,
        query=f"SELECT id, name FROM {sql.table} WHERE name LIKE 'name %'",
        where="name LIKE '%5'",
        split=by_key(rows=3),
    )
    splits, _ = walked(SourceSample(source=source, rows=()), limit=100)
    reader = source.reader(source.schema(spark))
    names = [n for s in splits for batch in reader.read(s) for n in batch["name"].to_pylist()]
    assert sorted(names) == sorted(row[1] for row in PEOPLE if row[1].endswith("5"))


def test_an_empty_table_is_complete_at_once(sql, tmp_path):
    sql.run(f"CREATE TABLE {sql.table} ({COLUMNS})")
    page = source_of(sql, tmp_path, split=by_key()).enumerator({}).discover(first_ord=0, limit=5)
    assert (page.found, page.complete) == ((), True)


def test_a_column_that_vanishes_is_one_sentence(sql, tmp_path, spark):
    sql.fill(COLUMNS, PEOPLE)
    source = source_of(sql, tmp_path)
    schema = source.schema(spark)
    sql.run(f"ALTER TABLE {sql.table} DROP COLUMN share")
    (split,) = source.enumerator({}).discover(first_ord=0, limit=1).found
    with pytest.raises(SourceProblem, match="has no such column") as caught:
        list(source.reader(schema).read(split))
    assert (caught.value.code, caught.value.retryable) == ("SCHEMA_CHANGED", False)


def test_a_value_of_another_type_names_column_and_value(sqlite, tmp_path, spark):
    sqlite.fill(COLUMNS, [(1, "a", "not a number")])
    source = source_of(sqlite, tmp_path)
    (split,) = source.enumerator({}).discover(first_ord=0, limit=1).found
    with pytest.raises(SourceProblem, match="the column share holds 'not a number'"):
        list(source.reader(source.schema(spark)).read(split))


@pytest.mark.parametrize("type_", ["bigint", "boolean", "timestamp", "date"])
def test_a_value_that_its_declared_type_would_cut_short_fails(sqlite, tmp_path, spark, type_):
    sqlite.fill(COLUMNS, [(1, "a", 2.7)])
    schema = spec.Schema(columns=(spec.Column(name="share", type=type_),))
    source = source_of(sqlite, tmp_path, schema=schema)
    (split,) = source.enumerator({}).discover(first_ord=0, limit=1).found
    with pytest.raises(SourceProblem, match=r"the column share holds '2\.7', which is no ") as told:
        list(source.reader(source.schema(spark)).read(split))
    assert told.value.code == "SCHEMA_CHANGED"


@pytest.mark.parametrize(
    ("kind", "lock"),
    [
        ("sqlite", "BEGIN EXCLUSIVE"),
        ("postgresql", "LOCK TABLE {0} IN ACCESS EXCLUSIVE MODE"),
        pytest.param("mariadb", "LOCK TABLES {0} WRITE", marks=_ANOTHER_SERVER),
        pytest.param("mysql", "LOCK TABLES {0} WRITE", marks=_ANOTHER_SERVER),
    ],
)
def test_a_locked_table_is_worth_another_try(kind, lock, request, tmp_path, spark):
    sql = request.getfixturevalue(kind)
    sql.fill(COLUMNS, PEOPLE)
    source, hasty = source_of(sql, tmp_path), source_of(sql, tmp_path, lock_wait_s=1)
    schema = source.schema(spark)
    (split,) = source.enumerator({}).discover(first_ord=0, limit=1).found
    with sql.database().connected() as held:
        held.cursor().execute(lock.format(sql.table))

        def refused() -> list[SourceProblem]:
            with pytest.raises(SourceProblem) as caught:
                list(hasty.reader(schema).read(split))
            return [caught.value] if "is locked" in str(caught.value) else []

        # A busy server may be too slow to be asked at all within a second.
        (problem,) = until(refused, what="the lock is waited for in vain")
        held.rollback()
    assert (problem.code, problem.retryable) == ("SOURCE_UNAVAILABLE", True)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_is_away_is_worth_another_try(scheme, tmp_path, spark):
    sql = Sql(url=f"{scheme}://user:very-secret@127.0.0.1:1/db", table="t")
    with pytest.raises(SourceProblem) as caught:
        source_of(sql, tmp_path, lock_wait_s=1).schema(spark)
    assert (caught.value.code, caught.value.retryable) == ("SOURCE_UNAVAILABLE", True)
    assert "very-secret" not in str(caught.value)


def test_the_last_row_of_a_key_stays(sql, tmp_path, spark):
    target = SinkTarget(
        open=partial(sink_of, sql.url, sql.table, str(tmp_path / "w"), write="upsert", key=["id"]),
        rows=lambda: sql.rows(f"SELECT id, name FROM {sql.table}"),
    )
    sink = target.open()
    for number, names in enumerate((("a", "b"), ("c",)), start=1):
        frame = spark.createDataFrame([(1, name) for name in names], "id bigint, name string")
        staged = sink.stage(frame.coalesce(1), target.epoch(number))
        sink.publish(staged, target.epoch(number), f"h{number}")
        assert list(target.seen()) == [(1, names[-1])]


def test_epochs_and_rows_are_one_transaction(sql, tmp_path, spark):
    sql.run(f"CREATE TABLE {sql.table} (id BIGINT, name VARCHAR(8))")
    target = SinkTarget(
        open=partial(sink_of, sql.url, sql.table, str(tmp_path), create=False),
        rows=lambda: sql.rows(f"SELECT id, name FROM {sql.table}"),
    )
    if sql.url.startswith("sqlite"):
        pytest.skip("SQLite takes texts of any length")
    sink = target.open()
    owner = Owner(task=f"e/{uuid.uuid4()}", line=1)
    epoch = target.epoch(1, owner=owner)
    good = sink.stage(rows_of(spark, 1, 3), epoch)
    sink.publish(good, epoch, "h1")
    epoch = target.epoch(2, owner=owner)
    long = spark.createDataFrame([(9, "x" * 20), (8, "fits")], "id bigint, name string")
    staged = sink.stage(long, epoch)
    with pytest.raises(SinkProblem) as caught:
        sink.publish(staged, epoch, "h2")
    assert not caught.value.retryable
    assert target.seen() == expected(1, 3)
    found = sink.evidence(owner, epoch.pipeline)
    assert found is not None
    assert found.epoch == 1


@_ANOTHER_SERVER
@pytest.mark.parametrize(("kind", "engine"), [("mariadb", "Aria"), ("mysql", "MyISAM")])
def test_a_table_without_transactions_is_refused(kind, engine, request, tmp_path, spark):
    sql = request.getfixturevalue(kind)
    sql.run(f"CREATE TABLE {sql.table} (id BIGINT, name TEXT) ENGINE={engine}")
    target = SinkTarget(
        open=partial(sink_of, sql.url, sql.table, str(tmp_path), create=False), rows=list
    )
    sink = target.open()
    staged = sink.stage(rows_of(spark, 1, 3), target.epoch(1))
    with pytest.raises(SinkProblem, match="has no transactions"):
        sink.publish(staged, target.epoch(1), "h")


def test_two_tasks_publish_to_one_table_at_once(sql, tmp_path, spark):
    target = SinkTarget(
        open=partial(sink_of, sql.url, sql.table, str(tmp_path / "w")),
        rows=lambda: sql.rows(f"SELECT id, name FROM {sql.table}"),
    )
    epochs = [target.epoch(1, owner=Owner(task=f"e{n}/{sql.table}")) for n in range(4)]
    staged = [
        target.open().stage(rows_of(spark, n * 10, n * 10 + 10), epoch)
        for n, epoch in enumerate(epochs)
    ]
    failures: list[Exception] = []

    def publish(number: int) -> None:
        try:
            target.open().publish(staged[number], epochs[number], f"h{number}")
        except Exception as error:  # noqa: BLE001 - shown by the test
            failures.append(error)

    threads = [threading.Thread(target=publish, args=(n,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)
    assert not failures
    assert target.seen() == expected(0, 40)


def test_a_column_that_no_table_takes_is_refused_before_any_work(sqlite, tmp_path, spark):
    target = SinkTarget(open=partial(sink_of, sqlite.url, "t", str(tmp_path)), rows=list)
    nested = spark.sql("SELECT 1 AS id, array(1, 2) AS list")
    with pytest.raises(SinkProblem, match="the column list is array<int>"):
        target.open().stage(nested, target.epoch(1))
