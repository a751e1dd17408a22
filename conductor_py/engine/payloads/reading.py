"""The one way in which the engine takes and reads what lies in payload storage: bounded in bytes
and in values.

What is there was sent by others, or made of what they sent: it is read like a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from conductor_py.errors import PayloadTooLarge
from conductor_py.model.json_bounds import has_more, too_many
from conductor_py.ports.payloads import MOST_BYTES, Payloads
from conductor_py.wire.outside import HeavyPlace, OutsideJson


class PayloadReader:
    """Takes and reads payloads. Safe for threads."""

    def __init__(
        self,
        payloads: Payloads,
        *,
        outside: OutsideJson | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Read from ``payloads``, at most ``most_bytes`` of one, and parse by ``outside``."""
        self._payloads = payloads
        self._outside = outside or OutsideJson()
        self._most_bytes = most_bytes

    @property
    def place(self) -> HeavyPlace:
        """The place of what is heavy."""
        return self._outside.place

    def accept(self, path: str, most: int, what: str) -> str:
        """Take what somebody has sent, which a refusal calls ``what``: the path of a document that
        stays as it is.

        ``NotFound`` when there is none, ``PayloadTooLarge`` above ``most`` bytes and when it has
        too many values: only one of as many bytes is looked through.
        """
        accepted, values = self._payloads.accept(path, most, what), self._outside.max_values
        if accepted.size > values and has_more(self._get(accepted.path), values):
            raise PayloadTooLarge(too_many(what, values))
        return accepted.path

    def value(self, path: str) -> Any:  # noqa: ANN401 - any JSON value
        """Read a document. Raises ``NotFound``, ``PayloadTooLarge`` (in bytes or in values),
        ``ValueError`` when it is no JSON, and ``StoreUnavailable``, also while another one is dealt
        with.
        """
        return self._outside.parse(self._get(path), f"The payload {path}")

    @contextmanager
    def text(self, path: str) -> Iterator[bytes]:
        """Read a document unparsed, with the room to parse it until the block ends; raises what
        ``value`` does.
        """
        document = self._get(path)
        with self._outside.room(document):
            yield document

    def _get(self, path: str) -> bytes:
        return self._payloads.get(path, most=self._most_bytes)
