"""Ids that a run under the same seed draws again: what depends on their order is red every time."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def drawn_from(seed: str) -> Iterator[None]:
    """Draw what names executions, tasks and claims in this process from the seed."""
    dice = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secrets.token_hex", lambda size=32: dice.randbytes(size).hex())
        yield
