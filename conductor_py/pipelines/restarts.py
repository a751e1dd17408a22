"""How often a pipeline starts again by itself, and how long it waits before."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conductor_py.pipelines.spec import RestartRule
from conductor_py.records import dataclass

_LONGEST_S: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarts:
    """The failures of one pipeline since it last went well, and those in all."""

    count: int = 0
    total: int = 0
    epochs: int = 0

    def failed(self, rule: RestartRule) -> tuple[Restarts, float | None]:
        """Count a failure; return the seconds to wait, ``None`` when no restart is left."""
        if self.count >= rule.per_pipeline:
            return self, None
        # A large exponent would overflow long after the wait has reached its bound.
        delay = min(_LONGEST_S, rule.delay_s * rule.backoff ** min(self.count, 64))
        return Restarts(count=self.count + 1, total=self.total + 1), delay

    def committed(self, rule: RestartRule) -> Restarts:
        """Count an epoch; after enough of them in a row the failures before are forgotten."""
        epochs = self.epochs + 1
        if epochs < rule.reset_after_epochs:
            return replace(self, epochs=epochs)
        return replace(self, count=0, epochs=0)
