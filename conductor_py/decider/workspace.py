"""The working state of one call of decide: what is known, and what has been changed so far.

Reads go through here: a change made earlier in the same decision is seen, a field that is not known
becomes a Need. The workspace lives for one call; nothing outside can see it, so decide stays a
function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from conductor_py.decider.limits import Limits
from conductor_py.decider.need import Missing, PayloadWanted, PlanWanted, Read, Refusal, Request
from conductor_py.decider.plan import Node, Plan
from conductor_py.errors import PayloadTooLarge
from conductor_py.model.decision import (
    Answer,
    ClaimSeen,
    Decision,
    Entry,
    Kept,
    NewChild,
    Order,
    Send,
)
from conductor_py.model.event import Event
from conductor_py.model.execution import (
    Attempt,
    ClaimSide,
    Document,
    External,
    Header,
    JoinState,
    LoopState,
    State,
    Vector,
    vector_prefix,
)
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonObject
from conductor_py.model.masking import Masker
from conductor_py.model.places import place_key
from conductor_py.model.status import WorkflowStatus
from conductor_py.records import changed, dataclass, made

_NO_CLAIM = ClaimSide()
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Spot:
    """A node in an iteration: where an attempt is opened or stood."""

    plan: Plan
    node: Node
    vector: Vector

    @property
    def key(self) -> str:
        """Its name in the execution: ``ref`` or ``ref#vector``."""
        return place_key(self.node.ref, self.vector)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What decide is told: the fields and answers known so far, by key.

    ``complete`` says that a field not listed is absent (a new execution), rather than unknown.
    """

    id: ExecutionId
    header: Header
    known: Mapping[str, object]
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do next in this decision; the same kinds as ``Continue``, which it becomes when
    the bound is hit.
    """

    kind: str
    plan: Plan
    ref: str
    vector: Vector


