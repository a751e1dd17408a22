"""JSON from outside: counted before it is parsed, and what is heavy one at a time.

Bytes are bounded where they are read; parsed, a list of nothing takes seventy for its three. Who
has a heavy document, a request's body or anything else, waits with its bytes until the one before
has been dealt with; since one thread computes at a time, nothing is late for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

import orjson

from conductor_py.errors import Overloaded, PayloadTooLarge
from conductor_py.model.json_bounds import MAX_VALUES, has_more, is_heavy, too_many

_WAIT_S: Final = 2.0


class HeavyPlace:
    """The place of the one heavy document of a process. Safe for threads, of which each has its
    own.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Be free: who had it is in another process."""
        self._place = threading.Lock()
        self._own = threading.local()

    @property
    def is_own(self) -> bool:
        """Whether this thread has the place."""
        return getattr(self._own, "place", False)

    def take(self, wait_s: float) -> bool:
        """Have the place, if it comes free in time; whether it did."""
        self._own.place = self.is_own or self._place.acquire(timeout=wait_s)
        return self.is_own

    def leave(self) -> None:
        """Give the place to the next, if this thread has it."""
        if self.is_own:
            self._own.place = False
            self._place.release()

    def scope(self) -> AbstractContextManager[None]:
        """Give back at the end what is taken within. A scope within another is part of that, and
        what this thread had before stays with it.
        """
        if self.is_own or getattr(self._own, "scoped", False):
            return _WITHIN
        return _Scope(self, self._own)


class _Scope:
    """A scope that is no part of another; each decision is within one, so it is made cheaply."""

    __slots__ = ("_own", "_place")

    def __init__(self, place: HeavyPlace, own: threading.local) -> None:
        self._place = place
        self._own = own

    def __enter__(self) -> None:
        self._own.scoped = True

    def __exit__(self, *_: object) -> None:
        self._own.scoped = False
        self._place.leave()


_WITHIN: Final = nullcontext()


PLACE: Final = HeavyPlace()
"""That of this process: its memory is one, whoever fills it."""

os.register_at_fork(after_in_child=PLACE.renew)


class OutsideJson:
    """Reads what others have written. Safe for threads."""

    def __init__(
        self,
        *,
        max_values: int = MAX_VALUES,
        place: HeavyPlace = PLACE,
        wait_s: float = _WAIT_S,
    ) -> None:
        """``wait_s``: how long a heavy document waits for the one before, unless it is said."""
        self.max_values = max_values
        self.place = place
        self._wait_s = wait_s

    def parse(self, document: bytes, what: str, *, wait_s: float | None = None) -> Any:  # noqa: ANN401 - any JSON value
        """Parse a document, which a refusal calls ``what``.

        Raises ``PayloadTooLarge`` when it has too many values, ``Overloaded`` when it is heavy and
        the one before is not dealt with in time, ``ValueError`` when it is no JSON. In a ``scope``
        of the place a heavy one keeps it until the end of that.
        """
        if has_more(document, self.max_values):
            raise PayloadTooLarge(too_many(what, self.max_values))
        with self.room(document, wait_s=wait_s):
            return orjson.loads(document)

    @contextmanager
    def room(self, document: bytes, *, wait_s: float | None = None) -> Iterator[None]:
        """Have the place while a document is dealt with, if it is heavy (``Overloaded``)."""
        with self.place.scope():
            wait_s = self._wait_s if wait_s is None else wait_s
            if is_heavy(document) and not self.place.take(wait_s):
                raise Overloaded(
                    "Another large JSON document is being dealt with; try again in a moment."
                )
            yield
