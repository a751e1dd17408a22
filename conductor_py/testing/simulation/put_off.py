"""I3, I4 of long tasks: what is stopped is handed out to nobody before its time, and what is asked
to run on does not wait for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson

from conductor_py.adapters.memory.claims import attempt_of, claim_side
from conductor_py.adapters.memory.space import Execution
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import Outcome
from conductor_py.testing.simulation.faults import Kind
from conductor_py.testing.simulation.long_tasks import LONG

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

Call = Callable[..., Any]
_Place = tuple[str, int]


class PutOff:
    """Stands around polls, reports and operations. Forgets all when the store lost its tail, or its
    clock stepped.
    """

    def __init__(self, world: World) -> None:
        """Remember nothing yet."""
        self._world = world
        self._stopped: dict[_Place, int] = {}
        self._recalled: dict[_Place, int] = {}
        self._waits: dict[_Place, int] = {}
        self._asked_to_run: Counter[str] = Counter()
        self._resets: dict[str, set[str]] = {}
        self._seen = self._upheavals

    def asked_to_run(self, execution: ExecutionId, seq: int) -> None:
        """Somebody lets a task run on."""
        self._look()
        self._asked_to_run[execution] += 1
        self._stopped.pop((execution, seq), None)

    def send(
        self,
        call: Call,
        execution: ExecutionId,
        operation: str,
        event: bytes,
        *given: Any,
        **named: Any,
    ) -> Any:
        """Note under which claims tasks are recalled."""
        reply = call(execution, operation, event, *given, **named)
        stored = self._find(execution)
        if b'"reset_callbacks"' not in event or reply.outcome is Outcome.GONE or stored is None:
            return reply
        self._look()
        self._resets.setdefault(execution, set()).add(operation)
        arguments = orjson.loads(event.split(b" ", 1)[1])["args"]
        for seq in arguments["seqs"] if arguments.get("recall") else ():
            side = claim_side(stored, seq)
            if side.held and not side.closed:
                self._recalled[execution, seq] = side.k
        return reply

    def report(self, call: Call, report: Any) -> Any:
        """Note what its worker has put off: unless somebody lets it run just now, it is stopped."""
        reply = call(report)
        stored = self._find(report.execution)
        if report.final or reply.outcome is not Outcome.OK or stored is None:
            return reply
        self._look()
        place = (report.execution, report.seq)
        put_off_s = orjson.loads(report.event.split(b" ", 1)[1]).get("cb", 0)
        asked, sent = self._asked_to_run[report.execution], self._resets.get(report.execution, ())
        text = stored.fields[f"a:{report.seq}"]
        runs = len(sent) < asked or any(b'"reset_callbacks"' in event for event in stored.inbox)
        # One that was recalled before it was stopped is offered once more all the same.
        runs = runs or 0 < orjson.loads(text).get("recall", 0) == report.claim
        recalled = self._recalled.pop(place, 0) == report.claim > 0
        until = reply.now_ms + put_off_s * 1_000
        if put_off_s and recalled:
            self._world.counts["put off though recalled"] += 1
            self._waits[place] = until
        elif put_off_s and not runs and attempt_of(text).definition == LONG:
            self._stopped[place] = until
        return reply

    def poll(self, call: Call, partition: int, poll: Any) -> Any:
        """Judge who is handed out."""
        reply = call(partition, poll)
        self._look()
        for claimed in reply.claimed if self._stopped or self._waits else ():
            place = (claimed.execution, claimed.seq)
            what = self._world.names.of_attempt(claimed.execution, claimed.seq)
            if reply.now_ms < self._stopped.pop(place, 0):
                self._world.violated("I3", f"{what} is stopped, and handed out")
            if 0 < self._waits.pop(place, 0) <= reply.now_ms:
                self._world.violated("I4", f"{what} was to run on, and waits as if it were stopped")
        return reply

    @property
    def _upheavals(self) -> tuple[int, int]:
        faults = self._world.faults
        return faults[Kind.LOST_TAIL], faults[Kind.CLOCK]

    def _look(self) -> None:
        if self._upheavals != self._seen:
            self._seen = self._upheavals
            for known in (self._stopped, self._recalled, self._waits):
                known.clear()

    def _find(self, execution: ExecutionId) -> Execution | None:
        return self._world.space.of(execution).executions.get(execution)


__all__ = ["PutOff"]
