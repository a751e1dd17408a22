"""What long tasks keep: the verbs of who works on a task, and of who operates it.

A worker's verbs carry its claim token; what they are refused with is final (``ClaimLost``). An
operator's requests stay until they are replaced, so that a worker that comes later finds them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from conductor_py.codec.checkpoints import load_place, load_places, load_wanted
from conductor_py.codec.execution import load_attempt
from conductor_py.codec.kept_execution import load_kept
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.reading.loading import load_all
from conductor_py.engine.tasks.rewinding import rewind_refusals
from conductor_py.errors import (
    ClaimLost,
    Conflict,
    EpochConflict,
    InvalidInput,
    NotesConflict,
    NotFound,
    PayloadTooLarge,
    StoreFailure,
)
from conductor_py.model.checkpoints import KeptPart, KeptPlace, Wanted
from conductor_py.model.ids import ExecutionId, split_task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.places import places_on_wire, wire_place
from conductor_py.ports.checkpoints import (
    Checkpoint,
    CheckpointBounds,
    CheckpointStore,
    Holder,
    Notes,
    Reply,
    Request,
    Verdict,
)
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore

DEFAULT_BOUNDS: Final = CheckpointBounds()
_FULL: Final = {
    "places": "its execution keeps something for as many tasks as it may",
    "parts": "it has as many parts as it may",
    "notes": "this part has as many notes as it may; a checkpoint forgets them",
    "note-bytes": "the notes of this part take as much room as they may; a checkpoint forgets them",
    "savepoints": "it has as many savepoints as it may; delete one",
    "bytes": "its execution keeps as much as it may; retain fewer records, or delete savepoints",
}
_REFUSED: Final = {
    Verdict.IGNORED: "has ended",
    Verdict.HELD: "is being worked on: stop it before it goes on from an older record",
    Verdict.EXISTS: "has a savepoint of that name",
    Verdict.EMPTY: "has kept no record yet",
    Verdict.WHICH_PART: "has not exactly one part: say whose epoch it is",
    Verdict.IN_USE: "is to go on from that savepoint, or is to fill it",
}


class Checkpoints:
    """Records, notes, savepoints and requests."""

    def __init__(
        self,
        *,
        checkpoints: CheckpointStore,
        store: ExecutionStore,
        search: Search,
        operations: Operations,
        bounds: CheckpointBounds = DEFAULT_BOUNDS,
    ) -> None:
        """Work over these collaborators."""
        self._kept = checkpoints
        self._store = store
        self._search = search
        self._operations = operations
        self._bounds = bounds

    # -- who works on it ---------------------------------------------------------------------------

    def acquire(self, task_id: str, token: int) -> KeptPlace:
        """Refuse all lower tokens from now on, and read everything: ``ClaimLost``, ``NotFound``,
        ``PayloadTooLarge``.
        """
        reply = self._kept.acquire(self._holder(task_id, token))
        self._check(task_id, reply)
        return load_place(reply.shown or {})

    def append(
        self,
        task_id: str,
        token: int,
        part: str,
        notes: Sequence[JsonObject],
        *,
        epoch: int | None = None,
        position: int | None = None,
    ) -> int:
        """Append notes; returns how many there are since the newest record. With ``epoch`` and
        ``position`` a repeat changes nothing.

        ``EpochConflict``, ``NotesConflict``, ``ClaimLost``, ``NotFound``, ``PayloadTooLarge``.
        """
        wanted = Notes(
            part=part,
            notes=tuple(_text(note) for note in notes),
            epoch=epoch,
            position=position,
        )
        reply = self._kept.append(self._holder(task_id, token), wanted)
        self._check(task_id, reply)
        return reply.number

    def put(
        self,
        task_id: str,
        token: int,
        part: str,
        record: JsonObject,
        *,
        expected: int,
        epoch: int,
        retain: int,
    ) -> str:
        """Replace the newest record; returns the hash of the new one. A repeat changes nothing.

        ``EpochConflict``, ``ClaimLost``, ``NotFound``, ``PayloadTooLarge``.
        """
        text = _text(record)
        if len(text) > self._bounds.record_bytes:
            raise PayloadTooLarge(
                f"A record of {len(text)} bytes is larger than the limit of"
                f" {self._bounds.record_bytes}; keep what is large elsewhere, and its name here."
            )
        digest = hashlib.sha256(text).hexdigest()
        checkpoint = Checkpoint(
            part=part,
            record=text,
            hash=digest,
            expected=expected,
            epoch=epoch,
            retain=min(retain, self._bounds.records),
        )
        self._check(task_id, self._kept.put(self._holder(task_id, token), checkpoint))
        return digest

    def read(self, task_id: str) -> KeptPlace:
        """Read everything without taking hold of it (``NotFound``)."""
        execution, seq = self._attempt(task_id)
        reply = self._kept.read(execution, seq, whole=True)
        self._check(task_id, reply)
        return load_place(reply.shown or {})

    def part(self, task_id: str, part: str) -> KeptPart:
        """Read one part; one that has kept nothing is empty (``NotFound``: no such task)."""
        return self.read(task_id).part(part)

    def record(self, task_id: str, part: str, at: int | str) -> JsonObject:
        """Read the record of an epoch of a part's history, or of a savepoint (``NotFound``)."""
        execution, seq = self._attempt(task_id)
        text = self._kept.record(execution, seq, part, at)
        if text is None:
            what = "epoch" if isinstance(at, int) else "savepoint"
            raise NotFound(f"Task {task_id} has no record of {what} {at} of part {part}.")
        found: JsonObject = orjson.loads(text)
        return found

    def wanted(self, task_id: str) -> Wanted | None:
        """Tell what somebody asks of a task. A store that is away asks nothing for now."""
        execution, seq = self._attempt(task_id)
        try:
            text = self._kept.wanted(execution, seq)
        except StoreFailure:
            return None
        return load_wanted(text) if text else None

    # -- who operates it ---------------------------------------------------------------------------

    def listed(self, workflow_id: str) -> dict[str, KeptPlace]:
        """Read what the tasks of an execution keep, by reference on the wire; ``NotFound``."""
        execution = self._operations.target(workflow_id)
        places = self._kept.places(execution)
        loaded = self._store.load(execution, ["h", *(f"r:{place}" for place in places)])
        if loaded is None:
            return self._archived(execution)
        found = {}
        for place in places:
            seq = loaded[1].get(f"r:{place}")
            reply = self._kept.read(execution, int(seq), whole=False) if seq else None
            if reply is not None and reply.shown:
                found[wire_place(place)] = load_place(reply.shown)
        return found

    def _archived(self, execution: ExecutionId) -> dict[str, KeptPlace]:
        stored = self._search.kept(execution)
        if stored is None:
            if self._search.archived_version(execution) is not None:
                return {}
            raise NotFound(f"No such workflow found by id: {execution}")
        kept = load_kept(stored.document)
        return {
            wire_place(place): found
            for place, found in load_places(kept.checkpoints).items()
            if found.root == _root(kept.fields, place)
        }

    def ask(
        self,
        workflow_id: str,
        reference: str,
        action: str,
        *,
        savepoint: str = "",
        at_once: bool = False,
        part: str = "",
        epoch: int | None = None,
        rewind: bool = False,
    ) -> int:
        """Ask something of a task, see ``Request``; returns the number of the request.

        ``RUN`` offers a task at once that its worker has put off, or is about to. ``Conflict`` when
        the state does not allow it, ``NotFound``, ``PayloadTooLarge``.
        """
        request = Request(
            action=action,
            savepoint=savepoint,
            at_once=at_once,
            part=part,
            epoch=epoch,
            rewind=rewind,
        )
        execution, seq = self._newest(workflow_id, reference)
        if request.action == "RUN" and (savepoint or epoch is not None):
            self._check_rewind(execution, seq, reference, request)
        reply = self._kept.request(execution, seq, request)
        self._check_request(reference, reply, request)
        if request.action == "RUN":
            arguments: JsonObject = {"seqs": [seq], "recall": True}
            self._operations.carry_out(workflow_id, "reset_callbacks", arguments)
        return reply.number

    def drop_savepoint(self, workflow_id: str, reference: str, savepoint: str) -> None:
        """Forget a savepoint: ``NotFound``, ``Conflict`` while something needs it."""
        execution, seq = self._newest(workflow_id, reference)
        reply = self._kept.drop_savepoint(execution, seq, savepoint)
        self._check_request(reference, reply, Request(action="SAVEPOINT", savepoint=savepoint))

    def _newest(self, workflow_id: str, reference: str) -> tuple[ExecutionId, int]:
        """Find the newest attempt of a reference as it is named on the wire."""
        execution = self._operations.target(workflow_id)
        names = [f"r:{place}" for place in places_on_wire(reference)]
        loaded = self._store.load(execution, names)
        if loaded is None:
            if self._search.archived_version(execution) is not None:
                raise Conflict(f"Workflow {workflow_id} is archived, it has ended.")
            raise NotFound(f"No such workflow found by id: {workflow_id}")
        for name in names:
            if seq := loaded[1].get(name):
                return execution, int(seq)
        raise NotFound(f"Workflow {workflow_id} has not come to a task {reference}.")

    # -- what is refused ---------------------------------------------------------------------------

    def _holder(self, task_id: str, token: int) -> Holder:
        execution, seq = self._attempt(task_id)
        return Holder(execution=execution, seq=seq, token=token)

    def _attempt(self, task_id: str) -> tuple[ExecutionId, int]:
        execution, seq = split_task_id(task_id)
        return self._operations.target(execution), seq

    @staticmethod
    def _check(task_id: str, reply: Reply) -> None:
        match reply.verdict:
            case Verdict.OK:
                return
            case Verdict.GONE | Verdict.UNKNOWN_TASK:
                raise NotFound(f"No such task found by id: {task_id}")
            case Verdict.EPOCH:
                raise EpochConflict(
                    f"The newest record of task {task_id} has epoch {reply.number}.",
                    epoch=reply.number,
                )
            case Verdict.POSITION:
                raise NotesConflict(
                    f"Task {task_id} has {reply.number} notes since its newest record.",
                    notes=reply.number,
                )
            case Verdict.FULL:
                raise PayloadTooLarge(f"Task {task_id} may not keep more: {_FULL[reply.what]}.")
            case _:
                raise ClaimLost(f"The claim on task {task_id} is not held any more")

    def _check_rewind(
        self, execution: ExecutionId, seq: int, reference: str, request: Request
    ) -> None:
        loaded = load_all(self._store, execution, [f"a:{seq}", f"i:{seq}"])
        place = load_place(self._kept.read(execution, seq, whole=True).shown or {})
        refused = rewind_refusals(loaded[1] if loaded else {}, seq, place, request)
        if refused:
            raise Conflict(f"Task {reference} cannot go on from there: {'; '.join(refused)}.")

    def _check_request(self, reference: str, reply: Reply, request: Request) -> None:
        match reply.verdict:
            case Verdict.UNKNOWN_EPOCH:
                raise NotFound(f"Task {reference} has no record of epoch {request.epoch} any more.")
            case Verdict.UNKNOWN_SAVEPOINT:
                raise NotFound(f"Task {reference} has no savepoint {request.savepoint}.")
            case Verdict.WHICH_PART:
                raise InvalidInput(f"Task {reference} {_REFUSED[reply.verdict]}.")
            case verdict if verdict in _REFUSED:
                raise Conflict(f"Task {reference} {_REFUSED[verdict]}.")
            case _:
                self._check(reference, reply)


def _text(value: JsonObject) -> bytes:
    """The same value is the same text, so that a repeat is recognised."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as refused:
        raise InvalidInput(f"This cannot be kept as JSON: {refused}") from refused


def _root(fields: Mapping[str, bytes], place: str) -> int:
    seq = fields.get(f"r:{place}")
    if seq is None:
        return 0
    return load_attempt(int(seq), fields[f"a:{int(seq)}"]).root or int(seq)
