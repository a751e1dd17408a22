"""Readers of texts that strangers write: four times the text never takes sixteen times the work."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from conductor_py.decider.expressions import expressions
from conductor_py.decider.expressions.jsonpath import compile_path
from conductor_py.decider.expressions.linear_regex import compile_regex
from conductor_py.engine.tasks.hand_out import _tree_of
from conductor_py.errors import ConductorError
from conductor_py.model import business_time, cron
from conductor_py.model.search import FieldKind
from conductor_py.model.wait_time import parse_duration_ms, parse_until_ms
from conductor_py.model.zoned_time import zone_of
from conductor_py.pipelines.chance import _WORD
from conductor_py.wire.free_text import parse_free_text
from conductor_py.wire.schedules import read_run_query
from conductor_py.wire.search_query import parse_query

_LENGTHS = (6_400, 25_600, 102_400)
_MOST_TIMES = 9
_AT = business_time.business_time(0, "UTC")
_MOST_BESIDES_S = 0.05

READERS: dict[str, Callable[[str], object]] = {
    "wait duration": parse_duration_ms,
    "wait until": parse_until_ms,
    "time zone": zone_of,
    "cron": cron.parse,
    "business time": lambda text: (
        business_time.has_placeholders(text) and business_time.expanded(text, _AT)
    ),
    "words of a search": lambda text: parse_free_text(text, {}, now_ms=0),
    "conditions in the words of a search": lambda text: parse_free_text(
        f"x:{text}", {"x": FieldKind.KEYWORD}, now_ms=0
    ),
    "query of a search": lambda text: parse_query(text, {}),
    "query of schedules": read_run_query,
    "path": compile_path,
    "expressions": expressions.compile_template,
    "complaints of expressions": expressions.check,
    "expression of a filter": compile_regex,
    "secrets of a definition": lambda text: _tree_of({"a": text}),
    "SQL that draws": lambda text: sum(1 for _ in _WORD.finditer(text)),
}
TEXTS = (
    *(" ", "\t", "1 ", "1d ", "d", "${", "}", "${a", "$${", "${workflow.secrets.", "${ workflow."),
    *(
        "$[",
        "'",
        '"',
        "\\'",
        "['",
        "[",
        "(",
        ")",
        "a AND ",
        "a\tAND\t",
        "NOT ",
        "a.",
        "..",
        "*",
        "*/",
        ",",
    ),
    *(
        "/*",
        "/**/",
        "date/**/",
        "--",
        "date ",
        "scheduledTime> ",
        "status=(",
        "__1",
        "-",
        "1-",
        "+1",
    ),
    *("$['a", "@.a==", "[?(", "(a", "(a+)+", "a|", "{1,9}", "\n", "\u2028", "é", "$[yyyy+1"),
)


@pytest.mark.thorough(target="timing")
@pytest.mark.parametrize("reader", READERS)
def test_hundred_thousand_hostile_letters_are_read_in_linear_time(reader: str) -> None:
    read = READERS[reader]
    for text in TEXTS:
        for begin, end in (("", "\0"), ("${workflow.secrets.a", " x"), ("select date", "x\n")):
            before = None
            for length in _LENGTHS:
                given = begin + text * (length // len(text)) + end
                spent = _spent(read, given)
                if before is not None and spent > (most := _MOST_TIMES * before + _MOST_BESIDES_S):
                    spent = min(_spent(read, given) for _ in range(3))
                    assert spent <= most, (begin, text, end, length)
                before = spent


def _spent(read: Callable[[str], object], text: str) -> float:
    begin = time.process_time()
    with suppress(ValueError, ConductorError):
        read(text)
    return time.process_time() - begin
