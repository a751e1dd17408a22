"""Stored fields of an execution <-> model. Short names, defaults left out, format number in the
header.

State that scripts read (``h``, ``a:``) is flat JSON. Documents are JSON objects as the user sent
them, or ``@`` and a path in payload storage. A header of an unknown format is left alone
(``UnknownFormat``).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from operator import attrgetter, ne
from typing import Any, TypeAlias

import orjson

from conductor_py.codec.containers import dump_gate, dump_join, dump_loop, load_container, load_gate
from conductor_py.codec.interventions import (
    dump_intervention,
    load_postponed,
    load_skip,
    load_watches,
)
from conductor_py.codec.message_queue import dump_message_queue, load_message_queue
from conductor_py.codec.nesting import dump_nested, plain
from conductor_py.codec.recovery import (
    dump_permissive,
    dump_walk,
    load_permissive,
    load_walk,
)
from conductor_py.errors import ConductorError
from conductor_py.model.chains import NO_CHAIN, chain_in
from conductor_py.model.execution import (
    FORMAT,
    Attempt,
    ClaimSide,
    Document,
    Ending,
    External,
    GateState,
    Header,
    JoinState,
    LoopState,
    MessageQueue,
    Meta,
    PermissiveFailures,
    Postponed,
    Skip,
    State,
    Vector,
    Walk,
    Watches,
)
from conductor_py.model.status import TaskStatus, WorkflowStatus
from conductor_py.records import made

_Fields = dict[str, Any]
_KNOWN_FORMATS = frozenset({FORMAT})


class UnknownFormat(ConductorError):
    """The execution was stored by another version of the engine; it is left alone."""

    code = "UNKNOWN_FORMAT"


def dump_json(value: object) -> bytes:
    """Serialise a JSON value of the model."""
    return orjson.dumps(value, default=plain)


# -- documents -------------------------------------------------------------------------------------


def dump_document(document: Document) -> bytes:
    """Store a document; ``TypeError`` when it is no JSON, or nested too deeply."""
    if isinstance(document, External):
        return b"@" + document.path.encode()
    return dump_nested(document)


def load_document(stored: bytes | None) -> Document:
    """Read a document; an absent one is empty."""
    if not stored:
        return {}
    if stored[:1] == b"@":
        return External(stored[1:].decode())
    found: Document = orjson.loads(stored)
    return found


# -- tables: (attribute, stored name, default); what equals its default is left out ----------------

_HEADER: tuple[tuple[str, str, Any], ...] = (
    ("correlation_id", "corr", None),
    ("priority", "prio", 0),
    ("parent", "parent", None),
    ("parent_seq", "pseq", 0),
    ("depth", "depth", 0),
    ("open_attempts", "open", 0),
    ("containers", "cont", 0),
    ("tail", "tail", False),
    ("due_at", "due", 0),
    ("drain", "drain", 0),
    ("permissive_failures", "perm", 0),
    ("continues", "more", 0),
    ("fragments", "frag", 0),
    ("has_domains", "dom", False),
    ("updated_at", "upd", 0),
    ("ended_at", "end", 0),
    ("last_retried_at", "retried", 0),
    ("postponed", "held", 0),
    ("taken_up", "taken", 0),
    ("skips", "skips", False),
    ("watched", "watched", 0),
    ("forget", "forget", False),
    ("admission_key", "akey", ""),
    ("admission_limit", "alim", 0),
    ("awaits_admission", "await", False),
    ("admitted_under", "under", ""),
    ("walk", "walk", 0),
    ("surveyed", "surv", False),
    ("revised", "rev", False),
    ("former", "former", ()),
    ("notices", "told", 0),
    ("forgotten", "gone", 0),
    ("final", "final", 0),
    ("sound", "ok", False),
    ("business_at", "biz", 0),
    ("zone", "zone", ""),
    ("parents_word", "word", 0),
)

_ATTEMPT: tuple[tuple[str, str, Any], ...] = (
    ("first_scheduled_at", "first", 0),
    ("retry_count", "rc", 0),
    ("lost", "lost", 0),
    ("retried_seq", "prev", 0),
    ("superseded", "sup", False),
    ("domain", "dom", ""),
    ("poll_by", "pollby", 0),
    ("start_at", "start", 0),
    ("wait_until", "wait", 0),
    ("started_at", "began", 0),
    ("ended_at", "end", 0),
    ("reason", "why", None),
    ("worker", "w", ""),
    ("callback_after_s", "cb", 0),
    ("delay_s", "delay", 0),
    ("child", "child", None),
    ("followed", "foll", False),
    ("alerted", "alerted", 0),
    ("cache_key", "ckey", ""),
    ("async_complete", "async", False),
    ("ahead", "ahead", False),
    ("redo", "redo", 0),
    ("tells_start", "tell", False),
    ("root", "root", 0),
    ("recalled", "recall", 0),
    ("queued_at", "queued", 0),
)

_Table: TypeAlias = tuple[tuple[str, str, Any], ...]


def _reader_of_others(table: _Table) -> Callable[[object], _Fields]:
    """Make a reader of what a record has in the place of the table's defaults."""
    read = attrgetter(*(attribute for attribute, _, _ in table))
    names = tuple(stored for _, stored, _ in table)
    defaults = tuple(default for _, _, default in table)

    def others(record: object) -> _Fields:
        values = read(record)
        return dict(compress(zip(names, values, strict=True), map(ne, values, defaults)))

    return others


