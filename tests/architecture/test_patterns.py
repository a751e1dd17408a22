"""No regular expression of the product can be made to take more than time linear in the text."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.architecture.automata import hostile_words, slow_text
from tests.architecture.patterns import Found, patterns

pytestmark = pytest.mark.xdist_group("sources")  # which are read once

#: Patterns that are made of what is only known at run time, and why they are harmless.
MADE_AT_RUN_TIME = {
    "conductor_py/adapters/redis/inspector.py:__init__": "the namespace, escaped; keys of Redis",
    "conductor_py/decider/expressions/linear_regex.py:_class": "one class, read by one character",
    "conductor_py/decider/expressions/linear_regex.py:_escape": "one class, read by one character",
    "conductor_py/wire/pipeline_fields.py:read": "what a_name is given, each found by itself",
    "workers/conductor_workers/pipelines/kept_rows.py:read_values": "whole numbers",
    "workers/conductor_workers/pipelines/storage/name_patterns.py:matcher": (
        "two wildcards at most, over names of at most 1,024 bytes: see its own tests"
    ),
}
#: Patterns that are slow on some text, and why nobody can send it.
SLOW_WITH_REASON = {
    "conductor_py/config/sources.py:_PLACEHOLDER": "the settings file of whoever runs the server",
    "conductor_py/config/sources.py:_SERVICE_VARIABLE": "names of variables of the environment",
    "conductor_py/pipelines/chance.py:_WORD": (
        "the comments that its loop could share are taken as texts by the branch before it"
    ),
    "workers/conductor_workers/pipelines/databases/sqlite.py:_declared": (
        "a query that the source has written, which matches at the first try"
    ),
    "conductor_py/model/json_bounds.py:_STRING": (
        "possessive, and what ends it matches whatever comes: it never goes back"
    ),
    "workers/conductor_workers/pipelines/sources/line_reader.py:_ENDLESS": (
        "possessive, and matches whatever comes after a quote: it never goes back"
    ),
    "workers/conductor_workers/pipelines/sinks/file.py:_SUFFIX": "names that Spark gives to files",
}
#: Only these are so in what is tried, too.
_NOT_TRIED = SLOW_WITH_REASON.keys() - {
    *("conductor_py/pipelines/chance.py:_WORD", "conductor_py/model/json_bounds.py:_STRING"),
    "workers/conductor_workers/pipelines/sources/line_reader.py:_ENDLESS",
}
_LENGTHS = (6_400, 25_600, 102_400)
#: Four times the text takes four times the work, and sixteen times where it takes its square. What
#: is added lets what is too short to be measured pass: the square of 100 kB is no such thing.
_MOST_TIMES = 9
_MOST_BESIDES_S = 0.03


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (r"\s*a?\s*", "fullmatch"),
        (r"\s*(\d+)?\s*d?\s*(\d+)?\s*", "fullmatch"),
        (r"(a+)+$", "match"),
        (r"(?:a|aa)*b", "match"),
        (r"(?:/\*.*?\*/)*x", "match"),
        (r"\s+AND\s+", "split"),
        (r"\[(['\"])(.+?)\1\]", "findall"),
        (r"((?:__[1-9]\d{0,8})+)$", "search"),
        (r"a(.*)b(.*)c", "fullmatch"),
    ],
)
def test_text_that_takes_more_than_linear_time_is_found(text: str, method: str) -> None:
    assert slow_text(text, re.DOTALL, searched=method not in {"match", "fullmatch"}) is not None


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (r"\s*(?:a\s*)?", "fullmatch"),
        (r"(?:[^'\\]|\\.)*'", "match"),
        (r"\S+", "findall"),
        (r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/", "match"),
        (r"\$\{\s*a\.([^{}]+)\}", "finditer"),
        (r"^(?:\w+\.)*(?=\w+$)", "search"),
    ],
)
def test_a_linear_pattern_is_not_taken_for_a_slow_one(text: str, method: str) -> None:
    searched = method not in {"match", "fullmatch"}
    assert slow_text(text, re.MULTILINE, searched=searched) is None


@pytest.fixture(scope="module")
def all_found() -> tuple[Found, ...]:
    """Read when a test asks: it takes seconds, which a run of other tests need not wait."""
    return tuple(patterns())


def test_every_pattern_that_is_made_at_run_time_is_known(all_found: tuple[Found, ...]) -> None:
    unread = {
        str(found) for found in all_found if found.text is None and not _needs_a_worker(found)
    }
    assert unread == MADE_AT_RUN_TIME.keys()


def test_no_text_makes_a_pattern_backtrack(all_found: tuple[Found, ...]) -> None:
    read = [found for found in all_found if found.text is not None]
    assert len(read) > 100
    slow = {
        str(found): word
        for found in read
        if (word := slow_text(found.text or "", found.flags, searched=found.searched)) is not None
    }
    assert slow.keys() == SLOW_WITH_REASON.keys(), slow


@pytest.mark.thorough(target="timing")
def test_hundred_thousand_hostile_letters_take_linear_time(all_found: tuple[Found, ...]) -> None:
    tried = [
        found for found in all_found if found.text is not None and str(found) not in _NOT_TRIED
    ]
    assert [(str(found), slow) for found in tried for slow in _slower_than_linear(found)] == []


def _slower_than_linear(found: Found) -> Iterator[tuple[int, str]]:
    """The length of a text that took too long, and how such a text begins."""
    pattern = re.compile(found.text or "", found.flags)
    for shape in _shapes(found):
        before = None
        for length in _LENGTHS:
            text = shape(length)
            spent = _spent(pattern, found.methods, text)
            if before is not None and spent > (most := _MOST_TIMES * before + _MOST_BESIDES_S):
                spent = min(_spent(pattern, found.methods, text) for _ in range(3))
                if spent > most:
                    yield length, shape(40)
                    break
            before = spent


def _needs_a_worker(found: Found) -> bool:
    """Whether it is made while a module is loaded that needs what only workers have."""
    return (
        found.module.startswith("workers/") and found.name.startswith("_") and found.name.isupper()
    )


def _shapes(found: Found) -> Iterator[Callable[[int], str]]:
    """Texts of a length: each loop of the pattern many times, with and without its beginning."""
    words = hostile_words(found.text or "", found.flags)
    if slow := slow_text(found.text or "", found.flags, searched=found.searched):
        words.append(("", slow))
    wanted = [
        pair for begin, word in words for pair in ((begin, word), ("", word), ("", begin + word))
    ]
    for first, again in dict.fromkeys(wanted):
        yield partial(_text, first, again)


def _text(first: str, again: str, length: int) -> str:
    return first + again * (length // len(again)) + "\0\n"


def _spent(pattern: re.Pattern[str], methods: frozenset[str], text: str) -> float:
    begin = time.process_time()
    for method in methods - {"compile"} or {"search"}:
        if method in {"sub", "subn"}:
            pattern.sub("", text)
        elif method == "finditer":
            deque(pattern.finditer(text), maxlen=0)
        else:
            getattr(pattern, method)(text)
    return time.process_time() - begin
