"""The state that all memory adapters of one deployment share, behind one lock.

Nothing in here decides anything: the rules are in the adapters, which hold ``MemorySpace.lock``
while they look and write, so that every call is one step.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable

import orjson

from conductor_py.adapters.memory.ordered import ScoreSet
from conductor_py.errors import StoreUnavailable
from conductor_py.model.codes import CodeLayout
from conductor_py.model.ids import ExecutionId, home_partition, partition_of
from conductor_py.ports.permits import TOKEN_KEPT_MS
from conductor_py.ports.queues import PollData
from conductor_py.ports.schedules import StoredSchedule
from conductor_py.ports.wakeups import FAMILY
from conductor_py.records import dataclass, field

LOG_LINES = 10_000
"""Lines of the logs of an execution that are kept."""


@dataclass(slots=True, kw_only=True, eq=False)
class Execution:
    """One execution: its record, lease, fields, inbox, answers, parked entries and log."""

    id: ExecutionId
    version: int
    terminal: bool
    generation: int
    home: str
    begun: str
    last: str
    status: str
    base: int = 1
    lease_until: int = 0
    holder: str = ""
    highest_claim: int = 0
    fields: dict[str, bytes] = field(default_factory=dict)
    inbox: list[bytes] = field(default_factory=list)
    answers: dict[str, tuple[int, bytes | None]] = field(default_factory=dict)
    parked: set[int] = field(default_factory=set)
    log: list[tuple[int, int, str]] = field(default_factory=list)
    checkpoints: dict[str, bytes] = field(default_factory=dict)
    """What its long tasks keep, see ports/checkpoints.py."""
    setback: tuple[int, int, int, str] | None = None
    """Version, tries, since, reason: how often a decision on that version has failed."""

    def header(self) -> dict[str, object]:
        """Read the hot header."""
        loaded: dict[str, object] = orjson.loads(self.fields.get("h", b"{}"))
        return loaded

    def first_seq(self) -> int:
        """Tell the number below which no attempt exists."""
        first = self.header().get("first_seq", 0)
        assert isinstance(first, int)
        return first

    def is_draining(self) -> bool:
        """Tell whether something of an ended execution is still to be cleaned up."""
        return bool(self.header().get("drain"))

    def stands_as_of(self, version: int) -> bool:
        """Tell whether it has ended with that version, and nothing of it is to be cleaned up."""
        return self.terminal and self.version == version and not self.is_draining()


@dataclass(slots=True, kw_only=True)
class Plan:
    """A snapshot with the reads of its references; a fragment has an owner."""

    blob: bytes
    reads: dict[str, bytes]
    used_at: int
    owner: ExecutionId | None


@dataclass(slots=True)
class Permitted:
    """Permits that a partition has of a limit over several, under a token, by a limit."""

    token: int = 0
    number: int = 0
    limit: int = 0

    def is_forgotten(self, used: int, now_ms: int) -> bool:
        """Tell whether it is too long ago to matter; nothing of it may be in use."""
        return self.number == 0 and used == 0 and self.token <= now_ms - TOKEN_KEPT_MS

    def under(self, limit: int) -> int:
        """Tell how many may be in use; what was given under a higher limit does not count."""
        return min(self.number, limit) if self.limit <= limit else 0


@dataclass(slots=True)
class Shares:
    """Who has how many permits of a limit, kept at its home: partition -> (token, number), and who
    seeks some, since when.
    """

    has: dict[int, tuple[int, int]] = field(default_factory=dict)
    seekers: dict[int, int] = field(default_factory=dict)
    newest: int = 0


Lane = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Aside:
    """An effect that was put aside: since when, how often, until when, and why."""

    since_ms: int
    tries: int
    again_ms: int
    problem: str


@dataclass(slots=True, eq=False)
class Partition:
    """What one hash tag holds in Redis."""

    executions: dict[str, Execution] = field(default_factory=dict)
    restoring: dict[str, str] = field(default_factory=dict)
    """The tokens of executions that are being brought back."""
    ready: defaultdict[Lane, ScoreSet] = field(default_factory=lambda: defaultdict(ScoreSet))
    delayed: defaultdict[Lane, ScoreSet] = field(default_factory=lambda: defaultdict(ScoreSet))
    lanes: set[Lane] = field(default_factory=set)
    passed: dict[Lane, int] = field(default_factory=dict)
    """How many heads of a queue polls passed over, of those that ended among them."""
    permits: defaultdict[str, ScoreSet] = field(default_factory=lambda: defaultdict(ScoreSet))
    rates: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    timers: defaultdict[str, ScoreSet] = field(default_factory=lambda: defaultdict(ScoreSet))
    outbox: ScoreSet = field(default_factory=ScoreSet)
    effects: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    aside: dict[str, Aside] = field(default_factory=dict)
    """Effects that cannot be read."""
    touched: ScoreSet = field(default_factory=ScoreSet)
    plans: dict[str, Plan] = field(default_factory=dict)
    plans_in_order: ScoreSet = field(default_factory=ScoreSet)
    references: dict[str, int] = field(default_factory=dict)
    idempotency: dict[tuple[str, str], tuple[ExecutionId, int]] = field(default_factory=dict)
    cached: ScoreSet = field(default_factory=ScoreSet)
    outputs: dict[str, bytes] = field(default_factory=dict)
    admitted: defaultdict[str, ScoreSet] = field(default_factory=lambda: defaultdict(ScoreSet))
    waiting: defaultdict[str, ScoreSet] = field(default_factory=lambda: defaultdict(ScoreSet))
    chains: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    late: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    running: defaultdict[str, ScoreSet] = field(default_factory=lambda: defaultdict(ScoreSet))
    poll_data: dict[tuple[str, str], PollData] = field(default_factory=dict)
    holdings: defaultdict[str, Permitted] = field(default_factory=lambda: defaultdict(Permitted))
    shares: defaultdict[str, Shares] = field(default_factory=lambda: defaultdict(Shares))
    leased_rates: defaultdict[str, dict[str, int]] = field(
        default_factory=lambda: defaultdict(dict)
    )


@dataclass(slots=True)
class Held:
    """Messages of one event that nobody handles yet, with the instants they came at."""

    messages: dict[bytes, int] = field(default_factory=dict)
    until_ms: int = 0


@dataclass(slots=True, eq=False)
class Events:
    """Event handlers, by name with their event, and what they did."""

    handlers: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    targets: dict[str, tuple[str, int]] = field(default_factory=dict)
    held: defaultdict[str, Held] = field(default_factory=lambda: defaultdict(Held))
    records: list[bytes] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True, eq=False)
class Schedules:
    """Schedules by name, what is due, the records (instant, id, record) of each, and what each has
    started (execution -> instant).
    """

    stored: dict[str, StoredSchedule] = field(default_factory=dict)
    due: ScoreSet = field(default_factory=ScoreSet)
    records: dict[str, list[tuple[int, str, bytes]]] = field(default_factory=dict)
    started: dict[str, dict[str, int]] = field(default_factory=dict)
    halted: bool = False


def _system_clock() -> int:
    return time.time_ns() // 1_000_000


class MemorySpace:
    """The store of one deployment in one process; ``clock`` tells epoch milliseconds."""

    def __init__(self, partitions: int = 1, clock: Callable[[], int] | None = None) -> None:
        """Begin empty."""
        self.lock = threading.RLock()
        self.clock = clock or _system_clock
        self.partitions = tuple(Partition() for _ in range(partitions))
        self.workflows: dict[str, dict[int, bytes]] = {}
        self.published: dict[str, int] = {}
        self.catalog: dict[tuple[str, str], dict[str, bytes]] = {}
        self.tasks: dict[str, bytes] = {}
        self.schemas: dict[tuple[str, int], bytes] = {}
        self.tags: dict[tuple[str, str], bytes] = {}
        self.schedules = Schedules()
        self.revision = 0
        self.life = 1
        self.percent_full = 0
        self.audit: dict[str, int] = {}
        self.numbers: dict[int, tuple[int, str]] = {}
        self.code_layout: CodeLayout | None = None
        self.events = Events()
        self.woken = threading.Condition()
        self.tickets: defaultdict[str, int] = defaultdict(int)
        self.turns: defaultdict[str, list[object]] = defaultdict(list)

    def partition(self, number: int) -> Partition:
        """Find a partition; one that this deployment does not have is refused."""
        try:
            return self.partitions[number]
        except IndexError:
            raise StoreUnavailable(
                f"partition {number} is not one of this deployment's {len(self.partitions)}"
            ) from None

    def home_of(self, name: str) -> Partition:
        """Find the partition of what is about all of them."""
        return self.partitions[home_partition(name, len(self.partitions))]

    def of(self, execution: ExecutionId) -> Partition:
        """Find the partition of an execution."""
        return self.partition(partition_of(execution))

    def raise_revision(self) -> None:
        """Say that definitions changed: a time, so that one that was lost is not given to something
        else.
        """
        self.revision = max(self.revision + 1, self.clock())

    def publish(self, topic: str) -> None:
        """Wake whoever waits for a topic."""
        with self.woken:
            family, within, _ = topic.partition(FAMILY)
            for each in (topic, family + within) if within else (topic,):
                self.tickets[each] += 1
                self.wake_one(each)
            self.woken.notify_all()

    def wake_one(self, topic: str) -> None:
        """Let who came last of those who wait for a turn go; under ``woken``, which tells it."""
        waiting = self.turns.get(topic)
        if waiting:
            waiting.pop()