class Workspace:
    """See the module."""

    __slots__ = (
        "agenda",
        "answers",
        "attempts",
        "born",
        "children",
        "complete",
        "containers",
        "continues",
        "cut_here",
        "documents",
        "drain",
        "due_at",
        "effects",
        "ended",
        "ended_at",
        "entry",
        "final",
        "forgotten",
        "given",
        "guards",
        "hashes",
        "header",
        "hiding",
        "id",
        "kept",
        "known",
        "limits",
        "logs",
        "next_seq",
        "now_ms",
        "offered",
        "open_attempts",
        "pending",
        "permissive_failures",
        "plan",
        "plans",
        "pointers",
        "queued_before",
        "renewed",
        "reopened",
        "scope",
        "sends",
        "states",
        "status",
        "tail",
        "timers",
        "unresolved",
    )

    def __init__(self, plan: Plan, execution: Execution, now_ms: int, limits: Limits) -> None:
        """Begin with nothing changed."""
        header = execution.header
        self.id, self.plan, self.limits = execution.id, plan, limits
        self.known, self.complete = execution.known, execution.complete
        self.now_ms, self.queued_before = now_ms, 0
        self.header, self.status = header, header.status
        self.next_seq = self.born = header.next_seq
        self.open_attempts, self.containers = header.open_attempts, header.containers
        self.tail, self.drain, self.due_at = header.tail, header.drain, header.due_at
        self.ended_at, self.logs = header.ended_at, list[tuple[int, str]]()
        self.permissive_failures = header.permissive_failures
        self.forgotten, self.final = header.forgotten, header.final
        self.pending, self.cut_here = header.continues, False
        self.agenda: deque[Step] = deque()
        self.attempts: dict[int, Attempt] = {}
        self.documents: dict[str, Document] = {}
        self.pointers: dict[str, int] = {}
        self.hashes: dict[str, str] = {}
        self.hiding: tuple[tuple[JsonObject, ...], Masker] | None = None
        self.states: dict[str, State | None] = {}
        self.offered: dict[int, int] = {}
        self.timers: dict[int, int] = {}
        self.ended: list[int] = []
        self.reopened: list[int] = []
        self.guards: list[ClaimSeen] = []
        self.children: list[NewChild] = []
        self.sends: list[Send] = []
        self.continues: list[Event] = []
        self.effects: dict[str, Order] = {}
        self.answers: list[Answer] = []
        self.plans: dict[str, None] = {}
        self.entry: Entry | None = None
        self.kept: list[Kept] = []
        self.renewed: dict[str, tuple[Attempt, int]] = {}
        self.given: dict[str, JsonObject] = {}
        self.scope: frozenset[str] | None = None
        self.unresolved: dict[str, str] = {}

    # -- reads -----------------------------------------------------------------------------------

    def field(self, name: str) -> object:
        """A stored field, ``None`` when absent; asks for it when it is not known."""
        known = self.known
        if name in known:
            return known[name]
        if self.complete:
            return None
        raise Missing({name: Read(name)})

    def attempt(self, seq: int) -> Attempt | None:
        """The state of an attempt, ``None`` when there is none by that number (or restart forgot
        it).
        """
        changed = self.attempts.get(seq)
        if changed is not None:
            return changed
        if not self.header.first_seq <= seq < self.header.next_seq:
            return None
        return _typed(self.field(f"a:{seq}"), Attempt)

    def claim(self, seq: int) -> ClaimSide:
        """The claim side of an attempt."""
        return _typed(self.field(f"c:{seq}"), ClaimSide) or _NO_CLAIM

    def newest(self, ref: str, vector: Vector | None = None) -> int:
        """The newest attempt of a reference, over all iterations or in one; 0 when there is
        none.
        """
        name = f"r:{ref}" if not vector else f"r:{ref}#{vector}"
        changed = self.pointers.get(name)
        seq = changed if changed is not None else self.field(name)
        if not isinstance(seq, int) or seq < self.header.first_seq:
            return 0
        if vector and self.header.revised and self.plan.is_dag:
            # A loop of a DAG is done again as a whole: what it did before does not exist.
            attempt = self.attempt(seq)
            return seq if attempt and attempt.generation == self.header.generation else 0
        return seq

    def document(self, name: str) -> JsonObject:
        """A document field with its content, fetched from payload storage when it lives there."""
        value = self.raw_document(name)
        if isinstance(value, External):
            return self.payload(value.path)
        return value

    def raw_document(self, name: str) -> Document:
        """A document field as it is stored; an absent one is empty."""
        if name in self.documents:
            return self.documents[name]
        value = self.field(name)
        return value if isinstance(value, (Mapping, External)) else {}

    def payload(self, path: str) -> JsonObject:
        """A document in payload storage; unreadable ones are empty, ``PayloadTooLarge`` apart: what
        was accepted was none such, and somebody has exchanged it.
        """
        value = self.answer(f"payload:{path}", PayloadWanted(path))
        if isinstance(value, Refusal) and value.large:
            raise PayloadTooLarge(value.reason)
        return value if isinstance(value, Mapping) else {}

    def answer(self, key: str, request: Request) -> object:
        """What the executor answered under ``key``; asks when it has not."""
        if key in self.known:
            return self.known[key]
        raise Missing({key: request})

    def together(self, wanted: Iterable[tuple[str, Request]]) -> None:
        """Ask for everything of ``wanted`` that is not known, at once."""
        missing = {
            key: request
            for key, request in wanted
            if key not in self.known and not (self.complete and isinstance(request, Read))
        }
        if missing:
            raise Missing(missing)

    def state(self, name: str, kind: type[_T]) -> _T | None:
        """A join, fork or loop state."""
        value = self.states[name] if name in self.states else self.field(name)
        return _typed(value, kind)

    def plan_of(self, plan_hash: str) -> Plan | None:
        """The execution's plan or a fragment's."""
        if plan_hash == self.plan.hash or plan_hash in self.header.former:
            return self.plan
        plan = self.answer(f"plan:{plan_hash}", PlanWanted(plan_hash))
        return plan if isinstance(plan, Plan) else None

    def fragment_of(self, spot: Spot) -> Plan | None:
        """The fragment that the task at ``spot`` has brought."""
        key = "d:" + spot.key
        brought = self.hashes.get(key) or self.field(key)
        return self.plan_of(brought) if isinstance(brought, str) else None

    def spot_of(self, attempt: Attempt) -> Spot | None:
        """Where an attempt stands; ``None`` when its plan cannot be had."""
        plan = self.plan_of(attempt.plan)
        node = plan.nodes.get(attempt.ref) if plan else None
        return Spot(plan, node, attempt.vector) if plan and node else None

    # -- changes ---------------------------------------------------------------------------------

    def loop_key(self, spot_loops: tuple[str, ...], vector: Vector) -> str | None:
        """The state field of the innermost loop around, ``None`` outside loops."""
        if not spot_loops:
            return None
        outer = vector_prefix(vector, len(spot_loops) - 1)
        return "j:" + place_key(spot_loops[-1], outer)

    def count_open(
        self, loops: tuple[str, ...], vector: Vector, change: int, *, container: bool
    ) -> None:
        """Count an attempt as opened (+1) or ended (-1), in the header and in its loop."""
        if container:
            self.containers += change
        else:
            self.open_attempts += change
        key = self.loop_key(loops, vector)
        if key is not None:
            loop = self.state(key, LoopState)
            if loop is not None:
                self.states[key] = replace(loop, open_attempts=loop.open_attempts + change)

    def put(self, attempt: Attempt) -> None:
        """Keep a new or changed attempt."""
        self.attempts[attempt.seq] = attempt

    def order(self, kind: str, due_ms: int = 0) -> None:
        """Order an effect about this execution; one of a kind waits at a time."""
        effect = f"{self.id}:{kind}"
        self.effects[effect] = Order(id=effect, kind=kind, due_ms=due_ms)

    def decision(self) -> Decision:
        """Everything changed so far, as a value."""
        return made(
            Decision,
            header=self._header(),
            attempts=self.attempts,
            documents=self.documents,
            pointers=self.pointers,
            hashes=self.hashes,
            states=self.states,
            offered=tuple(self.offered.items()),
            ended=tuple(self.ended),
            reopened=tuple(self.reopened),
            timers=tuple(self.timers.items()),
            guards=tuple(self.guards),
            children=tuple(self.children),
            sends=tuple(self.sends),
            continues=tuple(self.continues),
            effects=tuple(self.effects.values()),
            answers=tuple(self.answers),
            plans=tuple(self.plans),
            entry=self.entry,
            kept=tuple(self.kept),
            logs=tuple(self.logs),
        )

    def _header(self) -> Header:
        return changed(
            self.header,
            status=self.status,
            next_seq=self.next_seq,
            open_attempts=self.open_attempts,
            containers=self.containers,
            tail=self.tail,
            drain=self.drain,
            due_at=self.due_at,
            ended_at=self.ended_at,
            permissive_failures=self.permissive_failures,
            forgotten=self.forgotten,
            final=self.final,
            sound=self.header.sound and not any(a.status.failed for a in self.attempts.values()),
            continues=self.pending,
            fragments=self.header.fragments + len(self.hashes),
            updated_at=self.now_ms,
            awaits_admission=self.header.awaits_admission and not self.over,
        )

    def refused(self, kind: str, seq: int, ref: str) -> str | None:
        """What is said of an input (``i``) or output (``o``) that is larger than allowed."""
        for key in (f"oversize:{kind}:{seq}:{ref}", f"oversize:{kind}:{seq}"):
            found = self.known.get(key)
            if isinstance(found, str):
                return found
        return None

    def learn(self, plan: Plan) -> None:
        """Know a fragment from here on, as if it had been read."""
        self.known = {**self.known, f"plan:{plan.hash}": plan}

    @property
    def full(self) -> bool:
        """Whether this decision has made as many attempts as one may, or must end here."""
        return self.cut_here or self.next_seq - self.header.next_seq >= self.limits.attempts

    @property
    def overgrown(self) -> bool:
        """Whether the execution has more attempts than one may."""
        made = self.next_seq - self.header.first_seq
        return made > self.limits.tasks and made - self.forgotten > self.limits.tasks

    @property
    def over(self) -> bool:
        """Whether the execution has ended."""
        return self.status is not WorkflowStatus.RUNNING and self.status.terminal


def _typed(value: object, kind: type[_T]) -> _T | None:
    return value if isinstance(value, kind) else None


__all__ = ["Execution", "JoinState", "Limits", "Refusal", "Spot", "Step", "Workspace"]
