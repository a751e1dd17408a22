"""Operations: a verb is sent to an execution's inbox, carried out by a decision, and answered.

Whoever holds the lease decides; the caller is woken by the commit that wrote its answer. An
operation is known by its id: sent again, it is carried out once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import orjson

from conductor_py.codec.event import dump_event
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.errors import (
    ConductorError,
    Conflict,
    InvalidInput,
    LimitExceeded,
    NotFound,
    NotYet,
    PayloadTooLarge,
    StoreFull,
    Violation,
)
from conductor_py.model.event import Operation
from conductor_py.model.ids import ExecutionId, is_execution_id
from conductor_py.model.json import JsonValue
from conductor_py.ports.quarantine import QuarantineStore
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.store import ExecutionStore, Outcome, SendReply
from conductor_py.ports.wakeups import Wakeups

_ANSWER_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.5
_ALWAYS_TAKEN: Final = frozenset({"terminate", "pause", "remove"})
_NOT_YET: Final = "The operation is accepted but not carried out yet"
_NEW_WORK: Final = frozenset({"restart", "retry", "rerun", "jump", "message"})
"""What a store that is full does not take: it brings more than it lets end."""


def _violations(listed: str) -> InvalidInput:
    found = orjson.loads(listed)
    return InvalidInput(violations=tuple(Violation(**each) for each in found))


_ERRORS: Final[Mapping[str, Callable[[str], ConductorError]]] = {
    "VIOLATIONS": _violations,
    "CONFLICT": Conflict,
    "LIMIT_EXCEEDED": LimitExceeded,
    "NOT_FOUND": NotFound,
    "PAYLOAD_TOO_LARGE": PayloadTooLarge,
}


def refused(code: str, message: str) -> ConductorError:
    """Make the error that a refusal of an execution is raised as."""
    return _ERRORS.get(code, InvalidInput)(message)


class Operations:
    """Sends operations and waits for their answers."""

    def __init__(  # noqa: PLR0917 - one collaborator each
        self,
        store: ExecutionStore,
        reader: ExecutionReader,
        executor: Executor,
        wakeups: Wakeups,
        partitions: int,
        machine: Machine = REAL_MACHINE,
        *,
        quarantine: QuarantineStore,
        most_waiting: int = 10_000,
    ) -> None:
        """Work over these collaborators. An execution with ``most_waiting`` events in its inbox
        takes no further operations, but those that end or pause it.
        """
        self._store = store
        self._reader = reader
        self._executor = executor
        self._wakeups = wakeups
        self._partitions = partitions
        self._machine = machine
        self._quarantine = quarantine
        self._most_waiting = most_waiting

    def target(self, execution: str) -> ExecutionId:
        """Check that an id can be one of ours (``NotFound``)."""
        if not is_execution_id(execution) or int(execution[:3], 16) >= self._partitions:
            raise NotFound(f"No such workflow found by id: {execution}")
        return ExecutionId(execution)

    def carry_out(
        self, execution: str, name: str, arguments: Mapping[str, JsonValue], *, id_: str = ""
    ) -> bool:
        """Have an operation carried out; false when the store has no such execution (any more).

        ``id_`` names it when its caller may send it again. What the execution refuses is raised:
        ``Conflict``, ``InvalidInput``, ``NotFound``, ``PayloadTooLarge``; ``LimitExceeded`` when
        too much waits for it to be decided.
        """
        target = self.target(execution)
        holder = self._executor.name()
        operation = id_ or holder
        event = dump_event(Operation(id=operation, name=name, arguments=arguments))
        ticket = self._wakeups.ticket(f"o:{operation}")
        most = 0 if name in _ALWAYS_TAKEN else self._most_waiting
        reply = self._store.send(
            target,
            operation,
            event,
            holder,
            self._executor.lease_ms,
            most,
            new=name in _NEW_WORK,
        )
        if reply.outcome is Outcome.LIMITED:
            raise LimitExceeded(
                f"{most} events wait to be decided for workflow {execution}; try again later."
            )
        if reply.outcome is Outcome.GONE:
            return False
        answer = self._answer(target, operation, holder, reply, ticket)
        code, message = str(answer.get("error") or ""), str(answer.get("message") or "")
        if code:
            raise refused(code, message)
        return True

    def _answer(
        self,
        target: ExecutionId,
        operation: str,
        holder: str,
        reply: SendReply,
        ticket: int,
    ) -> dict[str, JsonValue]:
        if reply.loaded is not None:
            try:
                driven = self._executor.drive(reply.loaded, holder)
            except StoreFull as full:
                raise NotYet(f"{_NOT_YET}: {full.message}") from full
            self._executor.follow(driven.touched)
            answer = driven.answers.get(operation)
            if answer is not None:
                return {"error": answer.error, "message": answer.message}
        stored = self._reader.answer(target, operation)
        if stored is None:
            self._refuse_to_wait(target)
        deadline = self._machine.monotonic() + _ANSWER_WAIT_S
        while stored is None:
            left = deadline - self._machine.monotonic()
            if left <= 0:
                self._refuse_to_wait(target)
                raise NotYet(f"{_NOT_YET}.")
            ticket = self._wakeups.wait(f"o:{operation}", min(left, _LOOK_S), ticket)
            stored = self._reader.answer(target, operation)
        found: dict[str, JsonValue] = orjson.loads(stored)
        return found

    def _refuse_to_wait(self, target: ExecutionId) -> None:
        """What is in quarantine is not decided for minutes: nobody stands still for its answer."""
        found = self._quarantine.get(target)
        if found is not None:
            raise NotYet(f"The operation waits: the execution is in quarantine: {found.reason}.")
