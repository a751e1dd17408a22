"""Random definitions as a strategy."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from conductor_py.testing.author import WORKER, Author
from conductor_py.testing.definitions import Json

__all__ = ["WORKER", "definitions"]


def definitions() -> st.SearchStrategy[Json]:
    """Definitions of nested forks, switches, loops, dynamic forks, children and worker tasks."""
    return st.integers(min_value=0, max_value=2**64).map(_definition)


def _definition(seed: int) -> Json:
    return Author(random.Random(seed)).definition()
