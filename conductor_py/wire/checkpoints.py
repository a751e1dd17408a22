"""Bodies and answers about what long tasks keep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.checkpoints import KeptPart, KeptPlace, Past, Savepoint, Wanted
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass
from conductor_py.wire.fields import (
    Flag,
    Payload,
    Text,
    Whole,
    WireField,
    WireSchema,
    load,
)
from conductor_py.wire.parameters import wrong_segment

RETAINED: Final = 20
"""How many records stay in a part's history unless the worker says otherwise."""
_MOST_RETAINED: Final = 100
_MOST_NOTES: Final = 100
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAMED: Final = "must be 1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit"
MOST_EPOCH: Final = 2**50
"""The largest number of an epoch."""

Json = dict[str, Any]


class _Name(Text):
    form: ClassVar[Mapping[str, Any]] = {"type": "string", "pattern": f"^{_NAME.pattern}$"}

    def load(self, value: Any) -> str:  # noqa: ANN401
        text = super().load(value)
        if not _NAME.fullmatch(text):
            raise ValueError(_NAMED)
        return text


class Objects(WireField):
    """A list of JSON objects whose content is the user's."""

    form: ClassVar[Mapping[str, Any]] = {"type": "array", "items": {"type": "object"}}

    def load(self, value: Any) -> list[Any]:  # noqa: ANN401
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            message = "must be a list of objects"
            raise ValueError(message)
        return value


class _Notes(Objects):
    form: ClassVar[Mapping[str, Any]] = {
        **Objects.form,
        "minItems": 1,
        "maxItems": _MOST_NOTES,
    }

    def load(self, value: Any) -> list[Any]:  # noqa: ANN401
        found = super().load(value)
        if not 1 <= len(found) <= _MOST_NOTES:
            message = f"must hold 1 to {_MOST_NOTES} objects"
            raise ValueError(message)
        return found


# -- what a worker sends ---------------------------------------------------------------------------


class AcquireCheckpointsRequestForm(WireSchema):
    """Take hold of what a task keeps."""

    claim_token = Whole(required=True, least=1)


class AppendNotesRequestForm(WireSchema):
    """Notes for the write-ahead log; with ``epoch`` and ``position`` it can be sent again."""

    claim_token = Whole(required=True, least=1)
    notes = _Notes(required=True)
    epoch = Whole(least=0, most=MOST_EPOCH)
    position = Whole(least=0)


class PutCheckpointRequestForm(WireSchema):
    """A record that replaces the one of ``expectedEpoch``; its ``epoch`` is that or one more."""

    claim_token = Whole(required=True, least=1)
    expected_epoch = Whole(required=True, least=0, most=MOST_EPOCH)
    epoch = Whole(required=True, least=0, most=MOST_EPOCH)
    record = Payload(required=True)
    retain = Whole(least=1, most=_MOST_RETAINED)


# -- what an operator sends ------------------------------------------------------------------------


class StopTaskRequestForm(WireSchema):
    """Stop a long task; ``savepoint`` names what it keeps by then, ``now`` drops what is under
    way.
    """

    savepoint = _Name()
    now = Flag()


class SavepointRequestForm(WireSchema):
    """Give the newest records of a task a name, under which they stay."""

    name = _Name(required=True)


class ResumeTaskRequestForm(WireSchema):
    """Let a task run on: from its newest records, from a savepoint, or from an epoch of a part;
    ``rewind`` allows what came after an older record to be taken back.
    """

    savepoint = _Name()
    epoch = Whole(least=0, most=MOST_EPOCH)
    part = _Name()
    rewind = Flag()


