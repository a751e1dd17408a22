"""Workers: who is there just now, and how busy.

A worker of our SDK tells it itself, a few times a lease; of any other worker is known what its
polls say, which are written down together, every few seconds. All of it is gone one lease after the
last sign; a worker that says farewell, at once. Nothing is decided by it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from conductor_py.model.json import JsonObject
from conductor_py.model.requests import PollRequest
from conductor_py.model.workers import TaskTypeLoad, WorkerSign
from conductor_py.ports.presence import Presence, Sign

LEASE_MS: Final = 30_000
_MOST_POLLERS: Final = 5_000
"""Distinct pollers that one process remembers until it writes them down."""
_LONGEST: Final = 255
_POLLER: Final = ("workerId", "taskType", "domain")


class Workers:
    """The workers of a deployment. Safe for threads."""

    def __init__(
        self,
        presence: Presence,
        *,
        lease_ms: int = LEASE_MS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """A worker is there for ``lease_ms`` after its last sign of life."""
        self._presence = presence
        self.lease_ms = lease_ms
        self._monotonic = monotonic
        self._polled: dict[tuple[str, str, str], None] = {}
        self._written_at = float("-inf")
        self._lock = threading.Lock()

    def report(self, sign: WorkerSign) -> int:
        """Take a worker's sign of life; returns for how many ms it counts."""
        document = {
            "workerId": sign.worker,
            "host": sign.host,
            "version": sign.version,
            "sdk": sign.sdk,
            "taskTypes": [_load_to_json(load) for load in sign.task_types],
        }
        self._presence.put({_key(sign.worker): orjson.dumps(document)}, self.lease_ms)
        return self.lease_ms

    def leave(self, worker: str) -> None:
        """List a worker that stops in order no more, until it is there again.

        Its polls may be written down after its farewell, by any server, and count a lease from
        then on; so the farewell is remembered for longer than they do.
        """
        farewell = orjson.dumps({"workerId": worker, "left": True})
        self._presence.put({_key(worker): farewell}, 2 * self.lease_ms)

    def polled(self, request: PollRequest) -> None:
        """Remember who polls; costs no round trip."""
        if request.worker and len(self._polled) < _MOST_POLLERS:
            self._polled[request.worker, request.task_type, request.domain] = None

    def flush(self) -> int:
        """Write down who polled, at most a few times a lease; returns how many."""
        with self._lock:
            if (self._monotonic() - self._written_at) * 1000 < self.lease_ms / 4:
                return 0
            self._written_at = self._monotonic()
            polled, self._polled = self._polled, {}
        signs = {
            _key(*who): orjson.dumps(dict(zip(_POLLER, who, strict=True)))
            for who in list(polled)
            if max(map(len, who)) <= _LONGEST
        }
        if signs:
            self._presence.put(signs, self.lease_ms)
        return len(signs)

    def present(self, task_type: str = "") -> tuple[JsonObject, ...]:
        """List the workers that are there, by id; ``task_type``: those that take it."""
        found: dict[str, dict[str, Any]] = {}
        # What a worker says of itself comes before what its polls say.
        signs = [(sign, orjson.loads(sign.document)) for sign in self._presence.present()]
        left = {said["workerId"] for _, said in signs if "left" in said}
        for sign, said in sorted(signs, key=lambda each: "taskTypes" not in each[1]):
            if said["workerId"] not in left:
                _add(found, sign, said)
        return tuple(
            worker
            for _, worker in sorted(found.items())
            if not task_type or task_type in _types(worker)
        )


def _key(*who: str) -> str:
    return orjson.dumps(who).decode()


def _load_to_json(load: TaskTypeLoad) -> JsonObject:
    written: dict[str, Any] = {"taskType": load.task_type}
    if load.domain:
        written["domain"] = load.domain
    return written | {"running": load.running, "capacity": load.capacity}


def _add(found: dict[str, dict[str, Any]], sign: Sign, said: Mapping[str, Any]) -> None:
    name = said["workerId"]
    times = {"lastSeen": sign.at_ms, "presentUntil": sign.until_ms}
    if "taskTypes" in said:
        loads = said["taskTypes"]
        totals = {each: sum(load[each] for load in loads) for each in ("running", "capacity")}
        found[name] = {**said, **totals, "reported": True, **times}
        return
    worker = found.setdefault(name, {"workerId": name, "taskTypes": [], "reported": False, **times})
    for each, at in times.items():
        worker[each] = max(worker[each], at)
    if not worker["reported"]:
        domain = {"domain": said["domain"]} if said["domain"] else {}
        worker["taskTypes"].append({"taskType": said["taskType"], **domain})


def _types(worker: Mapping[str, Any]) -> Iterable[str]:
    return (each["taskType"] for each in worker["taskTypes"])
