"""Which SQL a worker runs for a task, and which it refuses before Spark has done anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from conductor_workers.paths import ANYWHERE
from conductor_workers.statements import Judge, StatementRefused, own_session
from conductor_workers.tasks.outcome import Outcome, Status, settle
from conductor_workers.tasks.sql import run_sql
from tests.workers.attempts import FakeAttempt
from tests.workers.pipelines.jobs import Trial, files, generated, job_of

pytestmark = pytest.mark.spark

_QUERIES = (
    "SELECT carrier, avg(delay) AS d FROM a GROUP BY carrier HAVING count(*) > 3 ORDER BY 2 DESC",
    "SELECT * FROM A JOIN b USING (k) LEFT JOIN (SELECT max(v) m FROM a GROUP BY k) c ON c.k = 1",
    "WITH x AS (SELECT * FROM a), y AS (SELECT * FROM x) SELECT * FROM y, `X`",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) TABLE r",
    "WITH x(k, w) AS (SELECT k, v FROM a) SELECT w FROM x",
    "TABLE a",
    "VALUES (1, 'x'), (2, NULL)",
    "SELECT * FROM VALUES (upper('x'), 1) AS t(x, y)",
    "FROM a |> WHERE v > 1 |> AGGREGATE sum(v) AS s GROUP BY k |> EXTEND s + 1 AS t |> LIMIT 3",
    "FROM a |> SET v = v + 1 |> DROP k |> AS c |> ORDER BY v |> JOIN b |> SELECT c.v",
    "SELECT * FROM a WHERE k IN (SELECT k FROM b) AND EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "SELECT (SELECT max(v) FROM b) AS m FROM a WHERE v BETWEEN 1 AND 2 OR t LIKE 'x' ESCAPE '!'",
    "SELECT row_number() OVER w FROM a WINDOW w AS (PARTITION BY k ORDER BY v DESC NULLS LAST)",
    "SELECT sum(v) OVER (ORDER BY v ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM a",
    "SELECT sum(v) OVER (ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING) FROM a",
    "SELECT lag(v) IGNORE NULLS OVER (ORDER BY v), nth_value(v, 2) OVER () FROM a",
    "SELECT k, x FROM a LATERAL VIEW OUTER explode(split(t, ',')) e AS x",
    "SELECT * FROM a, LATERAL (SELECT sum(x) FROM explode(a.list) AS t(x))",
    "SELECT * FROM range(0, 10, 2, 4) UNION ALL SELECT 1 EXCEPT SELECT 2 INTERSECT SELECT 3",
    "SELECT * FROM a PIVOT (sum(v) AS s FOR k IN ('x' AS one, 'y' AS two))",
    "SELECT * FROM a UNPIVOT (v FOR k IN (x, y))",
    "SELECT * FROM a TABLESAMPLE (10 PERCENT) REPEATABLE (3)",
    "SELECT k, count(*) FROM a GROUP BY GROUPING SETS ((k), ())",
    "SELECT k, grouping(k) FROM a GROUP BY ROLLUP (k)",
    "SELECT k, v, count(*) FROM a GROUP BY ALL",
    "SELECT k, v, count(*) FROM a GROUP BY CUBE (k, v)",
    "SELECT /*+ BROADCAST(b), REPARTITION(3, k) */ DISTINCT a.* EXCEPT (v) FROM a NATURAL JOIN b",
    "SELECT transform(list, x -> x + 1), aggregate(list, 0, (s, x) -> s + x) FROM a",
    "SELECT m['x'], list[0], s.f, t::int, CAST(t AS decimal(10, 2)), try_cast(t AS date) FROM a",
    "SELECT CASE k WHEN 1 THEN 'a' ELSE 'b' END, if(v > 1, 2, 3), -v, NOT b FROM a",
    "SELECT count(DISTINCT k) FILTER (WHERE v > 1), listagg(t) WITHIN GROUP (ORDER BY t) FROM a",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v), mode() OVER () FROM a",
    "SELECT explode(map('k', v)) AS (k, v) FROM a TABLESAMPLE (5 ROWS)",
    "SELECT EXTRACT(year FROM d), d + INTERVAL '1' DAY, date_trunc('month', d) FROM a",
    "SELECT trim(BOTH 'x' FROM t), substring(t FROM 2 FOR 3), position('a' IN t) FROM a",
    "SELECT overlay(t PLACING 'x' FROM 2), DATE'2020-01-01', X'1F', 1.5BD, 3L FROM a",
    "SELECT current_date, current_timestamp(), TIMESTAMP'2020-01-01 00:00:00', now() FROM a",
    "SELECT timestampdiff(HOUR, d, d), timestampadd(DAY, 1, d), window(d, '1 minute').start FROM a",
    "SELECT from_json(t, 'x int'), to_json(struct(*)), t:x.y::int, parse_json(t) FROM a",
    "SELECT k AS `a b`, `from` FROM a ORDER BY ALL LIMIT 5 OFFSET 2",
    "SELECT `(k|v)?+.+` FROM a DISTRIBUTE BY k SORT BY v",
    "SELECT k FROM a CLUSTER BY k",
    "SELECT * FROM a SEMI JOIN b ON a.k <=> b.k CROSS JOIN b AS c",
    "SELECT stack(2, 1, 2), named_struct('a', 1), map('k', v), array(1, 2), t || 'x' FROM a",
    "SELECT v % 2, v DIV 2, v & 1, v ^ 1, ~v, t RLIKE '^x', t ILIKE ANY ('a', 'b') FROM a",
    "SELECT v IS DISTINCT FROM 1, b IS TRUE, v IS NOT NULL, t NOT LIKE ALL ('a', 'b') FROM a",
    "SELECT t COLLATE UNICODE_CI = 'x', uuid(), typeof(v), current_user(), user FROM a",
    "SELECT * FROM a LIMIT ALL OFFSET 3",
    "SELECT a.*, rank() OVER (PARTITION BY k ORDER BY v DESC) r FROM a QUALIFY r = 1",
    "SELECT builtin.sum(v), system.builtin.upper(t) FROM a",
    "SELECT * FROM a WHERE EXISTS (WITH x AS (TABLE b), y AS (TABLE x) SELECT * FROM y, x)",
    "WITH x AS (WITH z AS (TABLE a) TABLE z), y AS (TABLE x) SELECT * FROM x, y, (TABLE x) AS w",
    "SELECT /* reflect('x') */ 'reflect(1)' AS `reflect` -- SET x\n FROM a",
    "SELECT max_by(k, v) AS m, any_value(k), approx_count_distinct(v), hll_sketch_agg(v) FROM a",
    "SELECT * FROM (SELECT 1 AS x) AS t (y), (VALUES (1)) AS u (z), stack(1, 2), b AS q (k, w)",
    "(SELECT k FROM a ORDER BY v LIMIT 1) UNION (SELECT k FROM b) ORDER BY k",
    "FROM a SELECT k WHERE v > 1",
    "SELECT * FROM json_tuple('{}', 'x') AS t, posexplode(TABLE(SELECT list FROM a))",
)
_STATEMENTS = (
    # Programs, jars, settings, other statements.
    ("SELECT TRANSFORM (k) USING 'id' AS (x) FROM a", "ScriptTransformation"),
    ("FROM a SELECT TRANSFORM (k) USING 'id' AS (x)", "ScriptTransformation"),
    ("SELECT * FROM (FROM a MAP k USING 'id' AS x)", "ScriptTransformation"),
    ("ADD JAR '/tmp/x.jar'", "AddJars"),
    ("ADD FILE '/etc/passwd'", "AddFiles"),
    ("LIST JARS", "ListJars"),
    ("SET spark.sql.runSQLOnFiles=true", "SetCommand"),
    ("SET", "SetCommand"),
    ("RESET", "Reset"),
    ("CREATE FUNCTION f AS 'x.Y' USING JAR '/tmp/x.jar'", "CreateFunction"),
    ("CREATE TEMPORARY FUNCTION f() RETURNS int RETURN 1", "Function"),
    ("DECLARE VARIABLE x int", "Variable"),
    ("EXECUTE IMMEDIATE 'SELECT 1'", "ExecuteImmediate"),
    ("BEGIN SELECT 1; END", "Compound"),
    ("BEGIN DECLARE x INT DEFAULT 1; SELECT x; END", "Compound"),
    ("SELECT * FROM IDENTIFIER('text.' || '`/etc/passwd`')", "Identifier"),
    ("SELECT * FROM IDENTIFIER('text.`/etc/passwd`')", "text./etc/passwd"),
    ("SELECT IDENTIFIER('reflect')('java.lang.System', 'lineSeparator')", "Identifier"),
    ("CALL system.x()", "Call"),
    ("USE default", "SetCatalogAndNamespace"),
    ("SHOW TABLES", "ShowTables"),
    ("DESCRIBE a", "Describe"),
    ("EXPLAIN SELECT 1", "Explain"),
    ("ANALYZE TABLE a COMPUTE STATISTICS", "Analyze"),
    ("CACHE TABLE a", "Cache"),
    ("CLEAR CACHE", "Cache"),
    ("REFRESH '/tmp'", "Refresh"),
    # What is written, or left for others.
    ("INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT * FROM a", "InsertIntoDir"),
    ("INSERT INTO t SELECT * FROM a", "Insert"),
    ("FROM a INSERT INTO t SELECT * INSERT INTO u SELECT *", "Insert"),
    ("CREATE TABLE t AS SELECT * FROM a", "CreateTable"),
    ("CREATE TABLE t (x int) USING csv LOCATION '/etc'", "CreateTable"),
    ("CREATE TEMP VIEW v USING csv OPTIONS (path '/etc/passwd')", "CreateTempViewUsing"),
    ("CREATE OR REPLACE GLOBAL TEMP VIEW v AS SELECT * FROM a", "temporary views"),
    ("CREATE VIEW v AS SELECT * FROM a", "CreateView"),
    ("CREATE DATABASE d LOCATION '/tmp/x'", "CreateNamespace"),
    ("DROP TABLE a", "Drop"),
    ("DROP VIEW a", "Drop"),
    ("TRUNCATE TABLE a", "Truncate"),
    ("UPDATE a SET k = 1", "Update"),
    ("DELETE FROM a", "Delete"),
    ("MERGE INTO a USING b ON a.k = b.k WHEN MATCHED THEN DELETE", "Merge"),
    ("LOAD DATA INPATH '/etc/passwd' INTO TABLE t", "LoadData"),
    # What is read.
    ("SELECT * FROM text.`/etc/passwd`", "text./etc/passwd"),
    ("SELECT * FROM `text`.`/etc/passwd` AS a", "text./etc/passwd"),
    ("SELECT * FROM c", "c; there is a, b to read"),
    ("SELECT * FROM default.a", "default.a"),
    ("SELECT * FROM spark_catalog.default.a", "spark_catalog"),
    ("SELECT * FROM global_temp.a", "global_temp"),
    ("TABLE text.`/etc/passwd`", "text"),
    ("SELECT (SELECT max(value) FROM text.`/etc/passwd`) FROM a", "text"),
    ("SELECT * FROM a WHERE k IN (SELECT value FROM text.`/etc/passwd`)", "text"),
    ("SELECT * FROM a WHERE EXISTS (SELECT 1 FROM text.`/etc/passwd`)", "text"),
    ("WITH x AS (SELECT * FROM text.`/etc/passwd`) SELECT * FROM x", "text"),
    ("WITH x AS (WITH y AS (SELECT * FROM csv.`/x`) SELECT * FROM y) SELECT * FROM x", "csv"),
    ("SELECT * FROM a, LATERAL (SELECT * FROM text.`/etc/passwd`)", "text"),
    ("SELECT * FROM a UNION SELECT * FROM text.`/etc/passwd`", "text"),
    ("SELECT * FROM explode(TABLE(SELECT * FROM text.`/etc/passwd`))", "text"),
    ("FROM a |> JOIN text.`/etc/passwd`", "text"),
    ("CREATE TEMP VIEW v AS SELECT * FROM text.`/etc/passwd`", "text"),
    ("SELECT * FROM a VERSION AS OF 1", "TimeTravel"),
    ("WITH secret AS (SELECT * FROM secret) SELECT * FROM secret", "secret; there is"),
    ("SELECT s.*, (WITH secret AS (SELECT 1) SELECT 1) FROM secret AS s", "secret; there is"),
    ("WITH x AS (WITH z AS (TABLE a) TABLE z) SELECT * FROM z", "z; there is"),
    ("WITH y AS (TABLE x), x AS (TABLE a) SELECT * FROM y", "x; there is"),
    ("SELECT * FROM a UNION SELECT * FROM (WITH c AS (TABLE a) TABLE c) JOIN c", "c; there is"),
    ("SELECT * FROM a WITH (path = '/etc/passwd')", "with options"),
    ("SELECT * FROM STREAM a", "NamedStreamingRelation"),
    ("CREATE OR REPLACE TEMP VIEW a AS SELECT * FROM a", "there is a already"),
    ("SELECT * FROM python_worker_logs()", "python_worker_logs"),
    ("SELECT * FROM some.function(1)", "some.function"),
    ("SELECT * FROM read_files('/etc/passwd')", "read_files"),
    # What is called.
    ("SELECT reflect('java.lang.System', 'getenv', 'HOME')", "reflect"),
    ("SELECT `ReFlect`('java.lang.System', 'getenv', 'HOME') FROM a", "ReFlect"),
    ("SELECT java_method('java.lang.System', 'exit', 1)", "java_method"),
    ("SELECT try_reflect('java.lang.System', 'getenv', 'HOME')", "try_reflect"),
    ("SELECT builtin.reflect('java.lang.System', 'getenv', 'HOME')", "builtin.reflect"),
    ("SELECT system.builtin.reflect('java.lang.System', 'x')", "system.builtin.reflect"),
    ("SELECT * FROM a ORDER BY reflect('java.lang.System', 'x')", "reflect"),
    ("SELECT * FROM a LIMIT int(reflect('java.lang.System', 'x'))", "reflect"),
    ("SELECT sum(v) FILTER (WHERE reflect('a', 'b') = 1) FROM a", "reflect"),
    ("SELECT sum(v) OVER (PARTITION BY reflect('a', 'b')) FROM a", "reflect"),
    ("SELECT transform(list, x -> reflect('a', 'b')) FROM a", "reflect"),
    ("SELECT /*+ REPARTITION(3, reflect('a', 'b')) */ * FROM a", "reflect"),
    ("SELECT * FROM a PIVOT (sum(v) FOR k IN (reflect('a', 'b')))", "reflect"),
    ("SELECT * FROM VALUES (reflect('a', 'b'))", "reflect"),
    ("SELECT * FROM range(reflect('a', 'b'))", "reflect"),
    ("SELECT * FROM a LATERAL VIEW reflect('a', 'b') t AS x", "reflect"),
    ("SELECT * FROM a LATERAL VIEW explode(array(reflect('a', 'b'))) t AS x", "reflect"),
    ("SELECT * FROM a JOIN b ON reflect('a', 'b') = a.k", "reflect"),
    ("SELECT * FROM a GROUP BY GROUPING SETS ((reflect('a', 'b')))", "reflect"),
    ("SELECT named_struct('x', reflect('a', 'b')).x, m[reflect('a', 'b')] FROM a", "reflect"),
    ("SELECT CASE WHEN reflect('a', 'b') = 1 THEN 1 END FROM a", "reflect"),
    ("SELECT raise_error(reflect('a', 'b'))", "reflect"),
    ("FROM a |> EXTEND reflect('a', 'b') AS x", "reflect"),
    ("FROM a |> AGGREGATE max(reflect('a', 'b'))", "reflect"),
    ("WITH x AS (SELECT reflect('a', 'b')) SELECT 1", "reflect"),
    ("SELECT from_xml(t, 'x int', map('rowValidationXSDPath', '/etc/passwd')) FROM a", "from_xml"),
    ("SELECT schema_of_xml('<a/>')", "schema_of_xml"),
    ("SELECT from_avro(t, '{}', map('avroSchemaUrl', '/etc/passwd')) FROM a", "from_avro"),
    ("SELECT from_protobuf(t, 'M', '/etc/passwd') FROM a", "from_protobuf"),
    ("SELECT session.sum(1)", "session.sum"),
    ("SELECT xpath_string(t, 'system-property(\"user.home\")') FROM a", "xpath_string"),
    ("SELECT current_path()", "current_path, which is no function for queries"),
    ("SELECT 1 /* ${system:file.separator}* */ , reflect('a', 'b') AS h /* */ -- */", "reflect"),
    ("SELECT my_function(k) FROM a", "my_function, which is no function of Spark's"),
)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return own_session(spark, any_sql=False)


@pytest.fixture
def judge(session: SparkSession) -> Judge:
    return Judge(session, {"rand": "it is another value each time", "'now'": "it is always later"})


def _refused(look: Callable[[], object]) -> str:
    with pytest.raises(StatementRefused) as refused:
        look()
    return refused.value.message


@pytest.mark.parametrize("text", _QUERIES)
def test_a_query_over_what_is_declared_passes(judge: Judge, text: str) -> None:
    judge.query(text, ("a", "b"))


@pytest.mark.parametrize(("text", "told"), _STATEMENTS)
def test_what_is_no_query_over_what_is_declared_is_refused(
    judge: Judge, text: str, told: str
) -> None:
    assert told in _refused(lambda: judge.statement(text, ("a", "b")))


def test_a_statement_that_takes_long_to_look_at_is_refused(session: SparkSession) -> None:
    judge = Judge(session, most_parts=1000)
    text = f"SELECT {', '.join(f'{number} + v' for number in range(500))} FROM a"
    assert "more than 1,000 parts" in _refused(lambda: judge.query(text, ("a",)))
    judge.query(f"SELECT * FROM a WHERE k IN ({', '.join(map(str, range(5000)))})", ("a",))


@pytest.mark.thorough(target="pipelines")
def test_a_statement_that_is_too_deep_to_be_read_is_refused(judge: Judge) -> None:
    text = "SELECT " + "(" * 5000 + "1" + ")" * 5000
    assert "nested too deeply" in _refused(lambda: judge.query(text, ()))


def test_a_statement_is_read_with_the_settings_of_its_own_session(
    spark: SparkSession, judge: Judge
) -> None:
    hidden = "SELECT 1 /* ${system:file.separator}* */ , reflect('a', 'b') AS h /* */ -- */"
    other = spark.newSession()
    other.conf.set("spark.sql.variable.substitute", "true")
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession  # type: ignore[union-attr]
    before = sessions.getActiveSession()
    sessions.setActiveSession(other._jsparkSession)
    try:
        assert "reflect" in _refused(lambda: judge.query(hidden, ()))
        assert sessions.getActiveSession().get().equals(other._jsparkSession)
    finally:
        sessions.setActiveSession(before.get() if before.isDefined() else spark._jsparkSession)


def test_a_temporary_view_is_told_by_its_name_and_a_query_has_none(judge: Judge) -> None:
    assert judge.statement("CREATE TEMP VIEW v AS SELECT * FROM a", ("a",)) == "v"
    assert judge.statement("SELECT * FROM v", ("a", "v")) is None
    assert "CreateView" in _refused(lambda: judge.query("CREATE TEMP VIEW v AS TABLE a", ("a",)))


@pytest.mark.parametrize(
    "text",
    ["v + 1 AS w", "count_if(v > 1)", "`a b`.c", "v BETWEEN 1 AND 2", "k IN (1, 2)", "*", "a.*"],
)
def test_an_expression_over_columns_passes(judge: Judge, text: str) -> None:
    judge.expression(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("reflect('a', 'b')", "reflect"),
        ("v = (SELECT max(value) FROM text.`/etc/passwd`)", "text"),
        ("v IN (SELECT k FROM a)", "a; there is nothing to read"),
        ("Rand()", "it is another value each time"),
        ("system.builtin.rand()", "it is another value each time"),
        ("CAST(' Now' AS timestamp)", "it is always later"),
        ("'now'::date", "it is always later"),
    ],
)
def test_an_expression_that_does_more_than_compute_is_refused(
    judge: Judge, text: str, told: str
) -> None:
    assert told in _refused(lambda: judge.expression(text))


def test_what_is_no_sql_is_told_in_the_words_of_spark(judge: Judge) -> None:
    with pytest.raises(ParseException, match="Syntax error"):
        judge.query("SELEC 1", ())


def test_a_name_is_that_of_an_input_in_the_letters_that_the_session_minds(
    session: SparkSession,
) -> None:
    exact = session.newSession()
    exact.conf.set("spark.sql.caseSensitive", "true")
    assert "A; there is a" in _refused(lambda: Judge(exact).query("SELECT * FROM A", ("a",)))


def test_no_text_of_the_environment_comes_into_a_statement(session: SparkSession) -> None:
    assert session.sql("SELECT '${env:HOME}' AS x").collect()[0][0] == "${env:HOME}"


def test_each_of_sparks_functions_is_judged(spark: SparkSession, judge: Judge) -> None:
    """What a new Spark brings in a group that is allowed as a whole is seen here first."""
    listed = {row[0] for row in spark.newSession().sql("SHOW SYSTEM FUNCTIONS").collect()}
    refused = set()
    for name in listed:
        try:
            judge._look_at_function([name])  # no statement can call each of them
        except StatementRefused:
            refused.add(name)
    assert refused == {
        *("current_path", "from_avro", "from_protobuf", "from_xml", "java_method"),
        *("rand", "reflect", "schema_of_avro", "schema_of_xml", "to_avro", "to_protobuf"),
        *("to_xml", "try_reflect", "range", "collations", "sql_keywords", "xpath"),
        *("xpath_boolean", "xpath_double", "xpath_float", "xpath_int", "xpath_long"),
        *("xpath_number", "xpath_short", "xpath_string"),
        *("python_worker_logs", "variant_explode", "variant_explode_outer"),
    }


_EXIT = "java_method('java.lang.System', 'getProperty', 'user.home')"


def _outcome(spark: SparkSession, given: Mapping[str, Any], *, any_sql: bool = False) -> Outcome:
    attempt = FakeAttempt(dict(given))
    outcome = settle(attempt, lambda: run_sql(spark, attempt, paths=ANYWHERE, any_sql=any_sql))
    assert outcome is not None
    return outcome


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sql": "SELECT TRANSFORM (1) USING 'touch MARK' AS (x)"}, "$.sql: ScriptTransformation"),
        ({"sql": "INSERT OVERWRITE DIRECTORY 'MARK' SELECT 1"}, "$.sql: InsertIntoDir"),
        ({"statements": ["SET x=1", "SELECT 1"]}, "$.statements[0]: SetCommand"),
        (
            {"statements": ["CREATE TEMP VIEW v AS SELECT 1", "TABLE text.`/etc/passwd`"]},
            "$.statements[1]: it reads text./etc/passwd; there is v to read.",
        ),
        ({"sql": "SELECT 1", "metrics": {"m": f"SELECT {_EXIT}"}}, "$.metrics.m: it calls java_"),
        (
            {"sql": "SELECT 1", "metrics": {"m": f"SELECT 1) AS x, (SELECT {_EXIT}"}},
            "$.metrics.m: [PARSE_SYNTAX_ERROR]",
        ),
        ({"sql": "SELEC 1"}, "$.sql: [PARSE_SYNTAX_ERROR]"),
        ({"sql": "CREATE TEMP VIEW v AS SELECT 1"}, "$.sql: the last statement must be a query"),
        (
            {"inputs": {"a": {"format": "csv", "path": "/x", "options": {"fs.z.impl": "Y"}}}},
            "$.inputs.a.options['fs.z.impl']: is no option of csv",
        ),
    ],
)
def test_a_task_with_such_a_statement_ends_for_good_and_has_done_nothing(
    spark: SparkSession, tmp_path: Path, given: dict[str, Any], told: str
) -> None:
    mark, out = tmp_path / "mark", tmp_path / "out"
    given = {**given, "output": {"path": str(out)}}
    if "sql" in given:
        given["sql"] = given["sql"].replace("MARK", str(mark))
    outcome = _outcome(spark, given)
    assert outcome.status is Status.FAILED_WITH_TERMINAL_ERROR
    assert outcome.reason.startswith(told)
    assert not mark.exists()
    assert not list(tmp_path.glob("out/*"))


def test_views_of_one_statement_are_read_by_the_next_and_by_metrics(spark: SparkSession) -> None:
    given = {
        "statements": [
            "CREATE TEMP VIEW few AS SELECT id FROM range(4)",
            "CREATE OR REPLACE TEMPORARY VIEW fewer AS SELECT * FROM few WHERE id > 1",
            "SELECT * FROM FEWER",
        ],
        "metrics": {
            "a `b`": "SELECT max(id) FROM fewer -- and no more",
            "n": "TABLE result LIMIT 1",
        },
        "collect": 5,
    }
    outcome = _outcome(spark, given)
    assert outcome.status is Status.COMPLETED, outcome.reason
    assert outcome.output["rows"] == [{"id": 2}, {"id": 3}]
    assert outcome.output["metrics"] == {"a `b`": 3, "n": 2}


def test_whoever_runs_the_worker_may_allow_any_sql(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("one\ntwo\n")
    given = {"statements": ["SET x=1", f"SELECT value FROM text.`{file}`"], "collect": 2}
    assert _outcome(spark, given).status is Status.FAILED_WITH_TERMINAL_ERROR
    outcome = _outcome(spark, given, any_sql=True)
    assert outcome.output["rows"] == [{"value": "one"}, {"value": "two"}]


@pytest.mark.parametrize(
    ("transform", "told"),
    [
        ({"kind": "sql", "query": "SELECT * FROM other"}, "t.query: it reads other; there is i to"),
        (
            {"kind": "sql", "query": "SELECT id, `now`() AS at FROM i"},
            "t.query: it calls now: what",
        ),
        ({"kind": "map", "select": {"x": _EXIT}}, "t.select.x: it calls java_method"),
        ({"kind": "filter", "where": f"id > 0 OR {_EXIT} = 1"}, "t.where: it calls java_method"),
        (
            {"kind": "aggregate", "group_by": ["id"], "measures": {"x": f"max({_EXIT})"}},
            "t.measures.x: it calls java_method",
        ),
    ],
)
def test_a_pipeline_with_such_a_query_fails_before_its_first_round(
    spark: SparkSession, tmp_path: Path, transform: dict[str, Any], told: str
) -> None:
    node = {"id": "t", "inputs": {"i": "made_rows"}, "output": "o", **transform}
    trial = Trial(spark=spark, place=tmp_path)
    result = trial.run(job_of([generated("made", 10)], [files("f", "o", tmp_path / "f")], [node]))
    ((_, reason),) = result.failures
    assert reason.startswith(told)
    (part,) = trial.keeper.parts.values()
    assert part["record"]["epoch"] == 0
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize(
    "select",
    ["`current_timestamp`", "r'\\' || current_timestamp || '\\''"],
)
def test_a_time_that_is_not_that_of_the_round_is_refused(
    spark: SparkSession, tmp_path: Path, select: str
) -> None:
    node = {
        "id": "t",
        "kind": "map",
        "inputs": {"i": "made_rows"},
        "output": "o",
        "select": {"at": f"CAST({select} AS string)"},
    }
    job = job_of([generated("made", 9)], [files("f", "o", tmp_path / "f")], [node])
    ((_, reason),) = Trial(spark=spark, place=tmp_path).run(job).failures
    assert "tells the time" in reason


@pytest.mark.thorough(target="pipelines")
def test_fields_of_a_column_have_any_name_where_rows_wait_for_the_end(
    spark: SparkSession, tmp_path: Path
) -> None:
    field = f"a:int>) IS NOT NULL OR {_EXIT} = '' OR named_struct('b', 1) = CAST(NULL AS struct<b"
    select = {"id": "id", "at": "timestamp_seconds(id)", "s": f'named_struct("{field}", 1)'}
    node = {"id": "t", "kind": "map", "inputs": {"i": "made_rows"}, "output": "o", "select": select}
    windows = {
        "id": "w",
        "kind": "aggregate",
        "inputs": {"i": "o"},
        "output": "p",
        "measures": {"n": "count(s)"},
        "time": "at",
        "window_s": 60,
    }
    job = job_of(
        [generated("made", 9)],
        [files("f", "p", tmp_path / "f")],
        [node, windows],
        mode="unbounded",
    )
    trial = Trial(spark=spark, place=tmp_path)
    result = trial.run(job)
    assert result.finished, result.document
    assert [row["n"] for row in trial.rows(tmp_path / "f").collect()] == [9]


def test_an_expression_is_run_with_the_settings_it_was_judged_with(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = "${system:file.separator}"
    node = {"id": "t", "kind": "map", "inputs": {"i": "made_rows"}, "output": "o"}
    node |= {"select": {"x": f"'{text}'", "y": "id + 1 -- no more \\"}}
    job = job_of([generated("made", 1)], [files("f", "o", tmp_path / "f")], [node])
    other = spark.newSession()
    other.conf.set("spark.sql.variable.substitute", "true")
    trial = Trial(spark=other, place=tmp_path)
    assert trial.run(job).finished
    assert [row.asDict() for row in trial.rows(tmp_path / "f").collect()] == [{"x": text, "y": 1}]


def test_what_a_sink_asserts_is_judged_too(spark: SparkSession, tmp_path: Path) -> None:
    sink = {"id": "s", "kind": "assert", "input": "made_rows", "checks": {"home": f"{_EXIT} = ''"}}
    result = Trial(spark=spark, place=tmp_path).run(job_of([generated("made", 10)], [sink]))
    ((_, reason),) = result.failures
    assert reason.startswith("s.checks.home: it calls java_method")


@pytest.mark.thorough(target="pipelines")
def test_a_column_may_have_any_name_and_is_no_more_than_a_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    name, group = f"a` AS string) || {_EXIT} || CAST(`b -- c", "of. `it`"
    node = {
        "id": "t",
        "kind": "map",
        "inputs": {"i": "made_rows"},
        "output": "o",
        "select": {name: "timestamp_seconds(id) -- when", group: "id % 2"},
    }
    windows = {
        "id": "w",
        "kind": "aggregate",
        "inputs": {"i": "o"},
        "output": "p",
        "group_by": [group],
        "measures": {"n": "count(*)"},
        "time": name,
        "window_s": 60,
    }
    job = job_of([generated("made", 9)], [files("f", "p", tmp_path / "f")], [node, windows])
    trial = Trial(spark=spark, place=tmp_path)
    assert trial.run(job).finished
    assert sum(row["n"] for row in trial.rows(tmp_path / "f").collect()) == 9


def test_whoever_runs_the_worker_may_allow_pipelines_any_sql(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "words.txt"
    file.write_text("one\n")
    query = f"SELECT id, value FROM i JOIN text.`{file}` ON true"
    node = {"id": "t", "kind": "sql", "inputs": {"i": "made_rows"}, "output": "o", "query": query}
    job = job_of([generated("made", 9)], [files("f", "o", tmp_path / "f")], [node])
    trial = Trial(spark=spark, place=tmp_path)
    assert not trial.run(job).finished
    assert replace(trial, any_sql=True, place=tmp_path / "again").run(job, token=2).finished
