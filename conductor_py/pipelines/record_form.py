"""Records and notes as JSON, in the one form that a hash is taken of.

The form is versioned (``"v": 1``, or 2 where intervals are packed). What has its default is left
out, so that a record grows only with what happened. ``RecordUnreadable`` refuses anything else:
going on from half a record would lose or repeat data. A record's hash does not depend on what is
packed in it: what a sink proved stays proven.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from conductor_py.pipelines.intervals import NOTHING, Intervals
from conductor_py.pipelines.record import (
    Blame,
    Decided,
    Note,
    NoteKind,
    PipelineState,
    Record,
    SourceState,
    SplitDescriptor,
)

FORM: Final = 1
"""The version in which everything is written out."""
PACKED_FORM: Final = 2
"""The version of what has packed intervals."""

_Made = TypeVar("_Made")
_PACKABLE: Final = ("done", "quarantined")
_PLAIN: Final = ("lookups", "keyed_state", "exchanges", "node_hashes", "counters")


class RecordUnreadable(ValueError):
    """What is kept of a pipeline is not a record of this version."""


def canonical(document: object) -> bytes:
    """Write JSON as the same bytes whenever it is equal: sorted keys, no blanks, UTF-8.

    ``ValueError`` for numbers that JSON has not, ``TypeError`` for what JSON has not.
    """
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def record_hash(record: Record) -> str:
    """Return the hash that a sink's evidence carries: SHA-256 of the canonical form, in hex."""
    return hashlib.sha256(canonical(_written(record, str))).hexdigest()


def record_to_json(record: Record) -> dict[str, Any]:
    """Write a record, in as little room as it needs."""
    return _written(record, Intervals.packed)


def _written(record: Record, write: Callable[[Intervals], str]) -> dict[str, Any]:
    sources = {name: _source(each, write) for name, each in record.sources.items()}
    document: dict[str, Any] = {
        "v": FORM,
        "pipeline": record.pipeline,
        "plan_hash": record.plan_hash,
        "epoch": record.epoch,
        "token": record.token,
        "state": str(record.state),
        "published": record.published,
    }
    document |= {name: dict(value) for name in _PLAIN if (value := getattr(record, name))}
    if sources:
        document["sources"] = sources
    if any(each.get(part, "").startswith("z") for each in sources.values() for part in _PACKABLE):
        document["v"] = PACKED_FORM
    if record.decided is not None:
        sinks = {name: dict(staged) for name, staged in record.decided.sinks.items()}
        document["decided"] = {"epoch": record.decided.epoch, "sinks": sinks}
        if record.decided.back_to is not None:
            document["decided"]["back_to"] = record.decided.back_to
    return document | _given(
        stage=record.stage, reason=record.reason, taken_back=str(record.taken_back)
    )


def record_from_json(document: Mapping[str, Any]) -> Record:
    """Read a record; ``RecordUnreadable`` says why it is none."""
    return _read(document, "record", _record)


def note_to_json(note: Note) -> dict[str, Any]:
    """Write a note of the write-ahead log."""
    document: dict[str, Any] = {
        "v": FORM,
        "kind": str(note.kind),
        "epoch": note.epoch,
        "token": note.token,
    }
    if note.attempt != 1:
        document["attempt"] = note.attempt
    return document | _given(
        at_ms=note.at_ms,
        splits={name: str(ords) for name, ords in note.splits.items()},
        reason=note.reason,
        pages={name: [split_to_json(each) for each in page] for name, page in note.pages.items()},
        enumerators={name: dict(each) for name, each in note.enumerators.items()},
        complete=list(note.complete),
    )


def note_from_json(document: Mapping[str, Any]) -> Note:
    """Read a note; ``RecordUnreadable`` says why it is none."""
    return _read(document, "note", _note)


def split_to_json(split: SplitDescriptor) -> dict[str, Any]:
    """Write a split, as pages and split tables hold it."""
    document = {"ord": split.ord, "descriptor": dict(split.descriptor)}
    return document | _given(bytes=split.bytes, rows=split.rows)


