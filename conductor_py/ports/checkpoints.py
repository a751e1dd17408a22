"""What long tasks keep between their attempts: records, notes since, savepoints, and what is asked
of them.

A long task's work has *parts*, each with a newest *record* (JSON of the worker's own) under an
*epoch*, and *notes* since that record. They belong to a *place*, the reference with its iteration,
and outlive the attempts of one line: retries, lost workers, a later generation that tries the task
again. A restart, and a rerun of the task, begin another line, which finds nothing.

Fields of the hash of an execution (``<place>`` is ``<ref>`` or ``<ref>#<vec>``; words are joined by
a space, instants are epoch ms):

    l                          JSON list of the places
    b                          bytes of all records, pinned records and notes
    t:<place>                  highest token, root of the line, number of parts, parts, savepoints
    q:<place>                  generation, number, instant, action, savepoint or ``-``, at once
    p:<part> <place>           epoch, token and hash of the newest record, notes, their bytes, what
                               to go on from (``-``, ``e<epoch>``, ``s<savepoint>``; a ``!`` behind
                               it: what came after is to be taken back), and the history, newest
                               first: ``<epoch>/<instant>/<bytes>/<hash>``
    e:<part> <epoch> <place>   a record                 n:<part> <number> <place>   a note, from 1
    s:<savepoint> <place>      instant, and ``<part>/<epoch>/<bytes>/<hash>`` of what it pins
    k:<savepoint> <part> <place>   a pinned record

What is *shown* of a place are these under names without it (``t``, ``q``, ``p:<part>``,
``s:<savepoint>``), and on demand ``e:<part>`` (the newest record), ``n:<part> <number>`` and
``x:<part>`` (the record to go on from).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Protocol

from conductor_py.model.ids import ExecutionId
from conductor_py.records import dataclass


class Verdict(Enum):
    """How a call ended; each value is also the first word of a script's reply."""

    OK = "OK"
    GONE = "GONE"  # no such execution
    UNKNOWN_TASK = "UNKNOWN_TASK"  # the execution has no such attempt
    IGNORED = "IGNORED"  # the attempt or its execution has ended
    SUPERSEDED = "SUPERSEDED"  # the token does not hold the attempt (any more)
    EPOCH = "EPOCH"  # the newest record has another epoch: `number`
    POSITION = "POSITION"  # there is another number of notes: `number`
    FULL = "FULL"  # a bound is reached: `what` names it
    HELD = "HELD"  # somebody is at work on the task
    EXISTS = "EXISTS"  # a savepoint of that name exists
    EMPTY = "EMPTY"  # there is no record to pin
    WHICH_PART = "WHICH_PART"  # there are several parts, or none
    UNKNOWN_EPOCH = "UNKNOWN_EPOCH"  # the history has no such epoch (any more)
    UNKNOWN_SAVEPOINT = "UNKNOWN_SAVEPOINT"
    IN_USE = "IN_USE"  # a savepoint that something is to go on from, or to fill


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointBounds:
    """How much may be kept: bytes of one record; per part notes, their bytes and records; per task
    parts and savepoints; per execution tasks and bytes of all.
    """

    record_bytes: int = 256 << 10
    notes: int = 10_000
    note_bytes: int = 1 << 20
    records: int = 100
    parts: int = 1_000
    savepoints: int = 20
    places: int = 1_000
    bytes: int = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who asks: an attempt and the claim that it is held under, the token."""

    execution: ExecutionId
    seq: int
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Notes for one part. ``epoch`` is that of the record they follow, ``position`` how many notes
    there are before them; ``None``: whatever is there.
    """

    part: str
    notes: tuple[bytes, ...]
    epoch: int | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A record that replaces the one of the epoch ``expected``; ``epoch`` is that or one more.

    ``hash`` is hexadecimal; ``retain`` is how many records of the part stay in its history.
    """

    part: str
    record: bytes
    hash: str
    expected: int
    epoch: int
    retain: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody asks of a task: ``STOP``, ``PAUSE``, ``CANCEL``, ``RUN``, or ``SAVEPOINT``.

    ``savepoint`` is the one to make, with ``RUN`` the one to go on from; with ``RUN``, ``epoch``
    names a record of ``part`` (of the only part when it is empty) to go on from instead. With
    neither, ``RUN`` goes on from the newest records. ``rewind`` allows what came after an older
    record to be taken back.
    """

    action: str
    savepoint: str = ""
    at_once: bool = False
    part: str = ""
    epoch: int | None = None
    rewind: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """``number`` is an epoch, a number of notes or that of a request; ``what`` names a bound;
    ``shown`` is what the module says.
    """

    verdict: Verdict
    number: int = 0
    what: str = ""
    shown: Mapping[str, bytes] | None = None


class CheckpointStore(Protocol):
    """Keeps it, in the partition of the execution. Every method is one atomic step and raises
    ``StoreUnavailable`` when the store does not answer; all may be repeated.
    """

    def acquire(self, holder: Holder) -> Reply:
        """Raise the highest token and show everything of the place: OK, FULL (too many places);
        GONE, UNKNOWN_TASK, IGNORED, SUPERSEDED (another claim holds it, it has ended, or a higher
        token was seen) as in every verb of a holder.
        """

    def append(self, holder: Holder, notes: Notes) -> Reply:
        """Append notes: OK and the number there are, EPOCH, POSITION, FULL. The same notes again at
        the same position are OK and change nothing.
        """

    def put(self, holder: Holder, checkpoint: Checkpoint) -> Reply:
        """Replace the newest record and delete the notes: OK, EPOCH with the one that is there,
        FULL. The same record again (token, epoch and hash) is OK and changes nothing.

        While a stop that makes a savepoint is wanted, the savepoint pins the new record.
        """

    def read(self, execution: ExecutionId, seq: int, *, whole: bool) -> Reply:
        """Show the place of an attempt, if ``whole`` with records and notes: OK, UNKNOWN_TASK,
        GONE.
        """

    def record(self, execution: ExecutionId, seq: int, part: str, at: int | str) -> bytes | None:
        """Read the record of an epoch of the history, or what a savepoint pins; ``None`` when there
        is none (any more).
        """

    def wanted(self, execution: ExecutionId, seq: int) -> bytes | None:
        """Read the field ``q`` if somebody asks something of the task, and one that asks for a
        pause while the execution is paused; ``None`` too when it is gone.
        """

    def places(self, execution: ExecutionId) -> tuple[str, ...]:
        """List the places where something was ever kept, oldest first."""

    def request(self, execution: ExecutionId, seq: int, request: Request) -> Reply:
        """Keep what is asked until it is replaced or the execution begins another generation; a
        savepoint is made at once.

        OK and the number of the request; IGNORED when the attempt has ended (but for a savepoint),
        EXISTS, EMPTY, FULL; with RUN from an older record HELD, UNKNOWN_SAVEPOINT, UNKNOWN_EPOCH,
        WHICH_PART; UNKNOWN_TASK, GONE.
        """

    def drop_savepoint(self, execution: ExecutionId, seq: int, savepoint: str) -> Reply:
        """Forget a savepoint: OK, IN_USE, UNKNOWN_SAVEPOINT, UNKNOWN_TASK, GONE."""
