"""Clients that ask as fast as they are answered, whatever the answer is: a program.

It asks for so many seconds, and on until so many executions were accepted and one request was
refused. It writes one JSON object: how many answers of each status there were, the slowest of those
that were accepted in ms, how long the machine stood still meanwhile in ms, the ids of what was
started, and the answers that lack a time to come back.
"""

import http.client
import json
import sys
import threading
import time
from collections import Counter
from typing import Any

from tests.acceptance.deployment import Stalls

_JSON = {"Content-Type": "application/json"}
_ACCEPTED = 200
_REFUSED = 503


class Crowd:
    """Threads that start executions and poll for tasks nobody has."""

    def __init__(self, port: int, clients: int, seconds: float, enough: int, body: str) -> None:
        self._port = port
        self._enough = enough
        self._until = time.monotonic() + seconds
        self._body = body
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(clients)]
        self.statuses: Counter[str] = Counter()
        self.started: list[str] = []
        self.took_ms: list[float] = []
        self.without_time = 0

    def run(self) -> dict[str, Any]:
        with Stalls() as stalls:
            for thread in self._threads:
                thread.start()
            for thread in self._threads:
                thread.join()
        return {
            "statuses": self.statuses,
            "slowest_ms": max(self.took_ms, default=0.0),
            "stalled_ms": stalls.longest_ms,
            "started": self.started,
            "without_time": self.without_time,
        }

    def _ask(self, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        while not self._has_seen_enough():
            began = time.monotonic()
            try:
                if number % 4:
                    connection.request("POST", "/api/workflow", self._body, _JSON)
                else:
                    connection.request("GET", "/api/tasks/poll/batch/nothing?timeout=100")
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException) as error:
                self._note(type(error).__name__)
                connection.close()
                continue
            took_ms = (time.monotonic() - began) * 1000
            self._note(str(response.status))
            with self._lock:
                if response.status != _ACCEPTED:
                    self.without_time += response.getheader("Retry-After") is None
                elif number % 4:
                    self.took_ms.append(took_ms)
                    self.started.append(content.decode().strip('"'))

    def _has_seen_enough(self) -> bool:
        with self._lock:
            seen = len(self.started) >= self._enough and self.statuses[str(_REFUSED)] > 0
        return seen and time.monotonic() >= self._until

    def _note(self, status: str) -> None:
        with self._lock:
            self.statuses[status] += 1


if __name__ == "__main__":
    port, clients, seconds, enough, body = sys.argv[1:]
    crowd = Crowd(int(port), int(clients), float(seconds), int(enough), body)
    json.dump(crowd.run(), sys.stdout)
