"""The page on anomalies names tests that are there, and the page on compatibility says why."""

import ast
import re
from functools import cache

import pytest

from tests.docs.pages import ROOT, page
from tests.oracle import ANOMALIES, ROWS

_ANOMALY = re.compile(r"A-\d+")
_DIFFERENCE = re.compile(r"oracle (\d+)|A-\d+")
_FIXED = frozenset({8, 16, 25, 29, 36, 46, 49})
"""Rows where Conductor's behaviour is not ours, on purpose."""
_LISTED = [row for row in page("docs/explanation/anomalies.md").rows() if _ANOMALY.match(row[0])]


@cache
def _marked(path: str) -> dict[str, frozenset[str]]:
    """The tests of a file with the anomalies that each says it shows."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {
        found.name: frozenset(
            mark
            for decorator in found.decorator_list
            for mark in re.findall(r"A-\d+", ast.unparse(decorator))
        )
        for found in ast.walk(tree)
        if isinstance(found, ast.FunctionDef)
    }


def test_every_anomaly_is_listed_once_in_order() -> None:
    assert [row[0] for row in _LISTED] == list(ANOMALIES)


@pytest.mark.parametrize("row", _LISTED, ids=lambda row: row[0])
def test_an_anomaly_is_shown_by_the_test_that_its_row_names(row: tuple[str, ...]) -> None:
    name, _, _, shown = row
    path, _, test = shown.partition("::")
    assert name in _marked(path)[test]
    assert all(row)


def test_every_row_of_the_oracle_has_a_test_also_where_we_differ() -> None:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = {int(row) for text in texts for row in re.findall(r"mark\.oracle\((\d+)\)", text)}
    assert named == set(ROWS)


def test_rows_of_the_oracle_that_differ_are_explained() -> None:
    compared = page("docs/reference/compatibility.md")
    refused = compared.section("Definitions that are refused").replace("`", "")
    rows_of_both = [row for row in compared.rows() if row]
    listed = [row for row in rows_of_both if row[1].replace("`", "") not in refused]
    named = [row[0] for row in listed if _DIFFERENCE.fullmatch(row[0])]
    assert len(named) == len(set(named))
    rows = {int(found[1]) for found in map(_DIFFERENCE.fullmatch, named) if found and found[1]}
    assert rows >= _FIXED
    assert rows <= set(ROWS)
    assert {name for name in named if name.startswith("A-")} <= set(ANOMALIES)
    assert [row for row in listed if len(row) != 4 or not all(row[1:])] == []
