"""The forms of what is answered about what long tasks keep, and what is asked of them."""

from __future__ import annotations

from conductor_py.wire.checkpoints import Objects
from conductor_py.wire.fields import Choice, Flag, Many, One, Payload, Text, Whole, WireSchema


class KeptRecordForm(WireSchema):
    """A record in a part's history."""

    epoch = Whole(required=True)
    time = Whole(required=True)
    bytes = Whole(required=True)
    hash = Text(required=True)


class KeptPartForm(WireSchema):
    """What a part keeps. ``resumeFrom`` is an older record that it is to go on from."""

    epoch = Whole(required=True)
    hash = Text()
    record = Payload()
    notes = Objects()
    note_count = Whole(required=True)
    resume_from = Payload()
    history = Many(lambda: _PAST, required=True)


class KeptEpochForm(WireSchema):
    """The record of one epoch of a part."""

    epoch = Whole(required=True)
    record = Payload(required=True)


class KeptSavepointForm(WireSchema):
    """The record of a part in a savepoint."""

    savepoint = Text(required=True)
    record = Payload(required=True)


class SavepointForm(WireSchema):
    """A savepoint, with the epoch of each part that it holds."""

    name = Text(required=True)
    time = Whole(required=True)
    epochs = Payload(required=True)


class TaskRequestForm(WireSchema):
    """What somebody asks of a long task."""

    action = Choice(("STOP", "PAUSE", "CANCEL"), required=True)
    number = Whole(required=True)
    time = Whole(required=True)
    now = Flag(required=True)
    savepoint = Text()


class KeptForm(WireSchema):
    """What a task keeps: its parts by name. ``line`` is the same for all attempts that go on from
    one another; a restart begins another, with a larger number.
    """

    token = Whole(required=True)
    line = Whole(required=True)
    parts = Payload(required=True)
    savepoints = Many(lambda: _SAVEPOINT, required=True)
    request = One(lambda: TASK_REQUEST)


class NotesKeptForm(WireSchema):
    """How many notes there are since the newest record."""

    notes = Whole(required=True)


class CheckpointForm(WireSchema):
    """A record that is kept, its epoch and the hash of its text."""

    epoch = Whole(required=True)
    hash = Text()
    record = Payload()


class RequestedForm(WireSchema):
    """The number of a request; each of a task is one more than the one before."""

    number = Whole(required=True)


TASK_REQUEST: WireSchema = TaskRequestForm()
_PAST: WireSchema = KeptRecordForm()
_SAVEPOINT: WireSchema = SavepointForm()

FORMS: tuple[WireSchema, ...] = (
    _PAST,
    _SAVEPOINT,
    KeptPartForm(),
    KeptEpochForm(),
    KeptSavepointForm(),
    TASK_REQUEST,
    KeptForm(),
    NotesKeptForm(),
    CheckpointForm(),
    RequestedForm(),
)
"""The forms of this module, for the published schemas."""
