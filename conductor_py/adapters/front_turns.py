"""Who goes before the others in a queue of effects, and when the others have a turn."""

from __future__ import annotations

from typing import Final

IN_A_ROW: Final = 4
"""Batches that go before the others, until one goes behind them."""


class FrontTurns:
    """Workers empty a queue before it has room again, but for what is put in front: so now and
    then a batch that might go first goes behind the others.
    """

    def __init__(self) -> None:
        """Nobody went first."""
        self._in_a_row = 0

    def next_goes_first(self) -> bool:
        """Whether the next batch that executions stand still for is put in front."""
        goes_first = self._in_a_row < IN_A_ROW
        self._in_a_row = self._in_a_row + 1 if goes_first else 0
        return goes_first
