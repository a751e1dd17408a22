"""JSON in texts: what cannot be written again is not read."""

import pytest

from conductor_py.model.json_text import read_json, whole


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        "[-Infinity]",
        r'"\ud800"',
        r'{"\uDFFF": 1}',
        r'["\udc00\ud800"]',
        '"\ud800"',
        "[" * 100_000 + "]" * 100_000,
    ],
)
def test_a_text_that_is_no_json_or_cannot_be_written_again_is_not_read(text: str) -> None:
    with pytest.raises(ValueError):
        read_json(text)


def test_a_pair_of_surrogates_is_one_letter() -> None:
    assert read_json(r'{"a": "\ud83d\ude00 \\ud800"}') == {"a": "\N{GRINNING FACE} \\ud800"}
    assert whole("a\ud83d\ude00") == "a\N{GRINNING FACE}"
    assert whole("plain") == "plain"
    with pytest.raises(ValueError, match="decode"):
        whole("a\ud83d")