_header_others = _reader_of_others(_HEADER)
_attempt_others = _reader_of_others(_ATTEMPT)
_HEADER_NAMES = {stored: attribute for attribute, stored, _ in _HEADER}
_ATTEMPT_NAMES = {stored: attribute for attribute, stored, _ in _ATTEMPT}


def dump_header(header: Header) -> bytes:
    """Store the hot header."""
    fields: _Fields = {
        "f": header.format,
        "plan": header.plan,
        "name": header.name,
        "ver": header.version,
        "st": header.status.value,
        "gen": header.generation,
        "home": header.home,
        "created": header.created_at,
        "first_seq": header.first_seq,
        "next_seq": header.next_seq,
    }
    fields |= _header_others(header)
    if header.chain is not NO_CHAIN:
        fields |= header.chain.members()
    if header.former:
        fields["former"] = " ".join(header.former)
    return orjson.dumps(fields)


def load_header(stored: bytes) -> Header:
    """Read the hot header."""
    fields: _Fields = orjson.loads(stored)
    if fields["f"] not in _KNOWN_FORMATS:
        raise UnknownFormat
    more = {_HEADER_NAMES[name]: fields[name] for name in fields if name in _HEADER_NAMES}
    if "chain" in fields or "root" in fields:
        more["chain"] = chain_in(fields)
    if "former" in more:
        more["former"] = tuple(more["former"].split())
    return made(
        Header,
        format=fields["f"],
        plan=fields["plan"],
        name=fields["name"],
        version=fields["ver"],
        status=_WORKFLOW_STATUS[fields["st"]],
        generation=fields["gen"],
        home=fields["home"],
        created_at=fields["created"],
        first_seq=fields["first_seq"],
        next_seq=fields["next_seq"],
        **more,
    )


def dump_attempt(attempt: Attempt, shard: str) -> bytes:
    """Store the state of an attempt, offered in ``shard``."""
    fields: _Fields = {
        "ref": attempt.ref,
        "it": attempt.vector,
        "st": attempt.status.value,
        "gen": attempt.generation,
        "def": attempt.definition,
        "plan": attempt.plan,
        "q": attempt.queue,
        "sh": shard,
        "score": attempt.score,
        "rt": attempt.response_timeout_ms,
        "tt": attempt.timeout_ms,
        "deadline": attempt.deadline,
        "lim": attempt.limit,
        "rl": attempt.rate,
        "rw": attempt.rate_window_ms,
        "type": attempt.type,
        "sched": attempt.scheduled_at,
    }
    fields |= _attempt_others(attempt)
    return orjson.dumps(fields)


def may_have_failed(stored: bytes) -> bool:
    """Whether an attempt is worth reading for one who looks for those that failed."""
    return b'"FAILED' in stored or b'"TIMED_OUT' in stored


