"""An engine that remembers what it was asked, and answers what it was told to."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from conductor_py.api.facade.definitions import BeforeHeavy, Told
from conductor_py.codec.definitions import task_def_to_json, workflow_to_json
from conductor_py.errors import Conflict, NotFound, Violation
from conductor_py.model.definitions import TaskDef, WorkflowDef
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import (
    ExtendRequest,
    ForceRequest,
    PollRequest,
    RerunPreview,
    RerunRequest,
    StartRequest,
    StateUpdate,
    TaskResult,
    UpgradeRequest,
    WaitRequest,
)
from conductor_py.model.status import TaskStatus
from conductor_py.model.trial import Trial

_T = TypeVar("_T")

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

    def json(self, execution: str, /, *, include_tasks: bool = True, patient: bool = True) -> bytes:
        return orjson.dumps(self.document(execution, include_tasks=include_tasks))

    def tasks(
        self,
        execution: str,
        /,
        *,
        start: int,
        count: int,
        statuses: Collection[str] = (),
        patient: bool = True,
    ) -> FakePage:
        listed: Any = self.document(execution)["tasks"]
        found = [task for task in listed if not statuses or task["status"] in statuses]
        return FakePage(total_hits=len(found), results=tuple(found[start : start + count]))

    def status(
        self, execution: str, /, *, include_output: bool, include_variables: bool
    ) -> JsonObject:
        return {"workflowId": execution, "o": include_output, "v": include_variables}

    def terminate(
        self, execution: str, /, *, reason: str | None, trigger_failure_workflow: bool = False
    ) -> None:
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
class FakeSteering:
    """Verbs by name, with what they were asked."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    failure: Exception | None = None

    def pause(self, execution: str, /) -> None:
        self._ask("pause", execution)

    def resume(self, execution: str, /) -> None:
        self._ask("resume", execution)

    def skip(
        self, execution: str, ref: str, /, *, task_input: JsonObject, task_output: JsonObject
    ) -> None:
        self._ask("skip", execution, ref, task_input, task_output)

    def set_variables(self, execution: str, variables: JsonObject, /) -> JsonObject:
        self._ask("variables", execution, variables)
        return {"workflowId": execution, "variables": variables}

    def reset_callbacks(self, execution: str, /) -> None:
        self._ask("reset_callbacks", execution)

    def decide(self, execution: str, /) -> None:
        self._ask("decide", execution)

    def remove(self, execution: str, /, *, archive: bool) -> None:
        self._ask("remove", execution, archive)

    def _ask(self, *asked: Any) -> None:
        if self.failure:
            raise self.failure
        self.asked.append(asked)


@dataclass(kw_only=True)
class FakeRecovery:
    """Verbs by name, with what they were asked."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    found: tuple[Violation, ...] = ()

    def retry(self, execution: str, /, *, resume_subworkflows: bool = False) -> None:
        self.asked.append(("retry", execution, resume_subworkflows))

    def restart(self, execution: str, /, *, use_latest: bool = False) -> None:
        self.asked.append(("restart", execution, use_latest))

    def rerun(self, execution: str, request: RerunRequest, /) -> str:
        self.asked.append(("rerun", execution, request))
        return execution

    def preview_rerun(self, execution: str, request: RerunRequest, /) -> RerunPreview:
        self.asked.append(("preview", execution, request))
        return RerunPreview(runs_again=("b",), kept=("a",), stale=("c",))

    def force_success(self, execution: str, ref: str, request: ForceRequest, /) -> None:
        self.asked.append(("force_success", execution, ref, request))

    def jump(self, execution: str, ref: str, task_input: JsonObject, /) -> None:
        self.asked.append(("jump", execution, ref, task_input))

    def upgrade(self, execution: str, request: UpgradeRequest, /) -> None:
        self.asked.append(("upgrade", execution, request))

    def check_upgrade(self, execution: str, request: UpgradeRequest, /) -> tuple[Violation, ...]:
        self.asked.append(("check", execution, request))
        return self.found


@dataclass(kw_only=True)
class FakeAwaiting:
    """Answers at once with what it was told to, and remembers what was asked."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    found: JsonObject = field(default_factory=dict)

    def execute(
        self, request: StartRequest, wait: WaitRequest, stop: threading.Event | None, /
    ) -> JsonObject:
        self.asked.append((request, wait))
        return self.found

    def signal(self, execution: str, status: TaskStatus, output: JsonObject, /) -> bool:
        self.asked.append((execution, status, output))
        return False

    def signal_and_wait(
        self,
        execution: str,
        status: TaskStatus,
        output: JsonObject,
        wait: WaitRequest,
        stop: threading.Event | None,
        /,
    ) -> JsonObject:
        self.asked.append((execution, status, output, wait))
        return self.found

    def update_state(
        self,
        execution: str,
        update: StateUpdate,
        wait: WaitRequest,
        stop: threading.Event | None,
        /,
    ) -> JsonObject:
        self.asked.append((execution, update, wait))
        return self.found


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
        if self.failure:
            raise self.failure
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

    def update_merged(
        self, workflow_id: str, task_id: str, status: TaskStatus, output: JsonObject, worker: str
    ) -> None:
        before = self.document(task_id).get("outputData")
        merged = {**(before if isinstance(before, dict) else {}), **output}
        self.reported.append(
            TaskResult(
                workflow_id=workflow_id,
                task_id=task_id,
                status=status,
                output=merged,
                worker=worker,
            )
        )

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

    def validate(self, definition: WorkflowDef, /) -> Sequence[Violation]:
        self.validated.append(definition)
        return ()

    def workflow(self, name: str, version: int | None, /) -> bytes:
        versions = [found for known, found in self.stored if known == name]
        wanted = max(versions, default=0) if version is None else version
        if wanted not in versions:
            raise NotFound(f"No such workflow found by name: {name}, version: {version}")
        return orjson.dumps(workflow_to_json(self.stored[name, wanted]))

    def workflows(self, told: Told[_T], before_heavy: BeforeHeavy, /) -> Sequence[_T]:
        return [told(workflow_to_json(found)) for found in self.stored.values()]

    def latest(self, told: Told[_T], before_heavy: BeforeHeavy, /) -> Sequence[_T]:
        newest: dict[str, WorkflowDef] = {}
        for _, found in sorted(self.stored.items()):
            newest[found.name] = found
        return [told(workflow_to_json(found)) for found in newest.values()]

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

    def tasks(self, told: Told[_T], before_heavy: BeforeHeavy, /) -> Sequence[_T]:
        return [told(task_def_to_json(found)) for found in self.stored_tasks.values()]

    def delete_task(self, name: str, /) -> None:
        self.task(name)
        del self.stored_tasks[name]


