"""Facts: everything that the causes of an execution's standing still are found from."""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.model.execution import Attempt, ClaimSide, Ending, Header, JoinState
from conductor_py.ports.inspector import Inspection
from conductor_py.ports.queues import PollData
from conductor_py.records import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFacts:
    """What is known of the queue of one attempt.

    ``polls`` are the last ones for its task type in any domain, group or namespace. ``entries``
    wait in it. ``limit`` and ``rate`` are those of its definition (0: none), ``holders`` the tasks
    that hold permits, with their ends; ``rate_until`` when the window has room again (0: it has).
    ``system`` says that a system-task worker is wanted. ``loads`` are the workers that take it and
    tell how busy they are: id, slots in use, slots.
    """

    base: str
    polls: tuple[PollData, ...] = ()
    entries: int = 0
    limit: int = 0
    holders: tuple[tuple[str, int], ...] = ()
    rate: int = 0
    rate_until: int = 0
    system: bool = False
    loads: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that the causes of one execution are found from.

    ``header`` is ``None`` when it cannot be read. ``live`` are the shards that a live server
    serves, ``local_only`` says that workers find only the shards of the server they ask.
    """

    look: Inspection
    header: Header | None
    ending: Ending = field(default_factory=Ending)
    plan_stored: bool = True
    attempts: tuple[Attempt, ...] = ()
    claims: Mapping[int, ClaimSide] = field(default_factory=dict)
    joins: Mapping[int, tuple[JoinState, tuple[str, ...]]] = field(default_factory=dict)
    queues: Mapping[int, QueueFacts] = field(default_factory=dict)
    admitted: tuple[str, ...] = ()
    live: frozenset[str] = frozenset()
    local_only: bool = False
    active_ms: int = 10_000
