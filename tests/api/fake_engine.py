"""An engine that remembers what it was asked, and answers what it was told to."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from conductor_py.codec.definitions import task_def_to_json, workflow_to_json
from conductor_py.errors import Conflict, NotFound
from conductor_py.model.definitions import TaskDef, WorkflowDef
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import ExtendRequest, PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus

WORKFLOW_ID = "00000000-0000-0000-0000-000000000001"
TASK_ID = f"{WORKFLOW_ID}-1"


@dataclass(kw_only=True)
class FakePage:
    """A page of results."""

    total_hits: int
    results: tuple[JsonObject, ...]


@dataclass(kw_only=True)
class FakeExecutions:
    """Executions by id, and what was asked."""

    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    page: FakePage = field(default_factory=lambda: FakePage(total_hits=0, results=()))
    started: list[StartRequest] = field(default_factory=list)
    terminated: list[tuple[str, str | None]] = field(default_factory=list)
    searched: list[dict[str, Any]] = field(default_factory=list)
    failure: Exception | None = None

    def start(self, request: StartRequest, /) -> ExecutionId:
        if self.failure:
            raise self.failure
        self.started.append(request)
        return ExecutionId(WORKFLOW_ID)

    def document(self, execution: str, /, *, include_tasks: bool = True) -> JsonObject:
        if execution not in self.documents:
            raise NotFound(f"No such workflow found by id: {execution}")
        found = self.documents[execution]
        return found if include_tasks else {**found, "tasks": []}

    def status(
        self, execution: str, /, *, include_output: bool, include_variables: bool
    ) -> JsonObject:
        return {"workflowId": execution, "o": include_output, "v": include_variables}

    def terminate(self, execution: str, /, *, reason: str | None) -> None:
        if self.document(execution)["status"] == "COMPLETED":
            raise Conflict("Cannot terminate a COMPLETED workflow.")
        self.terminated.append((execution, reason))

    def running(self, name: str, /) -> Sequence[str]:
        return (WORKFLOW_ID,) if name == "thumbs" else ()

    def search(self, **asked: Any) -> FakePage:
        self.searched.append(asked)
        return self.page

    def search_tasks(self, **asked: Any) -> FakePage:
        self.searched.append(asked)
        return self.page


@dataclass(kw_only=True)
class FakeTasks:
    """Tasks that wait to be polled, and what was reported."""

    waiting: list[JsonObject] = field(default_factory=list)
    documents: dict[str, JsonObject] = field(default_factory=dict)
    polled: list[PollRequest] = field(default_factory=list)
    reported: list[TaskResult] = field(default_factory=list)
    by_ref: list[tuple[str, str, TaskStatus, JsonObject, str]] = field(default_factory=list)
    extended: list[ExtendRequest | tuple[str, int, str]] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)
    failure: Exception | None = None
    pending_ref: str = "resize_1"

    def poll(self, request: PollRequest, /, stop: threading.Event | None) -> Sequence[JsonObject]:
        self.polled.append(request)
        taken, self.waiting = self.waiting[: request.count], self.waiting[request.count :]
        return tuple(taken)

    def update(self, result: TaskResult, /) -> None:
        if self.failure:
            raise self.failure
        self.reported.append(result)

    def update_by_ref(
        self, workflow_id: str, ref: str, status: TaskStatus, output: JsonObject, worker: str
    ) -> str | None:
        self.by_ref.append((workflow_id, ref, status, output, worker))
        return TASK_ID if ref == self.pending_ref else None

    def extend(self, request: ExtendRequest, /) -> int:
        if self.failure:
            raise self.failure
        self.extended.append(request)
        return 1_767_225_600_000

    def extend_by_result(self, task_id: str, claim: int, worker: str) -> None:
        self.extended.append((task_id, claim, worker))

    def document(self, task_id: str, /) -> JsonObject:
        if task_id not in self.documents:
            raise NotFound(f"No such task found by id: {task_id}")
        return self.documents[task_id]

    def log(self, task_id: str, line: str) -> None:
        self.lines.setdefault(task_id, []).append(line)

    def logs(self, task_id: str, /) -> Sequence[JsonObject]:
        return [{"log": line, "taskId": task_id} for line in self.lines.get(task_id, ())]

    def queue_sizes(self, types: Sequence[str] | None, /) -> Mapping[str, int]:
        sizes = {"resize": 3, "eu:resize@ns-group": 2}
        return sizes if types is None else {name: sizes[name] for name in types if name in sizes}

    def queue_sizes_by_shard(self) -> Mapping[str, Mapping[str, object]]:
        return {"resize": {"s1": 2, "s0": 1}}

    def poll_data(self, task_type: str | None, /) -> Sequence[JsonObject]:
        return [{"queueName": task_type or "resize", "lastPollTime": 1}]


@dataclass(kw_only=True)
class FakeDefinitions:
    """Definitions in memory."""

    stored: dict[tuple[str, int], WorkflowDef] = field(default_factory=dict)
    stored_tasks: dict[str, TaskDef] = field(default_factory=dict)
    validated: list[WorkflowDef] = field(default_factory=list)

    def register(self, definition: WorkflowDef, /, *, overwrite: bool) -> None:
        key = (definition.name, definition.version)
        if key in self.stored and not overwrite:
            raise Conflict("Workflow with that name and version exists.")
        self.stored[key] = definition

    def update(self, definitions: Sequence[WorkflowDef], /) -> JsonObject:
        for definition in definitions:
            self.register(definition, overwrite=True)
        names = [definition.name for definition in definitions]
        return {"bulkErrorResults": {}, "bulkSuccessfulResults": names}

    def validate(self, definition: WorkflowDef, /) -> None:
        self.validated.append(definition)

    def workflow(self, name: str, version: int | None, /) -> bytes:
        versions = [found for known, found in self.stored if known == name]
        wanted = max(versions, default=0) if version is None else version
        if wanted not in versions:
            raise NotFound(f"No such workflow found by name: {name}, version: {version}")
        return orjson.dumps(workflow_to_json(self.stored[name, wanted]))

    def workflows(self) -> Sequence[JsonObject]:
        return [workflow_to_json(found) for found in self.stored.values()]

    def delete(self, name: str, version: int, /) -> None:
        if self.stored.pop((name, version), None) is None:
            raise NotFound

    def register_tasks(self, definitions: Sequence[TaskDef], /) -> None:
        self.stored_tasks.update({found.name: found for found in definitions})

    def update_task(self, definition: TaskDef, /) -> None:
        self.task(definition.name)
        self.stored_tasks[definition.name] = definition

    def task(self, name: str, /) -> bytes:
        if name not in self.stored_tasks:
            raise NotFound(f"No such task definition: {name}")
        return orjson.dumps(task_def_to_json(self.stored_tasks[name]))

    def tasks(self) -> Sequence[JsonObject]:
        return [task_def_to_json(found) for found in self.stored_tasks.values()]

    def delete_task(self, name: str, /) -> None:
        self.task(name)
        del self.stored_tasks[name]


class FakePayloads:
    """Hands out one place."""

    uri: str | None = "https://store.example/x?signature=s"

    def location(self, operation: str, payload_type: str, path: str) -> tuple[str | None, str]:
        return self.uri, path or f"{payload_type.lower()}/x.json"


@dataclass(kw_only=True)
class FakeEngine:
    """The engine as the HTTP front knows it."""

    executions: FakeExecutions = field(default_factory=FakeExecutions)
    tasks: FakeTasks = field(default_factory=FakeTasks)
    definitions: FakeDefinitions = field(default_factory=FakeDefinitions)
    payloads: FakePayloads = field(default_factory=FakePayloads)
    version: str = "1.2.3"
    healthy: bool = True

    def health(self) -> JsonObject:
        return {"healthy": self.healthy}
