"""What is stored of a running execution, as the decider sees it.

Every type here is one stored field (``ports.store`` lists them); the stored names stand in
``codec.execution``. Instants are epoch milliseconds of the store's clock, 0 means "not set".
"""

from __future__ import annotations

from typing import NewType

from conductor_py.model.chains import NO_CHAIN, Chain
from conductor_py.model.json import JsonObject
from conductor_py.model.priorities import enqueued_at
from conductor_py.model.status import TaskStatus, WorkflowStatus
from conductor_py.records import dataclass

Vector = NewType("Vector", str)
"""Iteration vector, outermost loop first: ``""`` outside loops, ``"2"``, ``"2.1"``."""

NO_LOOP = Vector("")
FORMAT = 1


def vector_prefix(vector: Vector, depth: int) -> Vector:
    """Take the first ``depth`` components of an iteration vector."""
    return Vector(".".join(vector.split(".")[:depth])) if depth and vector else NO_LOOP


def vector_append(vector: Vector, iteration: int) -> Vector:
    """Enter a loop's iteration."""
    return Vector(f"{vector}.{iteration}" if vector else str(iteration))


@dataclass(frozen=True, slots=True)
class External:
    """A document that lives in payload storage under ``path``."""

    path: str


Document = JsonObject | External


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The hot header: small, read at every decision, written whole by start and commit only.

    ``open_attempts`` counts open attempts other than containers (JOIN and DO_WHILE, which only wait
    for others), ``containers`` those. ``tail`` is set when the last top-level task has settled.
    ``drain`` is the next sequence number that cleaning up after a cut end has to look at, 0 when
    there is nothing to clean up. ``permissive_failures`` counts failed permissive tasks, which fail
    the execution when everything else is done; ``forgotten`` the attempts of which loops have kept
    no record (from ``first_seq`` on); ``continues`` the continuations under way;
    ``fragments`` those that dynamic forks and tasks brought; ``has_domains`` says that a
    task-to-domain map was given. ``admission_key`` names what a workflow rate limit counts it under
    (empty: under none), ``awaits_admission`` says that it waits for its turn; ``admitted_under``
    are the keys that the executions above it hold, one a line: it shares their places.
    ``postponed`` counts the steps that pauses have put off so far, ``taken_up`` those of them that
    have gone on since. ``skips`` says that a task was skipped before it was reached, ``watched``
    until when somebody waits for it to block or to end, ``forget`` that it is to leave no trace.
    ``walk`` is the next sequence number that a walk over all attempts looks at (0: none is under
    way), ``surveyed`` says that its first pass is over. ``revised`` says that a task may be reached
    again whose attempt is there already. ``former`` are the plans that upgrades have replaced.
    ``final`` counts the tasks of a DAG of which it is known in this generation what became.
    ``sound`` says that no attempt has ever failed (False where an older server wrote it).
    ``business_at`` is the instant that it is about (0: that of its start), ``zone`` the zone by
    whose calendar (empty: UTC). ``parents_word`` is the latest of what its parent's attempts said.
    """

    plan: str
    name: str
    version: int
    status: WorkflowStatus
    generation: int
    home: str
    created_at: int
    format: int = FORMAT
    correlation_id: str | None = None
    priority: int = 0
    parent: str | None = None
    parent_seq: int = 0
    depth: int = 0
    chain: Chain = NO_CHAIN
    first_seq: int = 1
    next_seq: int = 1
    open_attempts: int = 0
    containers: int = 0
    tail: bool = False
    due_at: int = 0
    drain: int = 0
    permissive_failures: int = 0
    continues: int = 0
    fragments: int = 0
    has_domains: bool = False
    updated_at: int = 0
    ended_at: int = 0
    last_retried_at: int = 0
    postponed: int = 0
    taken_up: int = 0
    skips: bool = False
    watched: int = 0
    forget: bool = False
    admission_key: str = ""
    admission_limit: int = 0
    awaits_admission: bool = False
    admitted_under: str = ""
    walk: int = 0
    surveyed: bool = False
    revised: bool = False
    former: tuple[str, ...] = ()
    notices: int = 0
    forgotten: int = 0
    final: int = 0
    sound: bool = False
    business_at: int = 0
    zone: str = ""
    parents_word: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of one reference in one generation and iteration; on the wire: Task.

    ``definition`` is the name of the task definition. ``queue`` is empty when no worker takes it.
    ``deadline`` is the end of the total timeout over all attempts, ``poll_by`` that of the poll
    timeout, ``start_at`` the instant before which an attempt without queue entry is not opened,
    ``wait_until`` the end of a WAIT. ``superseded`` says that a newer attempt of the same reference
    and iteration exists; ``lost`` counts workers lost so far (they use up no retry). ``child`` is
    the execution a SUB_WORKFLOW waits for, ``followed`` says that somebody else has started that.
    ``async_complete`` says that its worker only sets something going, and that somebody else
    reports its end. ``ahead`` says that it was skipped before it was reached: it counts from then
    on. ``redo`` is the generation that is about to make its successor (0: none); it stays when that
    one ends before it has, and the next one makes it. ``tells_start`` says that its first claim is
    an event. ``root`` is the first attempt of its line (0: this one): what a long task keeps is for
    one line. ``recalled`` is the claim under which it cannot be put off: somebody wants it to run
    on. ``queued_at`` is when it was queued, where its ``score`` does not tell.
    """

    seq: int
    ref: str
    vector: Vector
    plan: str
    type: str
    definition: str
    status: TaskStatus
    generation: int
    scheduled_at: int
    first_scheduled_at: int = 0
    retry_count: int = 0
    lost: int = 0
    retried_seq: int = 0
    superseded: bool = False
    queue: str = ""
    domain: str = ""
    shard: str = ""
    score: float = 0
    response_timeout_ms: int = 0
    timeout_ms: int = 0
    deadline: int = 0
    poll_by: int = 0
    start_at: int = 0
    wait_until: int = 0
    limit: int = 0
    rate: int = 0
    rate_window_ms: int = 0
    started_at: int = 0
    ended_at: int = 0
    reason: str | None = None
    worker: str = ""
    callback_after_s: int = 0
    delay_s: int = 0
    child: str | None = None
    followed: bool = False
    alerted: int = 0
    cache_key: str = ""
    async_complete: bool = False
    ahead: bool = False
    redo: int = 0
    tells_start: bool = False
    root: int = 0
    recalled: int = 0
    queued_at: int = 0

    @property
    def queued_since(self) -> int:
        """When it was put into its queue, or is to be ready there."""
        return self.queued_at or enqueued_at(self.score)

    @property
    def open(self) -> bool:
        """Whether its own status is not terminal (the execution may still have ended or begun a new
        generation).
        """
        return not self.status.terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSide:
    """Who holds an attempt and until when; written by the store only."""

    claim: int = 0
    held: bool = False
    until: int = 0
    leased: bool = False
    closed: bool = False
    worker: str = ""
    polls: int = 0
    first_at: int = 0
    updated_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinState:
    """A JOIN that is open: how many references it waits for and how they settled.

    ``failed`` are the sequence numbers of attempts that settled unsuccessfully, in order, at most
    100; ``errors`` those of optional ones (COMPLETED_WITH_ERRORS), likewise.
    """

    seq: int
    expected: int
    settled: int = 0
    failed: tuple[int, ...] = ()
    errors: tuple[int, ...] = ()
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopState:
    """A DO_WHILE that is open: its present iteration and the open attempts directly inside it.

    ``tail`` says that the last task of the body has settled in this iteration. ``items`` is the
    number of items of a list loop, -1 for a condition loop. ``generation`` is the last one whose
    walk has counted it anew. ``failed`` is the attempt in the body that failed for good while the
    loop was still to be made anew: it fails then (0: none).
    """

    seq: int
    iteration: int = 0
    open_attempts: int = 0
    tail: bool = False
    items: int = -1
    closed: bool = False
    generation: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GateState:
    """What the gate of a task of a DAG has been told: of how many of its edges, how many of them
    are live and how many blocked. It is void in another generation.

    ``verdict`` is empty until all have been told. ``fresh`` says that a task before it has run in
    this generation. ``named`` says that it runs, or has run in an earlier one, because an operator
    named it, whatever it has been told.
    """

    generation: int
    told: int = 0
    live: int = 0
    blocked: int = 0
    fresh: bool = False
    verdict: str = ""
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What is known of an execution since its start and never changes; read by people, not by
    decide.
    """

    created_by: str | None = None
    event: str | None = None
    idempotency_key: str | None = None
    parent_task_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """A step that a pause has postponed, as ``Continue`` has it."""

    kind: str
    plan: str
    ref: str
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """A task of a loop's body that is not to be opened in any iteration; void after a restart,
    which moves the execution's ``first_seq``.
    """

    first_seq: int
    input: JsonObject
    output: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Somebody waits until ``until`` for the execution to block, to end, or for one of ``refs`` to
    end; ``topic`` is where the answer goes.
    """

    topic: str
    until: int
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Watches:
    """Everybody who waits for an execution, at most 32."""

    watches: tuple[Watch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a walk over all attempts is for: ``kind`` is ``revive`` (retry, rerun, revived
    children), ``restart``, ``jump`` or ``take_back`` (a child was revived, its parent still runs).
    It ends before the sequence number ``last``.

    ``target`` is the attempt that is made anew whatever its status, 0 for none; with ``forgets``
    all that follows it is forgotten. ``adopts`` says that the target goes on with its child,
    ``resumes`` that every failed task with a child does. ``ref`` and ``vector`` are where a jump
    goes, ``given`` says that an input for the target is kept in the field ``redo``. ``cut_off``
    says that it goes on with a walk that an end has cut off, ``untold`` that nobody has been told
    of the end of the attempt that is taken back.

    In a DAG ``ref`` is the task that was named, which may have no attempt, and ``scope`` what may
    run: TASK_ONLY that task, TASK_PRE that task and what comes before it, FORCED everything but
    what has failed by itself (the target is done already), empty everything.
    """

    kind: str
    last: int
    target: int = 0
    forgets: bool = False
    adopts: bool = False
    resumes: bool = False
    ref: str = ""
    vector: Vector = NO_LOOP
    given: bool = False
    scope: str = ""
    cut_off: bool = False
    untold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why an execution ended, written by the commit that ended it."""

    reason: str | None = None
    failed_task: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueue:
    """The messages sent to an execution that no task has pulled yet: numbers ``first`` up to, but
    not, ``next``.

    It is void in another generation. ``pushed_at`` is when the last one came; ``waiting`` are the
    attempts that wait for one, oldest first.
    """

    generation: int
    first: int = 1
    next: int = 1
    pushed_at: int = 0
    waiting: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissiveFailures:
    """The reasons of the first permissive tasks that failed in a generation, for its end."""

    generation: int
    reasons: tuple[str, ...] = ()


State = (
    Header
    | Attempt
    | ClaimSide
    | JoinState
    | LoopState
    | GateState
    | Meta
    | Ending
    | Postponed
    | Skip
    | Watches
    | Walk
    | MessageQueue
    | PermissiveFailures
)
