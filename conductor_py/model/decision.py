"""What decide wants done: a value. The executor encodes it and commits it whole.

Field names are those of ``ports.store``. Nothing here has an effect by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from conductor_py.model.event import Event
from conductor_py.model.execution import Attempt, Document, Header, Meta, State, Watches
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSeen:
    """The claim and its end, on which a decision to end an attempt by time rests."""

    seq: int
    claim: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChild:
    """An execution to be started with this commit.

    With ``reports`` its input gets the execution that starts it, whole and as this commit leaves
    it, as ``failedWorkflow``.
    """

    id: str
    header: Header
    input: Document
    variables: JsonObject
    domains: Mapping[str, str]
    meta: Meta
    watches: Watches | None = None
    reports: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """An event for another execution: with the same commit in the same partition, else by an effect
    (``engine.effects.posts``), late and perhaps twice.
    """

    execution: str
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An effect to be done outside, at least once; the same id again replaces what waits under
    it.
    """

    id: str
    kind: str
    due_ms: int = 0
    arguments: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An output to be used again under its key; losing it loses nothing but work."""

    key: str
    output: JsonObject
    ttl_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A new execution asks to be admitted under a workflow rate limit; with ``reject`` it does not
    wait.
    """

    key: str
    limit: int
    reject: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of an operation. ``error`` is an error code of ``errors`` or empty."""

    operation: str
    error: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """All that changes with one commit.

    ``attempts`` are the states of new and changed attempts by sequence number; ``documents`` other
    fields whose value is a document (``i:``, ``o:``, ``vars``, ``output``); ``pointers`` the ``r:``
    fields; ``hashes`` the ``d:`` fields; ``states`` the rest, ``None`` to remove. ``offered`` are
    (seq, due ms) that want a queue entry; the executor picks the shard. ``timers`` are (seq, due
    ms), 0 removes. ``logs`` are (seq, line) of scripts.
    """

    header: Header
    attempts: Mapping[int, Attempt]
    documents: Mapping[str, Document]
    pointers: Mapping[str, int]
    hashes: Mapping[str, str]
    states: Mapping[str, State | None]
    offered: tuple[tuple[int, int], ...]
    ended: tuple[int, ...]
    reopened: tuple[int, ...]
    timers: tuple[tuple[int, int], ...]
    guards: tuple[ClaimSeen, ...]
    children: tuple[NewChild, ...]
    sends: tuple[Send, ...]
    continues: tuple[Event, ...]
    effects: tuple[Order, ...]
    answers: tuple[Answer, ...]
    plans: tuple[str, ...]
    entry: Entry | None = None
    kept: tuple[Kept, ...] = ()
    logs: tuple[tuple[int, str], ...] = ()
