"""The claim side of an attempt and what is read from its state: who holds it, until when, whether
it is open.

The bytes are those that the Redis scripts write (``lua/include/claim.lua``), so a snapshot looks
the same everywhere.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Final, NamedTuple

import orjson

from conductor_py.adapters.memory.space import Execution
from conductor_py.model.priorities import QUEUED_AT_ONCE
from conductor_py.records import dataclass

OPEN: Final = frozenset({"SCHEDULED", "IN_PROGRESS"})
_HOLDERS_KEPT: Final = 10


@dataclass(slots=True, kw_only=True)
class ClaimSide:
    """The fields of ``c:<seq>``, in the order in which they are written."""

    k: int = 0
    held: int = 0
    until: int = 0
    leased: int = 0
    closed: int = 0
    done: int = 0
    permit: int = 0
    polls: int = 0
    first: int = 0
    upd: int = 0
    cb: int = 0
    at: int = 0
    w: str = ""
    prev: str = ""

    def held_before(self, worker: str) -> bool:
        """Tell whether ``worker`` was one of the holders before the present one."""
        return worker in self.prev.split("\n")

    def hand_to(self, worker: str) -> None:
        """Make ``worker`` the holder and remember the one before."""
        if self.w != worker:
            self._note_holder()
        self.w = worker

    def free(self) -> None:
        """Take the claim from its holder, whose result will be refused."""
        self._note_holder()
        self.k, self.w = self.k + 1, ""

    def _note_holder(self) -> None:
        if self.w and not self.held_before(self.w):
            before = [self.w, *self.prev.split("\n")] if self.prev else [self.w]
            self.prev = "\n".join(before[:_HOLDERS_KEPT])

    def encode(self) -> bytes:
        """Write it as the scripts do."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
        return text.replace("/", "\\/").encode()


def claim_side(execution: Execution, seq: int) -> ClaimSide:
    """Read the claim side of an attempt, a fresh one when it has none."""
    text = execution.fields.get(f"c:{seq}")
    return ClaimSide() if text is None else ClaimSide(**orjson.loads(text))


class Attempt(NamedTuple):
    """What the store reads of ``a:<seq>``."""

    status: str
    generation: int | None
    type: str
    definition: str
    queue: str
    shard: str
    score: float
    response_ms: int
    timeout_ms: int
    deadline: int
    limit: int
    rate: int
    window_ms: int
    plan: str
    ref: str
    vector: str
    tells_start: bool
    root: int

    @property
    def lane(self) -> tuple[str, str]:
        """Its queue and shard."""
        return self.queue, self.shard

    @property
    def rank(self) -> int:
        """Its score as a whole number."""
        return rank_of(self.score)


def rank_of(score: float) -> int:
    """Write the score of a queue entry as a whole number."""
    return int(score * QUEUED_AT_ONCE)


def attempt_of(text: bytes) -> Attempt:
    """Read the state of an attempt."""
    a = orjson.loads(text)
    return Attempt(
        status=a.get("st", ""),
        generation=a.get("gen"),
        type=a.get("type", ""),
        definition=a.get("def", ""),
        queue=a.get("q", ""),
        shard=a.get("sh", ""),
        score=a.get("score", 0),
        response_ms=a.get("rt", 0),
        timeout_ms=a.get("tt", 0),
        deadline=a.get("deadline", 0),
        limit=a.get("lim", 0),
        rate=a.get("rl", 0),
        window_ms=a.get("rw", 0),
        plan=a.get("plan", ""),
        ref=a.get("ref", ""),
        vector=a.get("it", ""),
        tells_start=bool(a.get("tell")),
        root=a.get("root", 0),
    )


def is_open(execution: Execution, seq: int, attempt: Attempt) -> bool:
    """Tell whether the attempt may still change."""
    return (
        not execution.terminal
        and attempt.status in OPEN
        and attempt.generation == execution.generation
        and seq >= execution.first_seq()
    )


def nearest_deadline(attempt: Attempt, claim: ClaimSide) -> int:
    """Tell the nearest deadline of a held attempt, 0 when there is none."""
    deadlines = [claim.until, attempt.deadline]
    if attempt.timeout_ms > 0 and claim.first > 0:
        deadlines.append(claim.first + attempt.timeout_ms)
    return min((at for at in deadlines if at > 0), default=0)
