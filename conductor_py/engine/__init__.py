"""The shell around the decider: it fetches, decides, commits; one service a noun."""

from __future__ import annotations

from conductor_py.engine.engine import Engine

__all__ = ["Engine"]
