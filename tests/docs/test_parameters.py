"""The dates that the page of parameters shows are those that there will be."""

import re
from datetime import UTC, datetime
from pathlib import Path

from conductor_py.model.business_time import expanded
from conductor_py.model.parameters import BUILT_IN

_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "parameters.md"
_AT = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)


def test_each_date_is_what_the_page_says() -> None:
    shown: dict[str, str] = {}
    for line in _PAGE.read_text(encoding="utf-8").splitlines():
        cells = line.split("|")
        written = re.findall(r"`(\$\[[^`]*\])`", cells[1]) if len(cells) > 3 else []
        if written and "seconds" not in cells[2]:
            values = cells[2].split(": ")[0].strip().split(", ")
            shown |= dict(zip(written, values, strict=True))
    assert len(shown) > 15
    assert {text: expanded(text, _AT) for text in shown} == shown


def test_what_is_built_in_is_listed() -> None:
    page = _PAGE.read_text(encoding="utf-8")
    assert [name for name in BUILT_IN if f"`{name}`" not in page] == []