def load_attempt(seq: int, stored: bytes) -> Attempt:
    """Read the state of an attempt."""
    fields: _Fields = orjson.loads(stored)
    more = {_ATTEMPT_NAMES[name]: fields[name] for name in fields if name in _ATTEMPT_NAMES}
    return made(
        Attempt,
        seq=seq,
        ref=fields["ref"],
        vector=Vector(fields["it"]),
        plan=fields["plan"],
        type=fields["type"],
        definition=fields["def"],
        status=_TASK_STATUS[fields["st"]],
        generation=fields["gen"],
        scheduled_at=fields["sched"],
        queue=fields["q"],
        shard=fields["sh"],
        score=fields["score"],
        response_timeout_ms=fields["rt"],
        timeout_ms=fields["tt"],
        deadline=fields["deadline"],
        limit=fields["lim"],
        rate=fields["rl"],
        rate_window_ms=fields["rw"],
        **more,
    )


def load_claim(stored: bytes) -> ClaimSide:
    """Read the claim side of an attempt; only the store writes it."""
    fields: _Fields = orjson.loads(stored)
    return made(
        ClaimSide,
        claim=int(fields.get("k", 0)),
        held=bool(fields.get("held", 0)),
        until=int(fields.get("until", 0)),
        leased=bool(fields.get("leased", 0)),
        closed=bool(fields.get("closed", 0)),
        worker=fields.get("w") or "",
        polls=int(fields.get("polls", 0)),
        first_at=int(fields.get("first", 0)),
        updated_at=int(fields.get("upd", 0)),
    )


_STATES: dict[type, Callable[[Any], _Fields]] = {
    JoinState: dump_join,
    LoopState: dump_loop,
    GateState: dump_gate,
    Walk: dump_walk,
    PermissiveFailures: dump_permissive,
    MessageQueue: dump_message_queue,
    Postponed: dump_intervention,
    Skip: dump_intervention,
    Watches: dump_intervention,
    Meta: lambda meta: {
        "by": meta.created_by,
        "event": meta.event,
        "idem": meta.idempotency_key,
        "task": meta.parent_task_ref,
    },
    Ending: lambda ending: {"why": ending.reason, "task": ending.failed_task},
}


def dump_state(state: State) -> bytes:
    """Store a join or loop state, the meta data or the ending, or what is rarely there."""
    return dump_json(_STATES[type(state)](state))


def load_meta(stored: bytes | None) -> Meta:
    """Read the meta data."""
    fields: _Fields = orjson.loads(stored) if stored else {}
    return Meta(
        created_by=fields.get("by"),
        event=fields.get("event"),
        idempotency_key=fields.get("idem"),
        parent_task_ref=fields.get("task"),
    )


def load_ending(stored: bytes | None) -> Ending:
    """Read the ending."""
    fields: _Fields = orjson.loads(stored) if stored else {}
    return Ending(reason=fields.get("why"), failed_task=fields.get("task"))


# -- any field by its name -------------------------------------------------------------------------

_WORKFLOW_STATUS = {status.value: status for status in WorkflowStatus}
_TASK_STATUS = {status.value: status for status in TaskStatus}
_LOADERS: dict[str, Callable[[bytes], object]] = {
    "c": load_claim,
    "i": load_document,
    "o": load_document,
    "r": int,
    "j": load_container,
    "g": load_gate,
    "d": bytes.decode,
    "m": load_document,
    "w": load_postponed,
    "s": load_skip,
}
_WHOLE: dict[str, Callable[[bytes], object]] = {
    "h": load_header,
    "input": load_document,
    "output": load_document,
    "vars": load_document,
    "domains": load_document,
    "meta": load_meta,
    "end": load_ending,
    "watch": load_watches,
    "walk": load_walk,
    "redo": load_document,
    "by:append": load_document,
    "messages": load_message_queue,
    "permissive": load_permissive,
}


def load_field(name: str, stored: bytes | None) -> object:
    """Read any field by its name; ``None`` when it is absent."""
    if stored is None:
        return None
    whole = _WHOLE.get(name)
    if whole is not None:
        return whole(stored)
    kind = name[:1]
    if kind == "a":
        return load_attempt(int(name[2:]), stored)
    loader = _LOADERS.get(kind)
    return loader(stored) if loader else stored
