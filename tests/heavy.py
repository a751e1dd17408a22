"""Somebody who has the place of heavy documents."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from conductor_py.wire.outside import HeavyPlace
from tests.waiting import PATIENCE_S


@contextmanager
def another_has(place: HeavyPlace) -> Iterator[None]:
    """Let another thread have the place until the block ends."""
    taken, over = threading.Event(), threading.Event()

    def hold() -> None:
        with place.scope():
            assert place.take(PATIENCE_S)
            taken.set()
            over.wait(PATIENCE_S)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(PATIENCE_S)
    try:
        yield
    finally:
        over.set()
        thread.join(PATIENCE_S)
