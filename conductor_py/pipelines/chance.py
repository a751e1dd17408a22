"""Words of SQL whose value is another one each time; redone work would not be the same work.

What is drawn is refused: whatever the seed, it depends on which task a row comes to. What tells the
time is *pinned*: it is the instant at which the epoch's round was first taken, and stays that when
the round is redone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from conductor_py.pipelines.spec import Transform

_DRAWING: Final = (
    *("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle", "current_time"),
    *("input_file_name", "input_file_block_start", "input_file_block_length"),
    *("monotonically_increasing_id", "spark_partition_id"),
)
_TELLING: Final = (
    *("now", "current_timestamp", "current_date", "curdate", "localtimestamp", "unix_timestamp"),
)
#: A text or a comment that nothing closes goes on to the end: looking for its end again at each of
#: its quotes would take the square of its length.
TEXT: Final = (
    r"'(?:[^'\\]|\\.|'')*'?|\"(?:[^\"\\]|\\.)*\"?|`[^`]*`?|--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?"
)
#: Written so that it ends at the first ``*/``: one that may go on is divided in endless ways.
COMMENT: Final = r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_DRAWN: Final = (
    rf"(?<![.\w])(?:{'|'.join(_DRAWING)})(?=\s*\()"
    rf"|(?<![.\w])(?:date|timestamp|timestamp_ltz|timestamp_ntz)(?:\s|{COMMENT}|--[^\n]*\n)*"
    r"(?P<mark>['\"])\s*(?:now|today|tomorrow|yesterday)\s*(?P=mark)"
)
_CALLED: Final = "|".join(_TELLING)
_BARE: Final = "current_timestamp|current_date|localtimestamp"
_WORD: Final = re.compile(
    rf"(?P<text>{TEXT})|(?P<drawn>{_DRAWN})"
    rf"|(?<![.\w])(?:(?P<called>{_CALLED})\s*\(\s*\)|(?P<bare>{_BARE})\b(?!\s*[(.]))",
    re.IGNORECASE | re.DOTALL,
)
UNSEEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(_DRAWING, "it has another value when a round is redone"),
        **dict.fromkeys(
            (f"{name}()" for name in _TELLING),
            "what tells the time is written without quotes around its name",
        ),
        **dict.fromkeys(
            ("'now'", "'today'", "'tomorrow'", "'yesterday'"),
            "it has another value when a round is redone",
        ),
    }
)
"""What must not be left when the time is pinned, for who reads SQL as Spark does: why, by function,
with brackets behind the name when it is called without arguments; in quotes, texts that are cast.
"""
_INSTANT: Final = "timestamp_micros({us})"
_AT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "now": _INSTANT,
        "current_timestamp": _INSTANT,
        "current_date": f"CAST({_INSTANT} AS DATE)",
        "curdate": f"CAST({_INSTANT} AS DATE)",
        "localtimestamp": f"CAST({_INSTANT} AS TIMESTAMP_NTZ)",
        "unix_timestamp": "{s}L",
    }
)
_SQL: Final = {"sql": "query", "filter": "where", "map": "select", "aggregate": "measures"}


def chances(node: Transform) -> Iterator[tuple[str, str]]:
    """List what is drawn anew each time in a transform's SQL: a path below it, and the word."""
    for path, text in statements(node):
        yield from ((path, each["drawn"]) for each in _WORD.finditer(text) if each["drawn"])


def moments(node: Transform) -> Iterator[tuple[str, str]]:
    """List what tells the time in a transform's SQL, likewise."""
    for path, text in statements(node):
        for each in _WORD.finditer(text):
            if told := each["called"] or each["bare"]:
                yield path, told


def with_time_pinned(node: Transform, at_ms: int, columns: frozenset[str]) -> Transform:
    """Return a transform whose SQL tells that instant, in milliseconds since 1970.

    A word without brackets that is one of ``columns`` (lower case) is that column.
    """

    def told(found: re.Match[str]) -> str:
        bare = found["bare"]
        word = (found["called"] or bare or "").lower()
        if not word or (bare and word in columns):
            return found[0]
        return _AT[word].format(us=at_ms * 1000, s=at_ms // 1000)

    if not any(moments(node)):
        return node
    name = _SQL[node.kind]
    given = node.settings[name]
    if isinstance(given, str):
        there: object = _WORD.sub(told, given)
    else:
        there = {member: _WORD.sub(told, text) for member, text in given.items()}
    return replace(node, settings={**node.settings, name: there})


def statements(node: Transform) -> Iterator[tuple[str, str]]:
    """List the SQL in a transform: a path below it, and the text."""
    name = _SQL.get(node.kind)
    given = node.settings.get(name) if name else None
    if isinstance(given, str):
        given = {"": given}
    for member, text in (given or {}).items():
        yield f".{name}" + (f".{member}" if member else ""), text
