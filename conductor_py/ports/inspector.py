"""Looking into the store as an auditor does: what is there, and what is owed to whom. Reads only.

An inspection is one instant of one execution with everything that would wake it. A walk names every
key of an execution or of a set, in pages; the members of a set are read in pages as well. What is
there during a whole walk is named at least once; what comes or goes meanwhile may be missed, and
anything may be named twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from conductor_py.model.ids import ExecutionId

QUARANTINE = "quarantine"
"""Who holds the lease of an execution that is in quarantine: nobody else gets it."""
SCRIPTS = "scripts"
"""Who is named by the lease of an execution that waits, free, for scripts that take long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one open attempt stands, as of the same instant as its claim side.

    ``delayed_ms`` is when its delayed entry falls due, ``timer_ms`` when its timer fires,
    ``permit_ms`` until when it has a permit; 0: none. ``ordered`` says that an effect to start
    something for it (``<execution>:start:<seq>``) waits, ``published`` one to publish a message.
    """

    seq: int
    claim: bytes | None
    ready: bool = False
    delayed_ms: int = 0
    parked: bool = False
    timer_ms: int = 0
    permit_ms: int = 0
    ordered: bool = False
    published: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Setback:
    """How often a decision on the present version has failed, since when, and why the last did."""

    tries: int
    since_ms: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """One execution.

    ``fields`` are all of them but those of the store (``v l k q``); ``places`` has the open
    attempts. ``events`` are the first 1,000 of ``waiting`` in the inbox. ``due_ms`` is when its own
    timer fires (0: it has none). ``effects`` are those of its own that wait, of ``index``,
    ``remove`` and ``forget``, with the instants they are due. ``admitted`` and ``ahead`` tell of
    its workflow rate limit: whether it counts, and how many wait before it (-1: it does not wait).
    ``counted`` says that its plan counts it, ``listed`` that it is among those that run.
    ``percent_full`` is how much is in use of the memory that its store may have (0: no bound).
    ``unreadable`` says what cannot be read of one of which nothing else is known; empty for others.
    """

    execution: ExecutionId
    now_ms: int
    version: int
    terminal: bool
    generation: int
    status: str
    home: str
    first_event: int
    lease_until: int
    holder: str
    setback: Setback | None
    waiting: int
    events: tuple[bytes, ...]
    parked: int
    due_ms: int
    listed: bool
    counted: bool
    admitted: bool
    ahead: int
    effects: Mapping[str, int]
    fields: Mapping[str, bytes]
    places: Mapping[int, Place]
    percent_full: int = 0
    unreadable: str = ""

    @property
    def quarantined(self) -> bool:
        """Whether it is in quarantine."""
        return self.holder == QUARANTINE

    @property
    def held(self) -> bool:
        """Whether somebody is deciding on it."""
        return self.lease_until > self.now_ms and not self.quarantined


@dataclass(frozen=True, slots=True, order=True)
class StoredKey:
    """A key: its kind as ``adapters/redis/keys.py`` names it (``exec:``, ``inbox:``, ``timers:``…)
    and what stands behind that.
    """

    partition: int
    kind: str
    rest: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How an execution stands, in a word."""

    terminal: bool
    status: str
    generation: int


UNREADABLE = Standing(terminal=False, status="", generation=0)
"""How one stands whose record cannot be read: it is there, and nobody can say that it has ended."""


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    """An attempt that has not ended: whether it is one that workers take from a queue, and
    whether a worker has it.
    """

    execution: ExecutionId
    seq: int
    queued: bool
    held: bool


def unreadable(execution: ExecutionId, now_ms: int, problem: str) -> Inspection:
    """The look at an execution of which nothing can be read."""
    return Inspection(
        execution=execution,
        now_ms=now_ms,
        version=0,
        terminal=False,
        generation=0,
        status="",
        home="",
        first_event=0,
        lease_until=0,
        holder="",
        setback=None,
        waiting=0,
        events=(),
        parked=0,
        due_ms=0,
        listed=False,
        counted=False,
        admitted=False,
        ahead=-1,
        effects={},
        fields={},
        places={},
        unreadable=problem,
    )


WALKED = (
    "exec:",
    "inbox:",
    "park:",
    "log:",
    "ckpt:",
    "queue:",
    "delayed:",
    "timers:",
    "limit:",
    "admitted:",
    "waiting:",
    "running:",
    "outbox",
    "effects",
)
"""The kinds of keys that a walk names."""


class Inspector(Protocol):
    """Reads for audits and explanations. ``StoreUnavailable`` when the store does not answer."""

    def check(self) -> None:
        """Tell whether writes are taken, everywhere, and change nothing: ``StoreFull`` when nothing
        new is, ``StoreUnavailable`` when nothing is.
        """

    def inspect(self, execution: ExecutionId) -> Inspection | None:
        """Look at one execution; ``None`` when it is not in the store. One whose bytes cannot be
        read says so (``unreadable``).

        Of more than 4,000 fields they are read in pages: an instant only as long as nothing moves.
        """

    def walk(self, cursor: str, limit: int) -> tuple[tuple[StoredKey, ...], str]:
        """Name keys of all partitions, about ``limit`` at a time. Begin with an empty cursor; an
        empty one is returned at the end. ``ValueError`` for a cursor that is none.

        Each server is looked through once, however many partitions it has. When partitions move to
        another one meanwhile, the walk begins anew.
        """

    def members(
        self, key: StoredKey, cursor: str, limit: int
    ) -> tuple[tuple[tuple[str, int], ...], str]:
        """Read members of a set with their scores, about ``limit`` at a time, as ``walk`` does. The
        score of a member of ``effects`` is its stamp.
        """

    def stays(self, key: StoredKey) -> bool:
        """Tell whether a key is there now and does not go by itself: it may have gone since a walk
        has named it, and what is being restored goes by itself should nobody finish it.
        """

    def size(self, key: StoredKey) -> int:
        """Count the members of a set."""

    def head(self, key: StoredKey, limit: int) -> tuple[tuple[str, int], ...]:
        """Read the first members of an ordered set, lowest score first."""

    def scores(self, key: StoredKey, members: Sequence[str]) -> dict[str, int]:
        """Read the scores of these members of an ordered set; those that are not in it are left
        out.
        """

    def standings(self, executions: Sequence[ExecutionId]) -> dict[ExecutionId, Standing]:
        """Tell how executions stand; those that are not in the store are left out, those that
        cannot be read are ``UNREADABLE``.
        """

    def open_attempts(
        self, executions: Sequence[ExecutionId], task_type: str
    ) -> tuple[OpenAttempt, ...]:
        """Find the open attempts of a task type, in the order of the executions and of each one's
        attempts; executions that are not in the store have none, and attempts that cannot be read
        are left out.
        """

    def record_audit(self, counts: Mapping[str, int]) -> None:
        """Keep what the last audit counted, by name; what was kept before goes."""

    def last_audit(self) -> dict[str, int]:
        """Read what the last audit counted."""