def split_from_json(document: Mapping[str, Any]) -> SplitDescriptor:
    """Read a split. Raises ``KeyError`` and ``TypeError`` when it is none."""
    return SplitDescriptor(
        ord=document["ord"],
        descriptor=document["descriptor"],
        bytes=document.get("bytes", 0),
        rows=document.get("rows", 0),
    )


def _source(state: SourceState, write: Callable[[Intervals], str]) -> dict[str, Any]:
    blamed = {
        str(number): [each.failures, each.deaths] for number, each in sorted(state.blame.items())
    }
    document = _given(
        complete=state.complete,
        tables=list(state.tables),
        pages=[split_to_json(each) for each in state.pages],
        done=write(state.done),
        quarantined=write(state.quarantined),
        blame=blamed,
        enumerator=dict(state.enumerator),
        schema=state.schema,
    )
    if state.event_time is not None:
        document["event_time"] = state.event_time
    return {"discovered": state.discovered, **document}


def source_from_json(document: Mapping[str, Any]) -> SourceState:
    """Read the account of one source. Raises ``KeyError``, ``TypeError`` and ``ValueError``."""
    blamed = document.get("blame", {}).items()
    return SourceState(
        discovered=document["discovered"],
        complete=document.get("complete", False),
        tables=tuple(document.get("tables", ())),
        pages=_page(document.get("pages", ())),
        done=_intervals(document, "done"),
        quarantined=_intervals(document, "quarantined"),
        blame={int(at): Blame(failures=each[0], deaths=each[1]) for at, each in blamed},
        enumerator=document.get("enumerator", {}),
        schema=document.get("schema"),
        event_time=document.get("event_time"),
    )


def _record(document: Mapping[str, Any]) -> Record:
    decided = document.get("decided")
    sources = document.get("sources", {})
    if decided:
        back_to = decided.get("back_to")
        decided = Decided(epoch=decided["epoch"], sinks=decided["sinks"], back_to=back_to)
    return Record(
        pipeline=document["pipeline"],
        plan_hash=document["plan_hash"],
        epoch=document["epoch"],
        token=document["token"],
        state=PipelineState(document["state"]),
        stage=document.get("stage", 0),
        sources={name: source_from_json(each) for name, each in sources.items()},
        decided=decided,
        published=document["published"],
        taken_back=_intervals(document, "taken_back"),
        reason=document.get("reason", ""),
        **{name: document.get(name, {}) for name in _PLAIN},
    )


def _note(document: Mapping[str, Any]) -> Note:
    splits, pages = document.get("splits", {}), document.get("pages", {})
    return Note(
        kind=NoteKind(document["kind"]),
        epoch=document["epoch"],
        token=document["token"],
        splits={name: Intervals.parse(text) for name, text in splits.items()},
        attempt=document.get("attempt", 1),
        at_ms=document.get("at_ms"),
        reason=document.get("reason", ""),
        pages={name: _page(page) for name, page in pages.items()},
        enumerators=document.get("enumerators", {}),
        complete=tuple(document.get("complete", ())),
    )


def _read(
    document: Mapping[str, Any], what: str, make: Callable[[Mapping[str, Any]], _Made]
) -> _Made:
    try:
        if (version := document.get("v")) not in (FORM, PACKED_FORM):
            raise RecordUnreadable(
                f"the {what} has version {version!r}, this release reads up to {PACKED_FORM}"
            )
        return make(document)
    except RecordUnreadable:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise RecordUnreadable(f"the {what} is damaged: {error!r}") from error


def _given(**members: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    return {name: value for name, value in members.items() if value}


def _page(listed: Sequence[Mapping[str, Any]]) -> tuple[SplitDescriptor, ...]:
    return tuple(split_from_json(each) for each in listed)


def _intervals(document: Mapping[str, Any], name: str) -> Intervals:
    return Intervals.parse(document[name]) if name in document else NOTHING
