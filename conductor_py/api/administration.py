"""Administration: settings in effect, servers, open tasks, looking at an execution now, results by
queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer, text
from conductor_py.api.front import Front, blueprint
from conductor_py.api.held import little
from conductor_py.errors import NotFound
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus
from conductor_py.wire.parameters import flag, number, wrong_segment

_RESULT_QUEUES: Final = MappingProxyType(
    {"COMPLETED": "conductor:COMPLETED", "FAILED": "conductor:FAILED"}
)
"""Statuses that a result can be sent with, and the name under which Conductor has a queue of it.
Here a result is applied before it is answered: nothing waits in them."""
_WORKER: Final = "queue"


def administration(front: Front, config: Mapping[str, str] | None = None) -> Blueprint:
    """Make the endpoints below ``/api/admin``; ``config`` are the settings in effect."""
    engine = front.engine

    def configuration() -> Answer:
        return json_answer({**(config or {}), "version": engine.version, "buildDate": ""})

    def open_tasks(task_type: str) -> Answer:
        start = number(request.args, "start", 0, least=0)
        count = number(request.args, "count", 100, least=0, most=front.max_results)
        found = engine.open_tasks.page(task_type, start=start, count=count)
        return json_answer(list(found))

    def sweep(workflow_id: str) -> Answer:
        swept = engine.repairs.sweep(workflow_id)
        return text(f"{str(swept).lower()}.{workflow_id}")

    def verify(workflow_id: str) -> Answer:
        return text(str(engine.repairs.verify(workflow_id)).lower())

    def event_queues() -> Answer:
        events = engine.events.handlers(_event, active_only=True)
        queues = {event: event.partition(":")[2] for event in events}
        if flag(request.args, "verbose"):
            return json_answer({event: {queue: 0} for event, queue in queues.items()})
        return json_answer(queues)

    def servers() -> Answer:
        return json_answer(list(engine.shards.servers()))

    routes = (
        ("GET", "/config", configuration),
        ("GET", "/servers", servers),
        ("GET", "/queues", event_queues),
        ("GET", "/task/<task_type>", open_tasks),
        ("POST", "/sweep/requeue/<workflow_id>", sweep),
        ("POST", "/consistency/verifyAndRepair/<workflow_id>", verify),
    )
    return blueprint("administration", "/api/admin", routes)


def result_queues(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/queue``: results from whoever is no worker."""
    tasks = front.engine.tasks

    def sizes() -> Answer:
        return json_answer(dict.fromkeys(_RESULT_QUEUES.values(), 0))

    def queues() -> Answer:
        return json_answer(dict(_RESULT_QUEUES))

    def by_ref(workflow_id: str, ref: str, status: str) -> Answer:
        output = front.body_object()
        if tasks.update_by_ref(workflow_id, ref, _status(status), output, _WORKER) is None:
            raise NotFound(f"No pending task of reference {ref} in workflow {workflow_id}.")
        return empty()

    def by_task(workflow_id: str, task_id: str, status: str) -> Answer:
        output = front.body_object()
        tasks.update_merged(workflow_id, task_id, _status(status), output, _WORKER)
        return empty()

    routes = (
        ("GET", "/size", sizes),
        ("GET", "/", queues),
        ("POST", "/update/<workflow_id>/<ref>/<status>", little(by_ref)),
        ("POST", "/update/<workflow_id>/task/<task_id>/<status>", little(by_task)),
    )
    return blueprint("result-queues", "/api/queue", routes)


def _event(handler: JsonObject) -> str:
    return str(handler["event"])


def _status(given: str) -> TaskStatus:
    if given not in _RESULT_QUEUES:
        message = f"must be one of {', '.join(_RESULT_QUEUES)}: there is no queue of any other"
        raise wrong_segment("status", message, given)
    return TaskStatus(given)
