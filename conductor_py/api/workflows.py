"""Workflows: start, read, terminate, search."""

from __future__ import annotations

from functools import partial

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer, json_bytes, text
from conductor_py.api.facade import FoundPage
from conductor_py.api.front import Asked, Front, blueprint
from conductor_py.api.held import Held, little
from conductor_py.api.hot import HotView
from conductor_py.api.payloads import external_storage_location
from conductor_py.api.searches import loaded, run_search
from conductor_py.model.requests import StartRequest
from conductor_py.wire.parameters import (
    business,
    flag,
    number,
    priority,
    texts,
    wrong,
)
from conductor_py.wire.parameters import text as text_parameter
from conductor_py.wire.requests import read_start
from conductor_py.wire.summaries import search_result


def workflows(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/workflow``."""
    views = _Workflows(front)
    location = little(external_storage_location(front))
    return blueprint(
        "workflows",
        "/api/workflow",
        (
            ("POST", "", HotView(views.start, Held.LITTLE)),
            ("POST", "/<name>", HotView(views.start_by_name, Held.LITTLE)),
            ("GET", "/<workflow_id>", HotView(views.read)),
            ("DELETE", "/<workflow_id>", little(views.terminate)),
            ("GET", "/<workflow_id>/status", HotView(views.status)),
            ("GET", "/<workflow_id>/tasks", views.tasks),
            ("GET", "/running/<name>", views.running),
            ("GET", "/search", views.search),
            ("GET", "/search-v2", views.search_v2),
            ("GET", "/externalstoragelocation", location),
            ("GET", "/external-storage-location", location),
        ),
    )


class _Workflows:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._executions = front.engine.executions

    def start(self, asked: Asked) -> Answer:
        body = self._front.body(asked)
        return text(self._executions.start(read_start(body, self._front.definitions)))

    def start_by_name(self, asked: Asked, name: str) -> Answer:
        arguments = asked.args
        business_at, zone = business(arguments)
        started = StartRequest(
            name=name,
            version=number(arguments, "version") if arguments.get("version") else None,
            input=self._front.body_object(asked),
            correlation_id=text_parameter(arguments, "correlationId") or None,
            priority=priority(arguments, "priority"),
            business_at=business_at,
            zone=zone,
        )
        return text(self._executions.start(started))

    def read(self, asked: Asked, workflow_id: str) -> Answer:
        include = flag(asked.args, "includeTasks", default=True)
        read = partial(self._executions.json, workflow_id, include_tasks=include)
        return json_bytes(self._front.whole(read))

    def terminate(self, workflow_id: str) -> Answer:
        reason = text_parameter(request.args, "reason") or None
        trigger = flag(request.args, "triggerFailureWorkflow")
        self._executions.terminate(workflow_id, reason=reason, trigger_failure_workflow=trigger)
        return empty()

    def status(self, asked: Asked, workflow_id: str) -> Answer:
        found = self._executions.status(
            workflow_id,
            include_output=flag(asked.args, "includeOutput"),
            include_variables=flag(asked.args, "includeVariables"),
        )
        return json_answer(found)

    def tasks(self, workflow_id: str) -> Answer:
        first = number(request.args, "start", 0, least=0)
        count = number(request.args, "count", 15, least=0)
        wanted = frozenset(name.upper() for name in texts(request.args, "status"))
        page = self._front.whole(
            partial(self._executions.tasks, workflow_id, start=first, count=count, statuses=wanted)
        )
        return json_answer(search_result(page.total_hits, page.results))

    def running(self, name: str) -> Answer:
        version = number(request.args, "version", 1)
        since, until = number(request.args, "startTime"), number(request.args, "endTime")
        if not (since and until):
            return json_answer(list(self._executions.running(name)))
        found = self._front.engine.lookups.created(name, version, since_ms=since, until_ms=until)
        return json_answer(list(found))

    def search(self) -> Answer:
        page = self._found()
        return json_answer(search_result(page.total_hits, page.results))

    def search_v2(self) -> Answer:
        page = self._found()
        read = partial(self._executions.document, include_tasks=False)
        return json_answer(loaded(page, "workflowId", read))

    def _found(self) -> FoundPage:
        return run_search(self._executions.search, _query(), most=self._front.max_results)


def _query() -> str:
    """Join the query with what ``classifier`` and ``topLevelOnly`` add to it."""
    query = text_parameter(request.args, "query")
    terms = [f"({query})"] if query else []
    classifiers = texts(request.args, "classifier")
    if classifiers:
        listed = ", ".join(_quoted(name) for name in classifiers)
        terms.append(f"classifier IN ({listed})")
    if flag(request.args, "topLevelOnly"):
        terms.append('parentWorkflowId = ""')
    return query if terms == [f"({query})"] else " AND ".join(terms)


def _quoted(classifier: str) -> str:
    quote = "'" if '"' in classifier else '"'
    if quote in classifier or "\\" in classifier or "*" in classifier:
        message = "must not hold quotes of both kinds, backslashes or stars"
        raise wrong("classifier", message, classifier)
    return f"{quote}{classifier}{quote}"