_ACQUIRE, _APPEND, _PUT = (
    AcquireCheckpointsRequestForm(),
    AppendNotesRequestForm(),
    PutCheckpointRequestForm(),
)
_STOP, _SAVE, _RESUME = StopTaskRequestForm(), SavepointRequestForm(), ResumeTaskRequestForm()
FORMS: tuple[WireSchema, ...] = (_ACQUIRE, _APPEND, _PUT, _STOP, _SAVE, _RESUME)
"""The forms of this module, for the published schemas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """Read from a request to append notes."""

    token: int
    notes: list[JsonObject]
    epoch: int | None
    position: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Read from a request to put a checkpoint."""

    token: int
    record: JsonObject
    expected: int
    epoch: int
    retain: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Read from a request of an operator."""

    savepoint: str = ""
    now: bool = False
    part: str = ""
    epoch: int | None = None
    rewind: bool = False


def name_of(segment: str, what: str) -> str:
    """Check the name of a part or savepoint in a path."""
    if not _NAME.fullmatch(segment):
        raise wrong_segment(what, _NAMED, segment)
    return segment


def read_acquire(body: object) -> int:
    """Read the token of who takes hold."""
    token: int = load(_ACQUIRE, body)["claim_token"]
    return token


def read_append(body: object) -> Appended:
    """Read notes."""
    members = load(_APPEND, body)
    return Appended(
        token=members["claim_token"],
        notes=members["notes"],
        epoch=members.get("epoch"),
        position=members.get("position"),
    )


def read_put(body: object) -> Put:
    """Read a record with its epochs."""
    members = load(_PUT, body)
    expected, epoch = members["expected_epoch"], members["epoch"]
    if epoch not in {expected, expected + 1}:
        message = f"must be the expected epoch, {expected}, or one more"
        raise InvalidInput(
            violations=(Violation(path="$.epoch", message=message, invalid_value=str(epoch)),)
        )
    return Put(
        token=members["claim_token"],
        record=members["record"],
        expected=expected,
        epoch=epoch,
        retain=members.get("retain") or RETAINED,
    )


def read_stop(body: JsonObject) -> Asked:
    """Read the request to stop."""
    members = load(_STOP, dict(body))
    return Asked(savepoint=members.get("savepoint") or "", now=bool(members.get("now")))


def read_savepoint(body: JsonObject) -> Asked:
    """Read the request for a savepoint."""
    return Asked(savepoint=load(_SAVE, dict(body))["name"])


def read_resume(body: JsonObject) -> Asked:
    """Read what a task is to go on from."""
    members = load(_RESUME, dict(body))
    savepoint, epoch = members.get("savepoint") or "", members.get("epoch")
    part = members.get("part") or ""
    if savepoint and epoch is not None:
        raise _wrong("$.epoch", "must not be given together with savepoint")
    if part and epoch is None:
        raise _wrong("$.part", "must not be given without epoch")
    rewind = bool(members.get("rewind"))
    if rewind and not savepoint and epoch is None:
        raise _wrong("$.rewind", "must not be given without epoch or savepoint")
    return Asked(savepoint=savepoint, epoch=epoch, part=part, rewind=rewind)


def _wrong(path: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message),))


def place_to_json(place: KeptPlace) -> Json:
    """Write what a task keeps."""
    found: Json = {
        "token": place.token,
        "line": place.root,
        "parts": {part.name: part_to_json(part) for part in place.parts},
        "savepoints": [_savepoint(savepoint) for savepoint in place.savepoints],
    }
    if place.wanted is not None:
        found["request"] = wanted_to_json(place.wanted)
    return found


def part_to_json(part: KeptPart) -> Json:
    """Write one part."""
    found: Json = {
        "epoch": part.epoch,
        "noteCount": part.note_count,
        "history": [_past(past) for past in part.history],
    }
    if part.hash:
        found["hash"] = part.hash
    if part.record is not None:
        found["record"] = part.record
    if part.notes:
        found["notes"] = list(part.notes)
    if part.start is not None:
        start: Json = {}
        found["resumeFrom"] = start
        if part.start.epoch is not None:
            start["epoch"] = part.start.epoch
        if part.start.savepoint:
            start["savepoint"] = part.start.savepoint
        if part.start.record is not None:
            start["record"] = part.start.record
        if part.start.rewind:
            start["rewind"] = True
    return found


def wanted_to_json(wanted: Wanted) -> Json:
    """Write what somebody asks."""
    found: Json = {
        "action": wanted.action,
        "number": wanted.number,
        "time": wanted.at_ms,
        "now": wanted.at_once,
    }
    if wanted.savepoint:
        found["savepoint"] = wanted.savepoint
    return found


def _past(past: Past) -> Json:
    return {"epoch": past.epoch, "time": past.at_ms, "bytes": past.bytes, "hash": past.hash}


def _savepoint(savepoint: Savepoint) -> Json:
    return {"name": savepoint.name, "time": savepoint.at_ms, "epochs": dict(savepoint.epochs)}
