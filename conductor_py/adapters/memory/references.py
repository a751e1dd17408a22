"""Which plans the present executions name: the memory twin of ``lua/include/references.lua``."""

from __future__ import annotations

from conductor_py.adapters.memory.space import Execution, Partition


def plan_of(execution: Execution) -> str | None:
    """Find the plan that an execution's header names."""
    plan = execution.header().get("plan")
    return plan if isinstance(plan, str) and plan else None


def count_reference(partition: Partition, plan: str | None, by: int) -> None:
    """Count one execution more or less; the last one takes the entry with it."""
    if plan is not None:
        partition.references[plan] = partition.references.get(plan, 0) + by
        if partition.references[plan] <= 0:
            del partition.references[plan]
