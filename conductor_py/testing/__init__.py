"""The public test kit: a whole engine in memory, with a clock that the test owns."""

from __future__ import annotations

from conductor_py.testing.clock import FakeClock
from conductor_py.testing.ending import NotEnded
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.testing.mocks import Mock

__all__ = ["FakeClock", "MemoryEngine", "Mock", "NotEnded", "memory_engine"]
