"""All mutants, by part of the house."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.mutants import dags, decider, deployment, engine, scripts, worker
from tests.mutants.mutant import Mutant

PARTS: Final[Mapping[str, tuple[Mutant, ...]]] = MappingProxyType(
    {
        "Redis scripts and their twins in memory": scripts.PLANTED,
        "Engine": engine.PLANTED,
        "Many servers": deployment.PLANTED,
        "Decider": decider.PLANTED,
        "DAGs and the catalog": dags.PLANTED,
        "Worker": worker.PLANTED,
    }
)

ALL: Final = tuple(mutant for part in PARTS.values() for mutant in part)
