"""Whole documents of one answer: each is written as soon as it is read, and together they are
bounded. A document takes many times its bytes until it is written, and one may be asked for by the
thousand.
"""

from __future__ import annotations

from typing import Final

import orjson

from conductor_py.api.answers import written
from conductor_py.errors import PayloadTooLarge

MOST_BYTES: Final = 64 << 20
"""Bytes of the documents of one answer."""


class Documents:
    """The documents of one answer."""

    def __init__(self) -> None:
        """Begin with none."""
        self._left = MOST_BYTES

    def add(self, document: object) -> orjson.Fragment:
        """Write one, to be put into the answer; ``PayloadTooLarge`` when they come to too much."""
        return self.add_written(written(document))

    def add_written(self, body: bytes) -> orjson.Fragment:
        """Take one that is written, as ``add`` does."""
        self._left -= len(body)
        if self._left < 0:
            raise PayloadTooLarge(
                f"The documents of this answer are larger than {MOST_BYTES >> 20} MB together: ask"
                " for fewer at a time, or without their tasks."
            )
        return orjson.Fragment(body)
