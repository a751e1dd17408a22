"""Task queues: how a worker gets an attempt, keeps it, and loses it.

A queue is one pair of ordered sets a shard: ready (by urgency, then age) and delayed (by due time).
Members are task ids and nothing else; whether a member may be handed out is read from the attempt
when it is polled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import Outcome
from conductor_py.records import dataclass, field

MOST_POLLS: Final = 20_000
"""Fields of poll data that a partition keeps: one for each name and domain, and for each shard of
these. The oldest go: whoever may poll can invent names.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedRate:
    """So many claims of a definition's rate may be made until an instant of the store's clock."""

    definition: str
    claims: int
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """Where a poll stopped: there were no permits (``what``: ``limit``) or no leased claims
    (``rate``) left; with the limits that hold for it.
    """

    definition: str
    what: str
    limit: int
    rate: int
    window_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """What a worker asks for: up to ``count`` attempts of ``queue`` from ``shards``, in that order.

    ``lease_ms`` 0: the worker asks for no lease, its claim ends with the response timeout.
    ``limit`` and ``rate`` (claims, window ms) are those of the live task ``definition``; ``None``
    takes what the attempt's snapshot says. In a queue that many definitions share, attempts of
    another one have the limits of their snapshot, and hold up nothing when they have to wait.
    Without a ``definition`` the limits are of whatever is in the queue.

    ``shared``: limits hold over several partitions. No more is claimed than this one has permits
    for, and than the ``leased`` claims of a rate; ``PollReply.short`` says what there was too
    little of.
    """

    queue: str
    shards: tuple[str, ...]
    worker: str
    count: int
    lease_ms: int = 0
    max_bytes: int = 4_000_000
    limit: int | None = None
    rate: tuple[int, int] | None = None
    definition: str = ""
    poll_name: str = ""
    """Task type and domain under which the poll is recorded; empty: do not record."""
    poll_domain: str = ""
    shared: bool = False
    leased: LeasedRate | None = None
    task_type: str = ""
    """Only attempts of this type are handed out, the others stay: ``prod:pay`` is the queue of a
    type and that of a domain's type, too. Empty: any."""
    gather_ms: int = 0
    """How long what is claimed is gathered for the index (``ports/touched.py``); 0: it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """An attempt handed out: its claim, and the fields a task is made of."""

    execution: ExecutionId
    seq: int
    claim: int
    header: bytes
    attempt: bytes
    claim_side: bytes
    input: bytes | None
    output: bytes | None

    @property
    def size(self) -> int:
        """What it counts against ``Poll.max_bytes``."""
        parts = (self.header, self.attempt, self.input or b"", self.output or b"")
        return sum(map(len, parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class PollReply:
    """``retry_at_ms``: when a delayed entry falls due or a limit frees, at the latest ``now_ms``
    when the poll stopped at its count, bytes or bounds with more to look at; 0 if nothing is known
    to come.
    """

    now_ms: int
    claimed: tuple[Claimed, ...]
    retry_at_ms: int = 0
    short: Short | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PollData:
    """Who polled a queue last: task type, domain (empty: none), worker, epoch ms; and for each
    shard when anybody looked into it last, to a second.
    """

    queue: str
    domain: str
    worker: str
    at_ms: int
    shards: Mapping[str, int] = field(default_factory=dict)


class TaskQueues(Protocol):
    """The queues of one partition. ``StoreUnavailable`` when the store does not answer."""

    def poll(self, partition: int, poll: Poll) -> PollReply:
        """Hand out attempts: claim, permit and timer of each in one step.

        Looks at 200 heads a shard at most, and goes on behind them the next time when they stay.
        Entries of ended or unknown attempts are dropped; those of a paused execution are parked
        with it. A full limit stops the poll with ``retry_at_ms``. A claim is max(k + 1, now) and
        ends at now + response timeout or, when asked, at now + lease, whichever is earlier; its
        timer is the earliest of that, the attempt timeout counted from the first claim, and the
        attempt's total deadline.
        """

    def extend(  # noqa: PLR0917 - who, which claim, for how long, how far
        self,
        execution: ExecutionId,
        seq: int,
        claim: int,
        worker: str,
        lease_ms: int,
        progress: bytes | None,
    ) -> tuple[Outcome, int]:
        """Prolong a held claim: by the lease when one was asked for (never beyond the response
        timeout from now), else by the response timeout. OK and the new end; SUPERSEDED (not the
        current claim, or past its end); IGNORED (ended); UNKNOWN_TASK; GONE. ``claim`` 0: the
        holder is recognised by ``worker``, and any holder is when that is empty.
        """

    def waiting(self, queue: str, shards: tuple[str, ...]) -> frozenset[int]:
        """Tell in which partitions the queue has entries, ready or delayed; one that does not
        answer is left out, and ``StoreUnavailable`` when none does.
        """

    def record_poll(
        self, name: str, domain: str, worker: str, shards: tuple[str, ...], now_ms: int
    ) -> None:
        """Write down who polled which shards, and when, in the home partition of the name, for a
        poll that asks no partition or several. What is newer stays.
        """

    def names(self, partition: int | None) -> frozenset[str]:
        """Name every queue in a partition that has entries, or had some and is not forgotten;
        ``None``: in all that answer.
        """

    def sizes(self, partition: int) -> dict[tuple[str, str], tuple[int, int]]:
        """Count entries, ready and delayed, by (queue, shard), for every queue that ``names``
        names.
        """

    def forget_empty(
        self, partition: int, cursor: str, limit: int, *, keep: int
    ) -> tuple[str, int]:
        """Forget the names of queues that have no entries, of about ``limit`` names from a cursor
        on (empty: from the beginning), as long as there are more than ``keep`` names. Returns the
        cursor to go on from, empty behind the last, and how many went. The next entry names its
        queue again; one whose limit is in use may stay.
        """

    def poll_data(self, partition: int) -> tuple[PollData, ...]:
        """List who polled what last, as far as it is written down there (``MOST_POLLS``)."""
