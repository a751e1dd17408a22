"""What came of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from conductor_py.records import dataclass, field
from conductor_py.testing.simulation.faults import Kind
from conductor_py.testing.simulation.findings import Violation
from conductor_py.testing.simulation.journal import Journal


@dataclass(slots=True, kw_only=True)
class Run:
    """What came of a run."""

    seed: int
    violations: list[Violation]
    checksum: int
    virtual_ms: int
    steps: int
    counts: Counter[str]
    faults: Counter[Kind]
    outcomes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The archive's document of each execution, by short name."""
    sizes: list[dict[str, int]] = field(default_factory=list)
    """What was in the store, hour by hour."""
    journal: Journal = field(default_factory=Journal)

    @property
    def failed(self) -> bool:
        """Whether something did not hold."""
        return bool(self.violations)


__all__ = ["Run"]
