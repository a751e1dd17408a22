"""The page on DolphinScheduler names tests that are there."""

import re

import pytest

from tests.docs.pages import ROOT, page

_SHOWN = re.compile(r"(tests/\S+\.py)::(test_\w+)")
_ROWS = [
    row
    for row in page("docs/reference/dolphinscheduler.md").rows()
    if len(row) == 3 and "::" in row[2]
]


def test_every_block_has_rows() -> None:
    assert len(_ROWS) >= 35


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row[0])
def test_a_capability_is_shown_by_the_test_that_its_row_names(row: tuple[str, ...]) -> None:
    found = _SHOWN.fullmatch(row[2])
    assert found
    assert f"\ndef {found[2]}(" in (ROOT / found[1]).read_text(encoding="utf-8")
