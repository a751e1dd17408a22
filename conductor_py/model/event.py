"""Events: what happened to an execution since it was last decided. They wait in its inbox,
numbered.

An event names an attempt by sequence number (0: none). Events about a child or a continuation carry
a generation and count only in that generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conductor_py.model.execution import Document
from conductor_py.model.json import JsonValue
from conductor_py.model.status import TaskStatus, WorkflowStatus
from conductor_py.records import dataclass

RUN: Final = "run"
"""The kind of continuation that asks for the script of a task, which is open and seen to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A child was created by its parent's commit and wants its first decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultReported:
    """A worker, or an operator, reported a result; the output is already stored as the
    attempt's.
    """

    seq: int
    status: TaskStatus
    worker: str = ""
    reason: str | None = None
    callback_after_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlinePassed:
    """The timer of an attempt fired: the claim (0: none) and its end as the firing saw them."""

    seq: int
    claim: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded:
    """The child that attempt ``seq`` waits for has ended."""

    seq: int
    child: str
    child_generation: int
    status: WorkflowStatus
    reason: str | None
    output: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRevived:
    """The child that attempt ``seq`` waited for, or one that took its place, has begun a new
    generation. ``through`` is the execution above it, up to this one, by whose id somebody has
    asked for that; empty: by its own.
    """

    seq: int
    child: str
    child_generation: int
    through: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue:
    """The rest of a decision that was cut; void in another generation.

    ``kind`` is ``open`` (open a reference), ``branches`` (go on creating a fork's branches),
    ``loop`` (look at a loop) or ``drain`` (clean up after a cut end); ``plan``, ``ref`` and
    ``vector`` say where.
    """

    generation: int
    kind: str
    plan: str = ""
    ref: str = ""
    vector: str = ""

    @property
    def counted(self) -> bool:
        """Whether it is a piece of what is under way, whose end others wait for."""
        return self.kind not in {RUN, "drain"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A verb of the API (terminate, pause, …) or of a parent (terminate); ``id`` is where the
    answer goes.
    """

    id: str
    name: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The store has admitted an execution that asked, or (``admitted`` false) turned it away."""

    admitted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A worker has taken an attempt that tells when it starts, for the first time."""

    seq: int


Event = (
    Started
    | Admitted
    | ResultReported
    | DeadlinePassed
    | ChildEnded
    | ChildRevived
    | Continue
    | Operation
    | Claimed
)
