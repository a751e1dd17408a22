"""Workers as they tell of themselves: where they run, what they take, how busy they are."""

from __future__ import annotations

from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTypeLoad:
    """One task type that a worker takes: how many of its tasks run, of how many that could."""

    task_type: str
    domain: str = ""
    running: int = 0
    capacity: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSign:
    """A worker's sign of life. ``version`` is that of the worker's own code, ``sdk`` the name and
    version of what it speaks with.
    """

    worker: str
    host: str = ""
    version: str = ""
    sdk: str = ""
    task_types: tuple[TaskTypeLoad, ...] = ()
