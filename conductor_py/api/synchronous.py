"""Calls that wait: execute, signal, and update of state; and the signal that does not wait.

They answer when the execution blocks or ends, at the latest after the time that they were given; a
server that is being stopped answers at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer
from conductor_py.api.front import Front, blueprint
from conductor_py.api.held import little
from conductor_py.errors import Overloaded
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest, WaitRequest
from conductor_py.model.status import TaskStatus
from conductor_py.wire.parameters import number, number_segment, text, texts, wrong, wrong_segment
from conductor_py.wire.requests import RESULT_STATUSES, read_start
from conductor_py.wire.signal import STRATEGIES, TARGET_WORKFLOW
from conductor_py.wire.steering import read_state

_WAIT_S: Final = 10
_SIGNAL_WAIT_MS: Final = 5_000
_OWN: Final = frozenset({"version", "requestId", "waitUntilTaskRef", "waitForSeconds"})


def executing(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/workflow`` that wait."""
    views = _Synchronous(front)
    return blueprint(
        "executing",
        "/api/workflow",
        (
            ("POST", "/execute/<name>/<version>", views.execute),
            ("POST", "/execute/<name>", views.call),
            ("GET", "/execute/<name>", views.call_by_query),
            ("POST", "/<workflow_id>/state", views.update_state),
        ),
    )


def signals(front: Front) -> Blueprint:
    """Make the signal endpoints below ``/api/tasks``."""
    views = _Synchronous(front)
    return blueprint(
        "signals",
        "/api/tasks",
        (
            ("POST", "/<workflow_id>/<status>/signal", little(views.signal)),
            ("POST", "/<workflow_id>/<status>/signal/sync", views.signal_and_wait),
        ),
    )


class _Synchronous:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._awaiting = front.engine.awaiting

    def execute(self, name: str, version: str) -> Answer:
        wanted = _version(version)
        # Name and version stand in the path; the body need not repeat them.
        body = {**self._front.body_object(), "name": name}
        started = read_start(body, self._front.definitions)
        started = replace(started, version=wanted or None)
        if started.definition is not None and started.definition.tasks:
            given = started.input.get("_systemMetadata")
            metadata = {**(given if isinstance(given, Mapping) else {}), "dynamic": True}
            started = replace(started, input={**started.input, "_systemMetadata": metadata})
        return json_answer(self._execute(started, self._wait(strategy=_strategy())))

    def call(self, name: str) -> Answer:
        return self._call(name, self._front.body_object())

    def call_by_query(self, name: str) -> Answer:
        given = {key: value for key, value in request.args.items() if key not in _OWN}
        return self._call(name, given)

    def update_state(self, workflow_id: str) -> Answer:
        update = read_state(self._front.body_object())
        seconds = number(request.args, "waitForSeconds", _WAIT_S, least=0)
        wait = self._waiting(seconds * 1000, TARGET_WORKFLOW)
        found = self._awaiting.update_state(workflow_id, update, wait, self._front.stop)
        return json_answer(found)

    def signal(self, workflow_id: str, status: str) -> Answer:
        self._awaiting.signal(workflow_id, _status(status), self._front.body_object())
        return empty()

    def signal_and_wait(self, workflow_id: str, status: str) -> Answer:
        timeout_ms = number(request.args, "timeoutMillis", _SIGNAL_WAIT_MS, least=0)
        found = self._awaiting.signal_and_wait(
            workflow_id,
            _status(status),
            self._front.body_object(),
            self._waiting(timeout_ms, _strategy()),
            self._front.stop,
        )
        return json_answer(found)

    def _call(self, name: str, given: JsonObject) -> Answer:
        """A workflow as a function: its input in, its output out."""
        version = number(request.args, "version", least=0) or None
        started = StartRequest(name=name, version=version, input=given)
        found = self._execute(started, self._wait())
        answer = json_answer(found["output"])
        answer.headers["X-Workflow-Id"] = str(found["workflowId"])
        answer.headers["X-Workflow-Status"] = str(found["status"])
        return answer

    def _execute(self, started: StartRequest, wait: WaitRequest) -> JsonObject:
        return self._awaiting.execute(started, wait, self._front.stop)

    def _wait(self, strategy: str = TARGET_WORKFLOW) -> WaitRequest:
        # Conductor reads 0 as nothing said.
        seconds = number(request.args, "waitForSeconds", least=0) or _WAIT_S
        return self._waiting(seconds * 1000, strategy)

    def _waiting(self, timeout_ms: int, strategy: str) -> WaitRequest:
        if timeout_ms and self._front.is_crowded:
            raise Overloaded("Too many calls wait at this server; nothing was done. Try again.")
        name = str(uuid.uuid4())
        return WaitRequest(
            topic=f"wait:{name}",
            timeout_ms=min(timeout_ms, self._front.max_wait_ms),
            refs=texts(request.args, "waitUntilTaskRef"),
            strategy=strategy,
            request_id=text(request.args, "requestId") or name,
        )


def _strategy() -> str:
    strategy = text(request.args, "returnStrategy", TARGET_WORKFLOW)
    if strategy not in STRATEGIES:
        raise wrong("returnStrategy", f"must be one of {', '.join(STRATEGIES)}", strategy)
    return strategy


def _status(status: str) -> TaskStatus:
    if status not in RESULT_STATUSES:
        raise wrong_segment("status", f"must be one of {', '.join(RESULT_STATUSES)}", status)
    return TaskStatus(status)


def _version(version: str) -> int:
    return number_segment("version", version, "must be a number; 0 stands for the latest")
