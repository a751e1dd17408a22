"""Patterns of names of objects: what they match, and that none holds a worker."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_workers.pipelines.storage.name_patterns import matcher


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("in/*.csv", "in/a.csv", True),
        ("in/*.csv", "in/b/a.csv", False),
        ("in/**/*.csv", "in/a.csv", True),
        ("in/**/*.csv", "in/b/c/a.csv", True),
        ("in/**", "in/b/c", True),
        ("a?c", "a/c", False),
        ("a*b*c*d", "a1b2c3d", True),
        ("a*b*c*d", "a1b/c3d", False),
        ("**/a**/b*/**", "ac/ab/x", True),
        ("***/b*", "axb", True),
    ],
)
def test_wildcards_stay_within_their_steps(pattern: str, name: str, matches: bool) -> None:
    assert matcher(pattern)(name) is matches


@given(st.text("ab/*?", max_size=8), st.text("ab/", max_size=8))
def test_many_wildcards_are_walked_as_few_are_matched(pattern: str, name: str) -> None:
    form = re.escape(pattern)
    for written, meant in (
        (r"\*\*/", "(?:.*/)?"),
        (r"\*\*", ".*"),
        (r"\*", "[^/]*"),
        (r"\?", "[^/]"),
    ):
        form = form.replace(written, meant)
    expected = re.fullmatch(form, name) is not None
    assert matcher(pattern)(name) is expected


def test_a_pattern_of_twenty_wildcards_does_not_hold_the_worker_at_a_name() -> None:
    """An engine that backtracks would take for ever."""
    assert not matcher("*a" * 20 + "b")("a" * 1024)
