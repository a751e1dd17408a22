"""What can be added up from round to round is told from what only looks like it."""

from time import process_time

import pytest

from conductor_py.errors import DefinitionError
from conductor_py.pipelines.measures import read_measure
from conductor_py.wire.pipelines import read_job
from tests.pipelines.jobs import job, source, transform


@pytest.mark.parametrize(
    ("text", "kind", "of"),
    [
        ("count(*)", "count", "*"),
        (" SUM ( amount ) ", "sum", " amount "),
        ("max(coalesce(a, (b)))", "max", "coalesce(a, (b))"),
        ("sum(if(a = ')', 1, 0))", "sum", "if(a = ')', 1, 0)"),
        ("min(`a)` /* ) */ + 1)", "min", "`a)` /* ) */ + 1"),
        ("avg(distinct_count)", "avg", "distinct_count"),
        (r"sum(if(a = r'\', 1, 0))", "sum", r"if(a = r'\', 1, 0)"),
    ],
)
def test_an_aggregate_by_itself_is_a_measure_whatever_stands_in_its_brackets(text, kind, of):
    found = read_measure(text)
    assert found is not None
    assert (found.kind, found.argument, found.condition) == (kind, of, "")


def test_a_measure_keeps_its_condition():
    found = read_measure("avg(a) FILTER (WHERE (b) > 0)")
    assert found is not None
    assert found.as_kind("sum") == "sum(a) FILTER (WHERE (b) > 0)"


@pytest.mark.parametrize(
    "text",
    [
        "sum(a)/count(*)",
        "max(a) - min(a)",
        "sum(a) + 0",
        "(sum(a))",
        "count(distinct x)",
        "count(distinct(x))",
        "count(/* all */ DISTINCT x)",
        "count(-- why\n distinct x)",
        "sum(x) OVER (ORDER BY y)",
        "sum(x) FILTER (WHERE y) + count(*)",
        "median(x)",
        "sum(x",
        "x",
        r"sum(if(a = r'\', 1, 0)) / count(if(a = r'\', 1, 0))",
    ],
)
def test_what_is_not_one_aggregate_is_no_measure(text):
    assert read_measure(text) is None


def test_a_running_aggregate_of_something_else_is_refused_with_its_place():
    body = job(
        [source("a")],
        [
            transform("t", "aggregate", {"i": "a"}, emit="running", group_by=["id"])
            | {"measures": {"n": "count(*)", "mean": "sum(number) / count(*)"}}
        ],
        [{"id": "out", "kind": "console", "input": "t_out"}],
    )
    with pytest.raises(DefinitionError) as refused:
        read_job(body)
    (found,) = refused.value.violations
    assert found.path == "$.transforms[0].measures.mean"
    assert "by itself and not distinct" in found.message
    body["transforms"][0]["emit"] = "final"
    read_job(body)


def test_a_long_text_is_looked_through_once():
    began = process_time()
    for text in ("sum(" + "(" * 200_000, "sum(" + "'" * 200_001, "sum(/*" + " " * 200_000):
        assert read_measure(text) is None
    assert read_measure("sum(" + "-" * 200_000 + "\n1)") is not None
    assert process_time() - began < 5
