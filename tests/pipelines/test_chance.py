"""What tells the time in SQL tells the one that is given."""

import pytest

from conductor_py.pipelines.chance import chances, moments, with_time_pinned
from conductor_py.pipelines.spec import Transform

_AT_MS = 1_700_000_000_123
_INSTANT = "timestamp_micros(1700000000123000)"


def _query(text, kind="sql", name="query"):
    return Transform(id="t", kind=kind, output="o", inputs={"i": "a"}, settings={name: text})


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select now() a, current_timestamp b", f"select {_INSTANT} a, {_INSTANT} b"),
        ("select CURRENT_DATE ( )", f"select CAST({_INSTANT} AS DATE)"),
        ("select localtimestamp from i", f"select CAST({_INSTANT} AS TIMESTAMP_NTZ) from i"),
        ("select unix_timestamp() - 1", "select 1700000000L - 1"),
        ("select 'it''s now()', \"now()\" -- now()", None),
        ("select `current_date`, i.current_date, unix_timestamp(at), know() /* now() */", None),
        ("select current_timestamp from i where seen", None),
    ],
)
def test_words_that_tell_the_time_are_replaced_and_nothing_else(query, told):
    columns = frozenset({"current_timestamp"} if "seen" in query else ())
    made = with_time_pinned(_query(query), _AT_MS, columns)
    assert made.settings["query"] == (told or query)


def test_each_expression_is_looked_at_by_itself():
    node = _query({"a": "now()", "b": "id", "c": "rand()"}, "map", "select")
    assert list(moments(node)) == [(".select.a", "now")]
    assert list(chances(node)) == [(".select.c", "rand")]
    made = with_time_pinned(node, _AT_MS, frozenset())
    assert made.settings["select"] == {"a": _INSTANT, "b": "id", "c": "rand()"}


def test_transform_that_asks_no_clock_stays_the_same():
    node = _query("select id from i")
    assert with_time_pinned(node, _AT_MS, frozenset()) is node
