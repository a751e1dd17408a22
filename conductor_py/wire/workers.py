"""The bodies and answers about workers and servers that are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.workers import TaskTypeLoad, WorkerSign
from conductor_py.wire.fields import Flag, Many, Text, Whole, WireSchema, load

LONGEST: Final = 255
_MOST_TYPES: Final = 1_000
_MOST_SLOTS: Final = 1_000_000


class _Short(Text):
    form: ClassVar[Mapping[str, Any]] = {"type": "string", "maxLength": LONGEST}

    def load(self, value: Any) -> str:  # noqa: ANN401
        text = super().load(value)
        if len(text) > LONGEST:
            message = f"must not be longer than {LONGEST} characters"
            raise ValueError(message)
        return text


class WorkerTaskTypeForm(WireSchema):
    """One task type that a worker takes: how many of its tasks run, of how many that could."""

    model = TaskTypeLoad

    task_type = _Short(required=True)
    domain = _Short()
    running = Whole(least=0, most=_MOST_SLOTS)
    capacity = Whole(least=0, most=_MOST_SLOTS)


class WorkerSignForm(WireSchema):
    """A worker's sign of life."""

    worker_id = _Short(required=True)
    host = _Short()
    version = _Short()
    sdk = _Short()
    task_types = Many(lambda: _TASK_TYPE)


class WorkerLeaseForm(WireSchema):
    """For how long a sign of life counts; say something again in a third of that."""

    lease_seconds = Whole(required=True)


class WorkerForm(WireSchema):
    """A worker that is there. ``reported``: it told so itself; else its polls are all that is
    known.
    """

    worker_id = Text(required=True)
    host = Text()
    version = Text()
    sdk = Text()
    task_types = Many(lambda: _TASK_TYPE, required=True)
    running = Whole()
    capacity = Whole()
    reported = Flag(required=True)
    last_seen = Whole(required=True)
    present_until = Whole(required=True)


class ServerShardForm(WireSchema):
    """A shard that a server serves. ``term`` grows whenever the shard is taken; ``sweptUntil``: so
    long a sweeper of its own fires its timers.
    """

    shard = Text(required=True)
    term = Whole(required=True)
    configured = Flag(required=True)
    swept_until = Whole(required=True)


class LiveServerForm(WireSchema):
    """A server that is there: when it renewed its presence, until when that counts, its shards."""

    server = Text(required=True)
    last_renewal = Whole(required=True)
    until = Whole(required=True)
    shards = Many(lambda: _SHARD, required=True)


_TASK_TYPE: WireSchema = WorkerTaskTypeForm()
_SIGN = WorkerSignForm()
_SHARD: WireSchema = ServerShardForm()

FORMS: tuple[WireSchema, ...] = (
    _TASK_TYPE,
    _SIGN,
    WorkerLeaseForm(),
    WorkerForm(),
    _SHARD,
    LiveServerForm(),
)
"""The forms of this module, for the published schemas."""


def read_sign(body: object) -> WorkerSign:
    """Read a worker's sign of life; texts and lists beyond their bounds are refused."""
    members = load(_SIGN, body)
    if not members["worker_id"]:
        raise _wrong("$.workerId", "must not be empty")
    types = members.get("task_types", ())
    if len(types) > _MOST_TYPES:
        raise _wrong("$.taskTypes", f"must not hold more than {_MOST_TYPES} entries")
    return WorkerSign(
        worker=members["worker_id"],
        host=members.get("host", ""),
        version=members.get("version", ""),
        sdk=members.get("sdk", ""),
        task_types=types,
    )


def _wrong(path: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message),))
