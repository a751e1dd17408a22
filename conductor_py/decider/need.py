"""What decide lacks: requests as data, each under a key. The executor fetches and calls again with
the answers.

Keys name what is asked, so that a second call with the answers finds them: a stored field by its
name, everything else by kind and content. Answers go into
``Execution.known`` under the same key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.execution import Document
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.requests import TASK_POST
from conductor_py.model.status import WorkflowStatus
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True)
class Read:
    """A read of the store (``ports.store``); answers are the fields it brings, absent ones as
    ``None``.
    """

    read: str


@dataclass(frozen=True, slots=True)
class PlanWanted:
    """A stored plan by hash. Answer: ``Plan``, or ``None`` when the store has lost it."""

    hash: str


@dataclass(frozen=True, slots=True)
class PayloadWanted:
    """A document in payload storage. Answer: the JSON object, or ``Refusal``."""

    path: str


@dataclass(frozen=True, slots=True)
class ScriptWanted:
    """A script to run with ``$`` bound to ``input``. Answer: ``Evaluated`` or ``Refusal``; for a
    task that is ``opening`` also ``Later``.
    """

    evaluator: str
    expression: str
    input: JsonObject
    opening: bool = False


@dataclass(frozen=True, slots=True)
class ChildWanted:
    """The plan of a sub-workflow, registered (``version`` ``None``: latest) or inline; of a DAG
    only ``nodes``, when given, with what ``mode`` says. Answer: ``Plan`` or ``Refusal``.
    """

    name: str
    version: int | None = None
    inline: WorkflowDef | JsonObject | None = None
    nodes: tuple[str, ...] = ()
    mode: str = TASK_POST


@dataclass(frozen=True, slots=True)
class FragmentWanted:
    """Tasks that come from data, to be compiled as a fragment below ``anchor`` of the plan
    ``parent``.

    ``tasks`` are WorkflowTask JSON objects; registered task definitions are embedded by name where
    none is given. ``joins`` are those that wait for all of them; ``fork`` tells the branches of a
    fork from the task that a dynamic task resolved to. Answer: ``Plan`` or ``Refusal``.
    """

    parent: str
    anchor: str
    loops: tuple[str, ...]
    joins: tuple[str, ...]
    fork: bool
    tasks: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class DomainWanted:
    """Which domain of a preference list has an active worker for a task type. Answer: the domain,
    ``""`` for none.
    """

    task_type: str
    preferences: str


@dataclass(frozen=True, slots=True)
class ChildStateWanted:
    """How an execution stands, of whatever partition, brought back from the archive if need be.
    Answer: ``ChildState``, or ``None`` when it is gone.
    """

    child: str


@dataclass(frozen=True, slots=True)
class PresenceWanted:
    """Whether an execution, of whatever partition, is in the store, brought back from the archive
    if need be. Answer: ``True``, or anything else.
    """

    execution: str


@dataclass(frozen=True, slots=True)
class ChildState:
    """How a child stands: ``output`` and ``reason`` of its end, when it has ended. One that
    ``leaves`` is being deleted.
    """

    status: WorkflowStatus
    generation: int
    reason: str | None
    output: Document
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class SinkWanted:
    """Whether messages can be published by a provider. Answer: ``True``, or ``Refusal``. No task
    tells of a ``notice`` that is refused.
    """

    provider: str
    notice: bool = False


@dataclass(frozen=True, slots=True)
class ValidationWanted:
    """Whether a document satisfies a JSON Schema. Answer: ``True``, or ``Refusal`` with what is
    wrong.
    """

    schema: JsonObject
    document: JsonObject


@dataclass(frozen=True, slots=True)
class CachedWanted:
    """The output that is kept under a key. Answer: ``Evaluated``, or ``None`` when none is."""

    key: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The executor's answer when what was asked cannot be had: a sentence for the task's reason.

    ``terminal`` says that trying again would not help, ``large`` that it is there and has more than
    may be read; ``lines`` are what a script has printed before it failed.
    """

    reason: str
    terminal: bool = True
    large: bool = False
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Later:
    """A script takes long: its task is to be seen running before it is asked for again."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The value of a script, and the lines that it has printed."""

    value: JsonValue
    lines: tuple[str, ...] = ()


Request = (
    Read
    | PlanWanted
    | PayloadWanted
    | ScriptWanted
    | ChildWanted
    | FragmentWanted
    | DomainWanted
    | ValidationWanted
    | CachedWanted
    | SinkWanted
    | ChildStateWanted
    | PresenceWanted
)


def digest(asked: object) -> str:
    """Name what is asked by its content (a JSON value)."""
    text = json.dumps(asked, default=_plain, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


@dataclass(frozen=True, slots=True)
class Need:
    """Everything found missing in one pass.

    ``rounds`` is how many steps of the agenda were complete before the first that was given up; a
    caller that has asked often enough may decide on those alone (``Limits.rounds``).
    """

    requests: Mapping[str, Request]
    rounds: int = 0

    @property
    def slow(self) -> bool:
        """Whether something is asked that may take as long as a lease."""
        return any(isinstance(r, (ScriptWanted, PayloadWanted)) for r in self.requests.values())


class Missing(Exception):
    """Raised inside the decider to give up a step whose inputs are not known yet."""

    def __init__(self, requests: Mapping[str, Request]) -> None:
        """Carry what is missing."""
        super().__init__()
        self.requests = requests
