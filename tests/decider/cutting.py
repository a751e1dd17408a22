"""Servers that die."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from conductor_py.testing import MemoryEngine


def cut_off(engine: MemoryEngine, commits: int, act: Callable[[], object]) -> None:
    """Do something in a server that dies behind so many commits."""
    commit, left = engine.ports.store.commit, commits

    def counted(effects: object) -> object:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return commit(effects)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.ports.store, "commit", counted)
        with suppress(KeyboardInterrupt):
            act()
            engine.settle()
    engine.clock.advance(seconds=60)  # its lease is over