@dataclass(kw_only=True)
class FakeTrials:
    """Remembers trials."""

    run_: list[Trial] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)

    def run(self, trial: Trial, /) -> JsonObject:
        self.run_.append(trial)
        return self.document


@dataclass(kw_only=True)
class FakeLookups:
    """Remembers what was looked for."""

    asked: list[Any] = field(default_factory=list)
    page: FakePage = field(default_factory=lambda: FakePage(total_hits=0, results=()))

    def correlated(
        self, names: Sequence[str], correlation_ids: Sequence[str], **more: bool
    ) -> Sequence[JsonObject]:
        self.asked.append((tuple(names), tuple(correlation_ids), more))
        return ()

    def created(self, name: str, version: int, **window: int) -> Sequence[str]:
        self.asked.append((name, version, window))
        return (WORKFLOW_ID,)

    def by_tasks(self, **asked: Any) -> FakePage:
        self.asked.append(asked)
        return self.page


@dataclass(kw_only=True)
class FakeOpenTasks:
    """Knows one task, which a worker has."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def page(self, task_type: str, *, start: int, count: int) -> Sequence[JsonObject]:
        self.asked.append((task_type, start, count))
        return [{"taskType": task_type}]

    def requeue(self, task: str, /) -> None:
        if task != TASK_ID:
            raise NotFound(f"No such task found by id: {task}")
        self.asked.append((task,))

    def requeue_all(self, task_type: str, /) -> int:
        self.asked.append((task_type,))
        return 3


class FakeRepairs:
    """Knows one execution."""

    def sweep(self, execution: str, /) -> bool:
        if execution != WORKFLOW_ID:
            raise NotFound(f"No such workflow found by id: {execution}")
        return True

    def verify(self, execution: str, /) -> bool:
        return not self.sweep(execution)


class FakePayloads:
    """Hands out one place."""

    uri: str | None = "https://store.example/x?signature=s"

    def location(self, operation: str, payload_type: str, path: str) -> tuple[str | None, str]:
        return self.uri, path or f"{payload_type.lower()}/x.json"


@dataclass(kw_only=True)
class FakeMessages:
    """Remembers what was sent."""

    pushed: list[tuple[str, JsonObject]] = field(default_factory=list)
    error: Exception | None = None

    def push(self, execution: str, payload: JsonObject, /) -> str:
        if self.error is not None:
            raise self.error
        self.pushed.append((execution, payload))
        return "00000000-0000-4000-8000-000000000001"


class FakeSchedules:
    """Has none: the endpoints are tested over a real engine."""

    def __getattr__(self, name: str) -> Any:
        return self._missing

    def _missing(self, *_given: object, **_named: object) -> Any:
        raise NotFound


class FakeCheckpoints:
    """Nobody asks anything of a task."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


@dataclass(kw_only=True)
class FakeEngine:
    """The engine as the HTTP front knows it."""

    executions: FakeExecutions = field(default_factory=FakeExecutions)
    steering: FakeSteering = field(default_factory=FakeSteering)
    recovery: FakeRecovery = field(default_factory=FakeRecovery)
    awaiting: FakeAwaiting = field(default_factory=FakeAwaiting)
    tasks: FakeTasks = field(default_factory=FakeTasks)
    definitions: FakeDefinitions = field(default_factory=FakeDefinitions)
    trials: FakeTrials = field(default_factory=FakeTrials)
    lookups: FakeLookups = field(default_factory=FakeLookups)
    open_tasks: FakeOpenTasks = field(default_factory=FakeOpenTasks)
    repairs: FakeRepairs = field(default_factory=FakeRepairs)
    messages: FakeMessages = field(default_factory=FakeMessages)
    events: Any = None
    checkpoints: Any = field(default_factory=FakeCheckpoints)
    schedules: Any = field(default_factory=FakeSchedules)
    backfills: Any = field(default_factory=FakeSchedules)
    workers: Any = None
    why: Any = None
    auditor: Any = None
    quarantine: Any = None
    shards: Any = None
    schemas: Any = None
    codes: Any = None
    catalog: Any = None
    publishing: Any = None
    lineages: Any = None
    exporting: Any = None
    importing: Any = None
    applying: Any = None
    tags: Any = field(default_factory=FakeSchedules)
    secrets: Any = None
    environment: Any = None
    payloads: FakePayloads = field(default_factory=FakePayloads)
    version: str = "1.2.3"
    healthy: bool = True

    def health(self) -> JsonObject:
        return {"healthy": self.healthy}
