"""Short names for executions and tasks, so that people can read what is said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from conductor_py.testing.simulation.space import SimulatedSpace

_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:-(\d+))?")


class Names:
    """E1, E2, ... in the order in which they are spoken of; tasks by their reference."""

    def __init__(self, space: SimulatedSpace) -> None:
        """Read references from ``space``."""
        self._space = space
        self._names: dict[str, str] = {}

    def of_execution(self, execution: str) -> str:
        """Give an execution a short name, in the order in which they are spoken of."""
        return self._names.setdefault(execution, f"E{len(self._names) + 1}")

    def of_attempt(self, execution: str, seq: int) -> str:
        """Name an attempt by its reference."""
        stored = next(
            (p.executions[execution] for p in self._space.partitions if execution in p.executions),
            None,
        )
        text = stored.fields.get(f"a:{seq}") if stored is not None else None
        found = re.search(rb'"ref":"([^"]*)"', text) if text is not None else None
        ref = found[1].decode() if found else "task"
        return f"{ref}({seq}) of {self.of_execution(execution)}"

    def of_task(self, task: Mapping[str, Any]) -> str:
        """Name a task that was handed out."""
        return f"{task['referenceTaskName']} of {self.of_execution(task['workflowInstanceId'])}"

    def put_into(self, text: str) -> str:
        """Replace ids by short names."""

        def named(found: re.Match[str]) -> str:
            if found[1] is not None:
                return self.of_attempt(found[0][:36], int(found[1]))
            return self.of_execution(found[0])

        return _ID.sub(named, text)


__all__ = ["Names"]
