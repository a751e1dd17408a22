"""Messages: sent from outside to an execution, for the tasks in it that pull them."""

from __future__ import annotations

import uuid

from conductor_py.codec.execution import dump_json
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.errors import Conflict, NotFound, PayloadTooLarge
from conductor_py.model.json import JsonObject
from conductor_py.ports.search import Search


class Messages:
    """The queue of messages of each execution."""

    def __init__(
        self,
        operations: Operations,
        search: Search,
        *,
        max_bytes: int,
        machine: Machine = REAL_MACHINE,
    ) -> None:
        """``max_bytes`` bounds one message."""
        self._operations = operations
        self._search = search
        self._max_bytes = max_bytes
        self._machine = machine

    def push(self, execution: str, payload: JsonObject) -> str:
        """Send a message; its id.

        A task that waits for one is complete when this returns. ``NotFound``; ``Conflict`` unless
        the execution is RUNNING; ``LimitExceeded`` when its queue is full; ``PayloadTooLarge``.
        """
        size = len(dump_json(payload))
        if size > self._max_bytes:
            raise PayloadTooLarge(
                f"A message of {size} bytes is larger than the limit of {self._max_bytes} bytes"
            )
        identity = str(uuid.UUID(hex=self._machine.token(16), version=4))
        message: JsonObject = {"id": identity, "payload": payload}
        if not self._operations.carry_out(execution, "message", message):
            if self._search.archived_version(execution) is None:
                raise NotFound(f"No such workflow found by id: {execution}")
            raise Conflict(f"Workflow {execution} has ended: only a RUNNING one takes messages.")
        return identity
