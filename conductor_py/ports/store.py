"""The execution store: what `start`, `report` and `commit` promise, whatever keeps the promise.

An execution is a set of small named fields (bytes, made by ``codec``), an inbox of numbered events,
and the entries that are owed to it in queues, timers and the outbox. Everything that one call names
changes together or not at all.

Fields of an execution (``<vec>`` is the iteration vector, ``1.2``; absent outside loops):

    h                hot header            input output vars domains meta   documents, on demand
    a:<seq>          attempt state         i:<seq> o:<seq>  its input and output
    c:<seq>          claim side            p:<seq>          progress, claim side too
    r:<ref>          newest attempt (seq) over all iterations      r:<ref>#<vec>  that iteration's
    j:<ref>[#<vec>]  join or loop state    d:<ref>[#<vec>]  hash of the definition it brought
    w:<n>            step postponed by a pause                s:<ref>  a loop's task to be skipped
    watch            who waits for it to block or to end       by:append  who appended to vars
    walk             what a walk over all attempts is for   redo  an input kept for its end
    messages         the numbers of the messages sent to it     m:<n>  one of them
    permissive       why permissive tasks have failed         g:<ref>  gate of a task of a DAG

``v`` (version, terminal, generation, number of the first event, home, first and last operation id,
status: words, so none has a space), ``l`` (lease), ``k`` (highest claim) and ``q`` (how often
deciding on a version has failed, ``ports/quarantine.py``) belong to the store.

The state of an attempt, ``a:<seq>``, is flat JSON that the store may read but never writes:

    ref it st gen def   reference, iteration vector ("" outside loops), status, generation,
                        name of the task definition
    plan                hash of the plan its node stands in
    q sh score          queue name, shard and score of its entry ("" and 0 when no worker takes it)
    rt tt               response timeout and timeout of one attempt, ms (0: none)
    deadline            absolute end of its total timeout, epoch ms (0: none)
    lim rl rw           concurrent limit, claims per window, window in ms (0: none)
    (further keys belong to the engine)

It is open while ``st`` is ``SCHEDULED`` or ``IN_PROGRESS``, ``gen`` is the execution's generation,
its number is at least the header's ``first_seq`` and the execution is not terminal. The header,
``h``, is flat JSON too; the store reads ``plan``, ``home`` (home shard), ``first_seq``, ``name``.

The claim side, ``c:<seq>``, is flat JSON that only the store writes. It is there from the first
poll, result or attempt timer on:

    k held until   claim number, 1 while held, when it ends (epoch ms)
    leased         1 when ``until`` is the worker's own lease rather than the response timeout
    closed         1 once a result was accepted and its event waits in the inbox or was consumed; a
                   commit's offer or reopening resets it to 0
    w prev         holder, and up to ten holders before it (joined by a newline)
    polls first upd   claims handed out so far, time of the first, time of the last write
    at cb          deadline its timer stands for (0: none), deadline already fired
    done permit    last claim that a result closed, 1 while it has a permit of the concurrent limit

A *read* names what a caller wants: a field name, or ``><kinds> <pointer field>``: follow the
pointer and bring the fields of ``kinds`` (letters of ``a i o c``) of the attempt it names, the
pointer too. In the reads a plan keeps for a reference (``PlanStore.put``), ``#*<n>`` at the end of
a name stands for the first ``n`` components of the iteration vector of the attempt that ended
(``#*0``: nothing).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Protocol

from conductor_py.model.ids import ExecutionId
from conductor_py.ports.admission import Admission
from conductor_py.ports.chains import ChainRoom, ChainUse, Wish
from conductor_py.records import dataclass

Fields = Mapping[str, bytes | None]
"""Fields by name; ``None`` says that the field is known to be absent."""
WHATEVER_COMES: Final = 1 << 53
"""The number of an event that no inbox reaches: whatever is in there, or comes, counts as seen."""
READ_BYTES: Final = 64 << 20
"""What one read brings at most. A first value that is larger comes alone."""


class Outcome(Enum):
    """How a call ended; each value is also the first word of a script's reply."""

    OK = "OK"
    GONE = "GONE"  # no such execution
    UNKNOWN_TASK = "UNKNOWN_TASK"  # the execution has no such attempt
    IGNORED = "IGNORED"  # attempt or execution has ended, or a result is already in the inbox
    SUPERSEDED = "SUPERSEDED"  # the claim given does not hold the attempt, or not any more
    STALE = "STALE"  # the version moved: drop the decision, load again
    CLAIM_MOVED = "CLAIM_MOVED"  # a claim that the decision saw end has not ended: decide again
    RECEIVER_GONE = "RECEIVER_GONE"  # of a message whose sender waits for it: decide again
    NEED_PLAN = "NEED_PLAN"  # put the plans, call again
    META_MOVED = "META_MOVED"  # definitions changed since the caller read them
    EXISTS = "EXISTS"  # the id, or the idempotency key, is taken; see `existing`
    CLOCK = "CLOCK"  # the caller's estimate of the store's time is more than a second off
    BUSY = "BUSY"  # somebody else holds the lease
    LIMITED = "LIMITED"  # as many of its kind are there as may be
    CHAIN_FULL = "CHAIN_FULL"  # a root has set going so many; `room` is left


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What whoever now holds the lease of an execution needs in order to decide.

    ``events`` are the unconsumed ones in order, the first has number ``first_event``. ``fields``
    has ``h`` and, for every event that names an attempt (the first 256, within 1 MB): ``a: c: o:``
    of it and what its plan's reads name.
    """

    execution: ExecutionId
    version: int
    now_ms: int
    first_event: int
    events: tuple[bytes, ...]
    fields: Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A queue entry of an attempt: ready at once, or from ``due_ms`` on when that is not 0."""

    seq: int
    queue: str
    shard: str
    score: float
    due_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimGuard:
    """A decision that ends an attempt because time passed names the claim and its end as it saw
    them; 0 when nobody held it. A claim that a result closed has moved.
    """

    seq: int
    claim: int
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """An execution that this commit starts; one that exists is left alone: its id says by whom.
    Something of its starter waits for one that is ``wanted``: its parent, or its starter's own end.
    """

    execution: ExecutionId
    home: str
    name: str
    generation: int
    fields: Mapping[str, bytes]
    event: bytes
    wanted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An event for another execution of the partition, which one that is ``wanted`` must find."""

    execution: ExecutionId
    event: bytes
    wanted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Something to be done outside, at least once. The same id again replaces what waits under it.

    ``document`` is opaque JSON, at most 4 kB. ``due_ms`` 0 means now; below 0 it is due now, too,
    and is taken before what has been due for up to so long. When the store is nearly full it is due
    at ``soonest_ms``, if that says so.
    """

    id: str
    document: bytes
    due_ms: int = 0
    soonest_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Everything that one decision changes. Applied whole or not at all."""

    status: str
    terminal: bool
    generation: int
    fields: Mapping[str, bytes]
    deleted: tuple[str, ...] = ()
    ended: tuple[int, ...] = ()
    """Attempts whose queue, delayed or parked entry, timer and permit go. The fields say how."""
    reopened: tuple[int, ...] = ()
    """Attempts whose closed claim is open for a result again, and in no queue."""
    offers: tuple[Offer, ...] = ()
    attempt_timers: tuple[tuple[int, int], ...] = ()
    """(seq, due ms) of what no claim times: poll timeout, WAIT, delayed start. 0 removes."""
    due_ms: int = 0  # when it must be looked at next, epoch ms; 0: by no clock
    children: tuple[Child, ...] = ()
    messages: tuple[Message, ...] = ()
    own_events: tuple[bytes, ...] = ()
    """Continuations, appended to its own inbox: the lease holder goes on with them."""
    effects: tuple[Effect, ...] = ()
    answers: tuple[tuple[str, bytes], ...] = ()
    """(operation id, answer) for callers of `send`; published to whoever waits."""
    plans: tuple[str, ...] = ()
    """Hashes that must be stored in this partition; else NEED_PLAN."""
    unpark: bool = False
    admission: Admission | None = None
    chain: ChainUse | None = None
    touched: tuple[int, ...] = ()
    """Attempts that changed or went, for the index (``ports/touched.py``); an end forgets them."""
    gather_ms: int = 0  # how long the index waits for more
    logs: tuple[tuple[int, int, str], ...] = ()  # (seq, ms, line), as ``append_log`` keeps them


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A new execution with its first decision."""

    execution: ExecutionId
    operation: str
    home: str
    name: str
    now_ms: int
    """The estimate of the store's clock at sending; the decision may be a little older."""
    changes: Changes
    idempotency_key: str | None = None
    on_existing: str = "FAIL"  # or RETURN_EXISTING, FAIL_ON_RUNNING
    meta_revision: int | None = None  # of the definitions that were read; None: none was
    holder: str = ""  # decides on changes.own_events; empty: whoever sees the timer, due at once
    lease_ms: int = 3_000
    wish: Wish = Wish.NEW


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReply:
    """``existing`` is set with EXISTS; ``more`` when the inbox is not empty (continuations): the
    caller has the lease.
    """

    outcome: Outcome
    now_ms: int
    version: int = 0
    existing: ExecutionId | None = None
    more: Loaded | None = None
    room: ChainRoom | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of one attempt.

    ``claim`` 0: the reporter named none (the official SDKs). ``output`` replaces ``o:<seq>`` unless
    ``None``, ``event`` goes into the inbox. ``final``: not in progress; ``once``: not repeated.
    """

    execution: ExecutionId
    seq: int
    claim: int
    worker: str
    final: bool
    event: bytes
    output: bytes | None
    holder: str
    lease_ms: int
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportReply:
    """``loaded`` is there when the caller is to decide; else who has the lease, or the timer."""

    outcome: Outcome
    now_ms: int
    loaded: Loaded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendReply:
    """``answer`` is there when this operation id was already answered; nothing was appended."""

    outcome: Outcome
    now_ms: int
    loaded: Loaded | None = None
    answer: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """The changes of one decision, guarded by the version that it read.

    The events ``first_event`` to ``consumed`` leave the inbox if ``seen`` is their digest, fencing
    or not: somebody else may have consumed some, and a store that lost its last writes gives their
    numbers to others. ``let_go``: give the lease up, even if more came; the timer is due at once.
    """

    execution: ExecutionId
    operation: str
    version: int
    home: str
    name: str
    first_event: int
    consumed: int
    seen: str
    changes: Changes
    holder: str
    lease_ms: int
    guards: tuple[ClaimGuard, ...] = ()
    let_go: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitReply:
    """With OK ``version`` is the new one; ``more``: as StartReply; ``woken``: let in as it left."""

    outcome: Outcome
    now_ms: int
    version: int = 0
    more: Loaded | None = None
    woken: tuple[ExecutionId, ...] = ()
    room: ChainRoom | None = None


class ExecutionStore(Protocol):
    """Executions of all partitions. Every method raises ``StoreUnavailable`` when the store does
    not answer.
    """

    def now_ms(self) -> int:
        """Tell the store's time; every deadline in the engine is an instant of this clock."""

    def start(self, start: Start) -> StartReply:
        """Create the execution with its first decision, in one atomic step.

        Outcomes: OK; EXISTS (id taken by another operation, or the idempotency key by ``existing``
        and ``on_existing`` says so); NEED_PLAN; META_MOVED; CLOCK; LIMITED; CHAIN_FULL. A repeat
        with the same operation id is OK and changes nothing. The version of a new execution is
        max(1, now).
        """

    def report(self, report: Report) -> ReportReply:
        """Make a result durable in the inbox, close the claim, arm the wake-up, try the lease.

        OK; IGNORED (ended, or a result already waits); SUPERSEDED (a claim is given and is not the
        current one, or none is given and the worker held an earlier claim of this attempt and not
        the current one); UNKNOWN_TASK; GONE. A repeat under the claim that was closed by it is
        IGNORED. After OK no poll, extend, firing or other result of that attempt changes anything
        until a commit. An attempt in a queue is taken out of it.
        """

    def send(  # noqa: PLR0917 - what one operation is made of
        self,
        execution: ExecutionId,
        operation: str,
        event: bytes,
        holder: str,
        lease_ms: int,
        most: int = 0,
        *,
        new: bool = False,
    ) -> SendReply:
        """Append an operation's or a signal's event, arm the wake-up, try the lease. OK, GONE, or
        LIMITED when ``most`` events (0: any number) wait in the inbox already. What makes ``new``
        work is nothing for a store that is full.

        A repeat of ``operation`` appends nothing and brings the answer if there is one (kept 60 s,
        64 at most).
        """

    def acquire(self, execution: ExecutionId, holder: str, lease_ms: int) -> Loaded | None:
        """Take the lease if it is free and there is something to consume or a deadline passed, else
        ``None``. Whoever has it already gets it again, so one name is for one decider at a time.
        """

    def renew(self, execution: ExecutionId, holder: str, lease_ms: int) -> bool:
        """Prolong the lease; false when it was lost (saves work only: the version keeps us
        correct).
        """

    def postpone(
        self,
        execution: ExecutionId,
        holder: str,
        seen: int,
        delay_ms: int,
        *,
        for_script: bool = False,
    ) -> bool:
        """Give the lease up; false when it was lost. The timer is due after ``delay_ms``, or at
        once when the inbox has an event after number ``seen`` (``WHATEVER_COMES``: never at once).
        ``for_script`` is kept for those who ask why it does not move.
        """

    def commit(self, commit: Commit) -> CommitReply:
        """Apply the changes if the version is still the one read, and nothing else refuses them.

        With fencing off the version is not compared; a terminal execution of the same generation,
        the inbox numbers and the operation id still are. The new version is max(old + 1, now). A
        repeat of ``operation`` is OK and changes nothing. When the inbox is then empty, or
        ``let_go``, the lease is released; else ``more`` has what is left.
        """

    def load(self, execution: ExecutionId, reads: Sequence[str]) -> tuple[int, Fields] | None:
        """Read fields as of one version, without a lease; ``None`` when the execution is gone. An
        absent field is ``None``; one that is missing did not fit: ask for it again.
        """
