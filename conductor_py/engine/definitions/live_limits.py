"""Live limits: what the registered task definition says now, for attempts that exist already.

Everything else of a task is fixed by its execution's snapshot; limits protect what workers work on,
and hold for old and new executions alike. Read at most every few seconds for each task type.
"""

from __future__ import annotations

from collections.abc import Callable

from conductor_py.codec.definitions import load_task_def
from conductor_py.decider.scheduling import LIMITED
from conductor_py.ports.metadata import MetadataStore
from conductor_py.records import dataclass
from conductor_py.wire.task_rules import RULES

_REMEMBERED = 10_000
_FRESH_S = 3.0
"""How long a change that another process made may go unnoticed."""


@dataclass(frozen=True, slots=True)
class PollLimits:
    """The limits of ``ports.queues.Poll`` and whose they are; ``None`` leaves it to the attempt's
    snapshot.
    """

    definition: str = ""
    limit: int | None = None
    rate: tuple[int, int] | None = None


class LiveLimits:
    """Limits by task type. Safe for threads."""

    def __init__(self, metadata: MetadataStore, monotonic: Callable[[], float]) -> None:
        """``monotonic`` counts seconds."""
        self._metadata = metadata
        self._monotonic = monotonic
        self._known: dict[str, tuple[float, PollLimits]] = {}

    def of(self, task_type: str) -> PollLimits:
        """The limits of a task type as it is registered.

        A queue of a type that many definitions share, of the system or of somebody's own, holds
        tasks whose limits stay those of their snapshot. One of a definition's own has the limits of
        that definition.
        """
        if task_type in RULES:
            return PollLimits(task_type)
        task_type = _limited_definition(task_type) or task_type
        now, found = self._monotonic(), self._known.get(task_type)
        if found is not None and now - found[0] < _FRESH_S:
            return found[1]
        limits = self._read(task_type)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[task_type] = (now, limits)
        return limits

    def forget(self) -> None:
        """Read anew from here on: this process has changed a definition."""
        self._known.clear()

    def _read(self, task_type: str) -> PollLimits:
        stored = self._metadata.tasks((task_type,)).get(task_type)
        if stored is None:
            return PollLimits(task_type)
        definition = load_task_def(stored)
        window_ms = definition.rate_limit_frequency_in_seconds * 1000
        rate = definition.rate_limit_per_frequency, window_ms
        return PollLimits(task_type, definition.concurrent_exec_limit or 0, rate)


def _limited_definition(queue: str) -> str:
    """The definition whose queue this is, of a system type; empty for any other."""
    if LIMITED not in queue:
        return ""
    lane, _, definition = queue.partition(LIMITED)
    system_type = lane.partition("@")[0].partition("-")[0]
    return definition if system_type in RULES else ""
