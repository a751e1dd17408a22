"""Tasks: poll, report, keep, read, log, search.

Poll, batch poll and report are the hot routes of the whole system: they parse and answer without a
form where clients send what they usually send.
"""

from __future__ import annotations

from functools import partial

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer, json_bytes, no_content, text
from conductor_py.api.errors import envelope
from conductor_py.api.facade import FoundPage
from conductor_py.api.front import Asked, Front, blueprint
from conductor_py.api.held import Held, little
from conductor_py.api.hot import HotView
from conductor_py.api.payloads import external_storage_location
from conductor_py.api.searches import loaded, run_search
from conductor_py.decider.operators.system import TYPES as SYSTEM_TYPES
from conductor_py.errors import Forbidden, InvalidInput, NotFound
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import ExtendRequest, PollRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.wire.checkpoints import wanted_to_json
from conductor_py.wire.parameters import number, wrong_segment
from conductor_py.wire.parameters import text as text_parameter
from conductor_py.wire.requests import RESULT_STATUSES, read_extend, read_result
from conductor_py.wire.summaries import search_result

_SINGLE_POLL_MS = 100
_MAX_LEASE_S = 86_400
_GONE = 410


def tasks(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/tasks``, but for those about queues."""
    polls, reports, reads = _Polls(front), _Reports(front), _Reads(front)
    location = little(external_storage_location(front))
    return blueprint(
        "tasks",
        "/api/tasks",
        (
            ("GET", "/poll/<task_type>", HotView(polls.poll, Held.WORK)),
            ("GET", "/poll/batch/<task_type>", HotView(polls.poll_batch, Held.WORK)),
            ("POST", "", HotView(reports.update, Held.LITTLE)),
            ("POST", "/update-v2", HotView(reports.update_v2, Held.WORK)),
            ("POST", "/<workflow_id>/<ref>/<status>", little(reports.update_by_ref)),
            ("POST", "/<workflow_id>/<ref>/<status>/sync", reports.update_by_ref_sync),
            ("POST", "/<task_id>/extend", little(reports.extend)),
            ("POST", "/<task_id>/requeue", little(reports.requeue)),
            ("POST", "/<task_id>/log", little(reports.add_log)),
            ("GET", "/<task_id>/log", reads.log),
            ("GET", "/<task_id>", reads.read),
            ("GET", "/search", reads.search),
            ("GET", "/search-v2", reads.search_v2),
            ("GET", "/externalstoragelocation", location),
            ("GET", "/external-storage-location", location),
        ),
    )


class _Polls:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._tasks = front.engine.tasks

    def poll(self, asked: Asked, task_type: str) -> Answer:
        timeout_ms = self._patience(min(_SINGLE_POLL_MS, self._front.max_poll_ms))
        wanted = _poll_request(asked, task_type, count=1, timeout_ms=timeout_ms)
        found = self._tasks.poll(wanted, self._front.stop)
        return json_answer(found[0]) if found else no_content()

    def poll_batch(self, asked: Asked, task_type: str) -> Answer:
        count = min(number(asked.args, "count", 1), self._front.max_poll_count)
        most = self._front.max_poll_ms
        timeout_ms = max(number(asked.args, "timeout", min(100, most), most=most), 0)
        timeout_ms = self._patience(timeout_ms)
        if count < 1:  # of a worker that has no place for another task
            return json_answer([])
        wanted = _poll_request(asked, task_type, count=count, timeout_ms=timeout_ms)
        return json_answer(list(self._tasks.poll(wanted, self._front.stop)))

    def _patience(self, timeout_ms: int) -> int:
        """Where too many wait already, a poll gets what there is."""
        return 0 if self._front.is_crowded else timeout_ms


def _poll_request(asked: Asked, task_type: str, *, count: int, timeout_ms: int) -> PollRequest:
    if task_type in SYSTEM_TYPES:
        raise Forbidden(
            f"{task_type} tasks are carried out by the server, and handed to nobody: give a task"
            " for workers a name of its own."
        )
    return PollRequest(
        task_type=task_type,
        worker=text_parameter(asked.args, "workerid"),
        domain=text_parameter(asked.args, "domain"),
        count=count,
        timeout_ms=timeout_ms,
        lease_s=number(asked.args, "leaseSeconds", 0, least=0, most=_MAX_LEASE_S),
    )


class _Reports:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._tasks = front.engine.tasks

    def update(self, asked: Asked) -> Answer:
        return text(self._take(read_result(self._front.body(asked))))

    def update_v2(self, asked: Asked) -> Answer:
        result = read_result(self._front.body(asked))
        try:
            self._take(result)
            if isinstance(result, ExtendRequest) or not result.status.terminal:
                return no_content()
            following = self._next_task(asked, result)
        except NotFound as error:
            # 404 and 405 make the official Python workers give up this endpoint for good.
            return envelope(error, self._front.instance, status=_GONE)
        return json_answer(following) if following is not None else no_content()

    def update_by_ref(self, workflow_id: str, ref: str, status: str) -> Answer:
        found = self._by_ref(workflow_id, ref, status)
        return text(found) if found else empty()

    def update_by_ref_sync(self, workflow_id: str, ref: str, status: str) -> Answer:
        if self._by_ref(workflow_id, ref, status) is None:
            raise NotFound(f"No pending task of reference {ref} in workflow {workflow_id}.")
        read = partial(self._front.engine.executions.json, workflow_id)
        return json_bytes(self._front.whole(read))

    def extend(self, task_id: str) -> Answer:
        until = self._tasks.extend(read_extend(task_id, self._front.body()))
        answer: dict[str, object] = {"taskId": task_id, "leaseUntil": until}
        wanted = self._front.engine.checkpoints.wanted(task_id)
        if wanted is not None:
            answer["request"] = wanted_to_json(wanted)
        return json_answer(answer)

    def add_log(self, task_id: str) -> Answer:
        line = request.get_data(cache=False).decode("utf-8", "replace")
        if not line:
            raise InvalidInput("The body must be the line to log.")
        self._tasks.log(task_id, line)
        return empty()

    def requeue(self, task_id: str) -> Answer:
        self._front.engine.open_tasks.requeue(task_id)
        return no_content()

    def _take(self, result: TaskResult | ExtendRequest) -> str:
        if isinstance(result, ExtendRequest):
            self._tasks.extend_by_result(result.task_id, result.claim, result.worker)
        else:
            self._tasks.update(result)
        return result.task_id

    def _next_task(self, asked: Asked, result: TaskResult) -> JsonObject | None:
        done = self._tasks.document(result.task_id)
        if done["taskType"] in SYSTEM_TYPES:
            return None
        wanted = PollRequest(
            task_type=str(done["taskType"]),
            worker=result.worker,
            domain=str(done.get("domain") or ""),
            timeout_ms=0,
            lease_s=number(asked.args, "leaseSeconds", 0, least=0, most=_MAX_LEASE_S),
        )
        found = self._tasks.poll(wanted, self._front.stop)
        return found[0] if found else None

    def _by_ref(self, workflow_id: str, ref: str, status: str) -> str | None:
        if status not in RESULT_STATUSES:
            raise wrong_segment("status", f"must be one of {', '.join(RESULT_STATUSES)}", status)
        output = self._front.body_object()
        worker = text_parameter(request.args, "workerid")
        return self._tasks.update_by_ref(workflow_id, ref, TaskStatus(status), output, worker)


class _Reads:
    def __init__(self, front: Front) -> None:
        self._tasks = front.engine.tasks
        self._search = front.engine.executions.search_tasks
        self._max_results = front.max_results

    def read(self, task_id: str) -> Answer:
        return json_answer(self._tasks.document(task_id))

    def log(self, task_id: str) -> Answer:
        try:
            lines = self._tasks.logs(task_id)
        except NotFound:
            lines = ()
        return json_answer(list(lines)) if lines else no_content()

    def search(self) -> Answer:
        page = self._found()
        return json_answer(search_result(page.total_hits, page.results))

    def search_v2(self) -> Answer:
        page = self._found()
        return json_answer(loaded(page, "taskId", self._tasks.document))

    def _found(self) -> FoundPage:
        query = text_parameter(request.args, "query")
        return run_search(self._search, query, most=self._max_results)
