"""The public test kit: a whole engine in memory, with a clock that the test owns."""

from __future__ import annotations

from conductor_py.testing.clock import FakeClock
from conductor_py.testing.engine import MemoryEngine, memory_engine

__all__ = ["FakeClock", "MemoryEngine", "memory_engine"]
