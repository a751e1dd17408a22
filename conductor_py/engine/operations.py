"""Operations: a verb is sent to an execution's inbox, carried out by a decision, and answered.

Whoever holds the lease decides; the caller is woken by the commit that wrote its answer. An
operation is known by its id: sent again, it is carried out once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

import orjson

from conductor_py.codec.event import dump_event
from conductor_py.engine.executor import Executor
from conductor_py.errors import (
    ConductorError,
    Conflict,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PayloadTooLarge,
    StoreUnavailable,
    Violation,
)
from conductor_py.model.event import Operation
from conductor_py.model.ids import ExecutionId, is_execution_id
from conductor_py.model.json import JsonValue
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.store import ExecutionStore, Outcome, SendReply
from conductor_py.ports.wakeups import Wakeups

_ANSWER_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.5


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


class Operations:
    """Sends operations and waits for their answers."""

    def __init__(
        self,
        store: ExecutionStore,
        reader: ExecutionReader,
        executor: Executor,
        wakeups: Wakeups,
        partitions: int,
    ) -> None:
        """Work over these collaborators."""
        self._store = store
        self._reader = reader
        self._executor = executor
        self._wakeups = wakeups
        self._partitions = partitions

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
        ``Conflict``, ``InvalidInput``, ``NotFound``, ``PayloadTooLarge``.
        """
        target = self.target(execution)
        holder = self._executor.name()
        operation = id_ or holder
        event = dump_event(Operation(id=operation, name=name, arguments=arguments))
        ticket = self._wakeups.ticket(f"o:{operation}")
        reply = self._store.send(target, operation, event, holder, self._executor.lease_ms)
        if reply.outcome is Outcome.GONE:
            return False
        answer = self._answer(target, operation, holder, reply, ticket)
        code, message = str(answer.get("error") or ""), str(answer.get("message") or "")
        if code:
            raise _ERRORS.get(code, InvalidInput)(message)
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
            driven = self._executor.drive(reply.loaded, holder)
            self._executor.follow(driven.touched)
            answer = driven.answers.get(operation)
            if answer is not None:
                return {"error": answer.error, "message": answer.message}
        deadline = time.monotonic() + _ANSWER_WAIT_S
        while True:
            stored = self._reader.answer(target, operation)
            if stored is not None:
                found: dict[str, JsonValue] = orjson.loads(stored)
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise StoreUnavailable("The operation is accepted but not carried out yet.")
            ticket = self._wakeups.wait(f"o:{operation}", min(left, _LOOK_S), ticket)
