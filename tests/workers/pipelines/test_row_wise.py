"""What a round may be shown a part of its input for, and what would be wrong then."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from conductor_workers.pipelines.row_wise import needs_more_than_a_row

_BY_ROW = (
    "SELECT id + 1 FROM main WHERE id > 1",
    "WITH t AS (SELECT id FROM main) SELECT * FROM t",
    "WITH t AS (SELECT count(*) AS c FROM side) SELECT id, c FROM main, t",
    "SELECT id FROM main UNION ALL SELECT id + 1 FROM main",
    "SELECT id, v FROM main LATERAL VIEW explode(list) t AS v",
    "SELECT id, (SELECT max(x) FROM explode(list) AS t(x)) FROM main",
    "SELECT * FROM main, LATERAL (SELECT sum(x) FROM explode(main.list) AS t(x))",
    "SELECT * FROM main LEFT JOIN side USING (id)",
    "SELECT * FROM side RIGHT JOIN main USING (id)",
    "SELECT * FROM main LEFT SEMI JOIN side USING (id)",
    "SELECT * FROM main WHERE id IN (SELECT max(id) FROM side)",
    "SELECT * FROM main WHERE EXISTS (SELECT 1 FROM side WHERE side.id = main.id)",
    "SELECT * FROM (SELECT id, 1 AS x FROM main) UNPIVOT (v FOR k IN (x))",
    "SELECT 'a\n+- Aggregate [count(1)]' AS text, id FROM main",
)
_MORE = (
    ("SELECT count(*) FROM main", "Aggregate"),
    ("SELECT m.n FROM (SELECT count(*) AS n FROM main) main, side AS m(n)", "Aggregate"),
    ("FROM main |> AGGREGATE count(*)", "Aggregate"),
    ("WITH t AS (SELECT id FROM main) SELECT count(*) FROM t", "Aggregate"),
    ("SELECT DISTINCT id FROM main", "Distinct"),
    ("SELECT id, row_number() OVER (ORDER BY id) FROM main", "Window"),
    ("SELECT id FROM main ORDER BY id", "Sort"),
    ("SELECT id FROM main LIMIT 3", "Limit"),
    ("SELECT id FROM main EXCEPT SELECT id FROM side", "Except"),
    ("SELECT id FROM main WHERE id > (SELECT avg(id) FROM main)", "Aggregate"),
    ("SELECT id FROM main WHERE id IN (SELECT id FROM main)", "subquery"),
    ("SELECT a.id FROM main a JOIN main b ON a.id = b.id", "with itself"),
    ("WITH t AS (SELECT id FROM main) SELECT a.id FROM t a JOIN t b USING (id)", "with itself"),
    ("SELECT * FROM main FULL JOIN side USING (id)", "FullOuter"),
    ("SELECT * FROM side LEFT JOIN main USING (id)", "LeftOuter"),
    ("SELECT * FROM side LEFT ANTI JOIN main USING (id)", "LeftAnti"),
    ("SELECT id FROM main UNION ALL SELECT id FROM side", "Union"),
    ("SELECT id FROM side", "does not read its input"),
    ("VALUES (1)", "does not read its input"),
)


@pytest.fixture
def views(spark: SparkSession) -> SparkSession:
    spark.range(5).selectExpr("id", "array(id, id + 1) AS list").createOrReplaceTempView("main")
    spark.range(3).createOrReplaceTempView("side")
    return spark


def _why(spark: SparkSession, query: str) -> str | None:
    plan = spark.sql(query)._jdf.queryExecution().analyzed().toString()
    return needs_more_than_a_row(plan, "main", frozenset({"side"}))


@pytest.mark.spark
def test_what_treats_each_row_by_itself_may_see_a_part(views: SparkSession) -> None:
    assert {query: _why(views, query) for query in _BY_ROW} == dict.fromkeys(_BY_ROW)


@pytest.mark.spark
def test_what_needs_more_than_a_row_is_told_with_its_reason(views: SparkSession) -> None:
    said = {query: (_why(views, query), part) for query, part in _MORE}
    assert {query: each for query, each in said.items() if each[1] not in (each[0] or "")} == {}


@pytest.mark.parametrize(
    ("top", "why"),
    [
        ("Project [id#1]", None),
        ("MapInPandas <lambda>(id#1)#2, [id#3], false, None", None),
        ("FlatMapGroupsInPandas [id#1]", "FlatMapGroupsInPandas needs all rows at once"),
        ("NoOneHasHeardOfThis [id#1]", "NoOneHasHeardOfThis needs all rows at once"),
    ],
)
def test_an_operator_that_is_not_known_to_go_by_rows_does_not(top: str, why: str | None) -> None:
    plan = f"{top}\n+- SubqueryAlias main\n   +- View (`main`, [id#1])\n      +- Range (0, 5)"
    assert needs_more_than_a_row(plan, "main") == why


def test_what_a_function_made_of_its_input_need_not_show_it() -> None:
    assert needs_more_than_a_row("LogicalRDD [id#1]", "main", opaque=True) is None
    assert needs_more_than_a_row("LogicalRDD [id#1]", "main") is not None
