"""How text becomes words, in documents and in queries."""

from __future__ import annotations

import pytest

from conductor_py.errors import InvalidInput
from conductor_py.model.search import (
    MAX_QUERY_WORDS,
    MAX_WORD_LENGTH,
    Word,
    query_words,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ('{"orderId": "x-17"}', ("orderid", "x", "17")),
        ("Über_Straße", ("über", "straße")),
        ("a" * 500, ("a" * MAX_WORD_LENGTH,)),
        ("!?_", ()),
    ],
)
def test_words_are_letters_and_digits_in_lower_case(text, words):
    assert words_of(text) == words


def test_a_long_word_is_found_by_itself():
    assert query_words("a" * 500) == (Word(text=words_of("a" * 500)[0]),)


def test_only_a_star_at_its_end_makes_a_word_a_prefix():
    assert query_words("Ord* *er a*b") == (
        Word(text="ord", prefix=True),
        Word(text="er"),
        Word(text="a", prefix=True),
        Word(text="b"),
    )


def test_too_many_words_are_refused():
    with pytest.raises(InvalidInput):
        query_words(" ".join(f"w{n}" for n in range(MAX_QUERY_WORDS + 1)))
