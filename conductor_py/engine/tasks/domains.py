"""Domains: which groups of workers are there just now, by who polled last."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conductor_py.engine.clock import StoreClock
from conductor_py.model.ids import home_partition
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.ports.queues import PollData, TaskQueues
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True)
class Domains:
    """Answers from the poll data of all partitions; before they are read, ``record_all`` writes
    down what this process knows of a task type, or of all (``None``).
    """

    queues: TaskQueues
    record_all: Callable[[str | None], None]
    clock: StoreClock
    partitions: int
    active_ms: int = 10_000
    """A worker that polled within this time is there."""

    def last_polls(self, task_type: str | None) -> tuple[PollData, ...]:
        """The last poll of each task type and domain; ``None``: of all types."""
        self.record_all(task_type)
        newest: dict[tuple[str, str], PollData] = {}
        places: Iterable[int] = range(self.partitions)
        if task_type is not None:
            places = (home_partition(task_type, self.partitions),)
        for partition in places:
            for data in self.queues.poll_data(partition):
                if task_type is not None and data.queue != task_type:
                    continue
                found = newest.get((data.queue, data.domain))
                if found is None or found.at_ms < data.at_ms:
                    newest[(data.queue, data.domain)] = data
        return tuple(newest.values())

    def active(self, task_type: str, preferences: str) -> str:
        """The first domain of a list that a worker polled a moment ago, else the last.

        ``NO_DOMAIN`` stands for none, which is the empty string.
        """
        names = [name.strip() for name in preferences.split(",") if name.strip()]
        now = self.clock.now_ms()
        polled = {data.domain: data.at_ms for data in self.last_polls(task_type)}
        for name in names:
            if name.upper() != "NO_DOMAIN" and now - polled.get(name, 0) < self.active_ms:
                return name
        last = names[-1] if names else ""
        return "" if last.upper() == "NO_DOMAIN" else last


def poll_data_to_json(data: PollData) -> JsonObject:
    """Write who polled last, as Conductor does."""
    written: dict[str, JsonValue] = {
        "queueName": data.queue,
        "workerId": data.worker,
        "lastPollTime": data.at_ms,
    }
    return {**written, "domain": data.domain} if data.domain else written
