"""What is heavy: somebody who has its place, and executions that are wide."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conductor_py.adapters.memory import reader
from conductor_py.engine.reading import views
from conductor_py.testing import MemoryEngine
from conductor_py.wire.outside import HeavyPlace
from tests.builders import fork, join, simple, workflow
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


def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small executions be wide for the memory adapters and for those who view them."""
    monkeypatch.setattr(reader, "PAGE_FIELDS", 50)
    monkeypatch.setattr(reader, "FEW_FIELDS", 50)
    monkeypatch.setattr(views, "MANY", 10)


def wide_execution(engine: MemoryEngine, branches: int) -> str:
    """An execution with a fork, whose branches are done but for the last."""
    refs = [f"b{number}" for number in range(branches)]
    forked = fork("f", *([simple(ref)] for ref in refs))
    started = engine.start(
        workflow("w", forked, join("j", *refs), maskedFields=["card"]), input={"card": "4111"}
    )
    for ref in refs[:-1]:
        engine.run(ref, {"of": ref, "card": "4111"})
    return started
