"""A real engine in memory behind the scripted server, so that its replies can be lost."""

from __future__ import annotations

import json
from typing import Any

from conductor_py.api import create_app
from conductor_py.sdk import Task
from conductor_py.testing.engine import MemoryEngine, memory_engine
from tests.sdk.stub import DROP, Reply, Request, StubServer

_PASSED = ("if-match",)


class Bridge:
    """Hands every request to the engine; the replies to the next ``losing`` of them are lost."""

    def __init__(self, stub: StubServer) -> None:
        self.engine: MemoryEngine = memory_engine()
        self.losing = 0
        self._front = create_app(self.engine.engine, instance="here").test_client()
        for method in ("GET", "POST", "PUT", "DELETE"):
            stub.on(method, "/api/.*", self._answer)

    def _answer(self, request: Request) -> Reply:
        query = {name: values[0] for name, values in request.query.items()}
        found = self._front.open(
            request.raw_path.partition("?")[0],
            method=request.method,
            query_string=query,
            data=request.body,
            headers={name: request.headers[name] for name in _PASSED if name in request.headers},
        )
        if self.losing:
            self.losing -= 1
            return DROP
        return Reply(found.status_code, found.data)

    def start(self, **task: Any) -> str:
        """Start a workflow of one long task."""
        long = {"name": "long", "taskReferenceName": "copy", "type": "SIMPLE", **task}
        return self.engine.start({"name": "copying", "version": 1, "tasks": [long]})

    def poll(self, lease_s: int = 5) -> Task:
        """Take the task."""
        (polled,) = self.engine.poll("long", lease_s=lease_s)
        return Task.from_json(json.loads(json.dumps(polled)))

    def lose_the_worker(self) -> None:
        """Let the lease end and offer the task again."""
        self.engine.clock.advance(seconds=6)
        self.engine.settle()
