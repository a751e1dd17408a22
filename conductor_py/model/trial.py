"""Trials of workflows: what a caller asks for. On the wire a trial is a workflow test.

A trial runs a definition apart from everything else: its tasks are answered by mocks, its clock is
its own, and nothing of it stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest
from conductor_py.model.status import TaskStatus
from conductor_py.records import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Mock:
    """How one attempt of a task goes: it waits ``queue_ms`` for a worker, which reports ``status``
    and ``output`` after ``work_ms``.
    """

    status: TaskStatus = TaskStatus.COMPLETED
    output: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    work_ms: int = 0
    queue_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mocks:
    """Mocks by reference, one for each attempt in turn; ``inner`` holds those of the executions
    that a SUB_WORKFLOW starts, by its reference.
    """

    attempts: Mapping[str, tuple[Mock, ...]] = field(default_factory=lambda: MappingProxyType({}))
    inner: Mapping[str, Mocks] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Start this, and answer its tasks with these mocks."""

    start: StartRequest
    mocks: Mocks
