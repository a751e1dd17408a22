"""What must hold when everything has ended: all archived, nothing left, all promises kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from conductor_py.adapters.memory.space import Execution, Partition

if TYPE_CHECKING:
    from conductor_py.testing.simulation.findings import Accepted
    from conductor_py.testing.simulation.invariants import Checks
    from conductor_py.testing.simulation.world import World

_TOLD: Final = frozenset({"COMPLETED", "TERMINATED"})
"""Statuses that the listener is told of."""


class Afterwards:
    """The last look at a world."""

    def __init__(self, world: World, checks: Checks) -> None:
        """Hold what there is in ``world`` against what ``checks`` has kept in mind."""
        self._world = world
        self._checks = checks

    def look(self) -> None:
        """Everything has ended and is archived, nothing is left, and what was promised holds."""
        for left in self._left_over():
            self._world.violated("liveness", left)
        for execution in self._checks.started:
            if execution not in self._checks.forgotten and not archived(self._world, execution):
                name = self._world.names.of_execution(execution)
                self._world.violated("I7", f"{name} was started, and is not in the archive")
        for execution in self._checks.seen:
            document = archived(self._world, execution)
            if document is not None:
                self._archived_well(execution, document)
        for place, ids in self._checks.keys.items():
            key = place[1]
            if len(ids) > 1 and place not in self._checks.free_keys:
                self._world.violated("idempotency", f"key {key} started {len(ids)} executions")

    def _archived_well(self, execution: str, document: Mapping[str, Any]) -> None:
        name = self._world.names.of_execution(execution)
        why = str(document.get("reasonForIncompletion") or "")
        if why.startswith("internal error"):
            self._world.violated("total", f"{name} could not be decided: {why}")
        if document["status"] in {"RUNNING", "PAUSED"}:
            self._world.violated("I7", f"{name} is archived as {document['status']}")
        self._listener_told(execution, document)
        parent = document.get("parentWorkflowId")
        if parent and execution not in self._checks.born:
            self._world.violated(
                "I8", f"{name} says that it is a child, and no commit has started it"
            )
        for task in document["tasks"]:
            if task["status"] in {"SCHEDULED", "IN_PROGRESS"}:
                self._world.violated(
                    "I2", f"{task['referenceTaskName']} of {name} is archived open"
                )
            seq = int(task["taskId"][37:])
            accepted = self._checks.accepted.get((execution, seq))
            # Then what is archived may be what the store has lost.
            if accepted is not None and not self._checks.is_behind_what_was_lost:
                self._result_kept(name, task, accepted)

    def _listener_told(self, execution: str, document: Mapping[str, Any]) -> None:
        tells = document["workflowDefinition"].get("workflowStatusListenerEnabled")
        is_listened_to = self._world.scenario.deployment.is_listened_to
        if not (tells and is_listened_to) or self._checks.has_lost:
            return
        told, status = self._world.listener.told.get(execution, []), document["status"]
        # One that had ended and is terminated on top was told of before.
        if status in _TOLD and status not in told and not (status == "TERMINATED" and told):
            name = self._world.names.of_execution(execution)
            self._world.violated("I7", f"nobody was told that {name} is {status}")

    def _result_kept(self, name: str, task: Mapping[str, Any], accepted: Accepted) -> None:
        status = task["status"]
        if status in {"CANCELED", "SKIPPED"} or not accepted.first:
            return
        alike = {accepted.status}
        if accepted.status in {"FAILED", "FAILED_WITH_TERMINAL_ERROR", "TIMED_OUT"}:
            alike |= {"COMPLETED_WITH_ERRORS", "FAILED", "FAILED_WITH_TERMINAL_ERROR"}
        if status not in alike:
            self._world.violated(
                "I6",
                f"{task['referenceTaskName']} of {name} was accepted as {accepted.status} and "
                f"is archived as {status}",
            )

    def _left_over(self) -> Iterator[str]:
        for partition in self._world.space.partitions:
            for stored in partition.executions.values():
                name = self._world.names.of_execution(stored.id)
                yield f"{name} is still in the store: {stored.status}, {waits_for(stored)}"
            for what, members in _leftovers(partition):
                yield f"{what} is not empty: {members[:3]}"


def archived(world: World, execution: str) -> dict[str, Any] | None:
    """Read an execution as it is archived."""
    found = world.ports.search.archived(execution)
    if found is None:
        return None
    document: dict[str, Any] = orjson.loads(found.document)
    return document


def waits_for(stored: Execution) -> str:
    """Say what of an execution is open."""
    open_ = Counter(
        f"{a['type']} {a['ref']}"
        for name, text in stored.fields.items()
        if name.startswith("a:") and (a := orjson.loads(text))["st"] in {"SCHEDULED", "IN_PROGRESS"}
    )
    inbox = f", {len(stored.inbox)} events" if stored.inbox else ""
    return f"open: {', '.join(sorted(open_)) or 'nothing'}{inbox}"


def _leftovers(partition: Partition) -> Iterator[tuple[str, list[str]]]:
    groups = {
        "a queue": (*partition.ready.values(), *partition.delayed.values()),
        "the set of timers": tuple(partition.timers.values()),
        "the set of permits": tuple(partition.permits.values()),
        "the set of admitted executions": tuple(partition.admitted.values()),
        "the set of executions that wait": tuple(partition.waiting.values()),
        "the list of those that run": tuple(partition.running.values()),
        "the outbox": (partition.outbox,),
    }
    for what, sets in groups.items():
        members = [member for one in sets for member in one.scores]
        if members:
            yield what, members


__all__ = ["Afterwards", "archived", "waits_for"]
