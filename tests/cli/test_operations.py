"""Commands that act on executions: what each sends, and what it says."""

import json

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer

_BASE = "/api/workflow"


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (("pause",), ("PUT", "w-1/pause", {})),
        (("resume",), ("PUT", "w-1/resume", {})),
        (("retry",), ("POST", "w-1/retry", {"resumeSubworkflowTasks": ["false"]})),
        (("retry", "--subworkflows"), ("POST", "w-1/retry", {"resumeSubworkflowTasks": ["true"]})),
        (("restart", "--latest"), ("POST", "w-1/restart", {"useLatestDefinitions": ["true"]})),
        (("remove",), ("DELETE", "w-1/remove", {"archiveWorkflow": ["true"]})),
        (("remove", "--no-archive"), ("DELETE", "w-1/remove", {"archiveWorkflow": ["false"]})),
    ],
)
def test_verb_on_many_executions(
    run: Run,
    stub: StubServer,
    arguments: tuple[str, ...],
    sent: tuple[str, str, dict[str, list[str]]],
) -> None:
    method, path, query = sent
    stub.on(method, f"{_BASE}/.*", Reply(200))

    outcome = run("workflow", *arguments, "w-1", "w-2")

    assert (outcome.code, outcome.out) == (0, "")
    first, second = stub.requests
    assert (first.method, first.path, first.query) == (method, f"{_BASE}/{path}", query)
    assert second.path == f"{_BASE}/{path.replace('w-1', 'w-2')}"


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (("rerun", "w-1"), ("POST", "w-1/rerun", {})),
        (
            ("rerun", "w-1", "--from-task", "t-3", "--task-input", '{"a": 1}'),
            ("POST", "w-1/rerun", {"reRunFromTaskId": "t-3", "taskInput": {"a": 1}}),
        ),
        (
            ("rerun", "w-1", "--from-task", "t-3", "--mode", "TASK_ONLY"),
            ("POST", "w-1/rerun", {"reRunFromTaskId": "t-3", "mode": "TASK_ONLY"}),
        ),
        (
            ("skip", "w-1", "pack", "--output", '{"a": 1}'),
            ("PUT", "w-1/skiptask/pack", {"taskOutput": {"a": 1}}),
        ),
        (("jump", "w-1", "pack", "--task-input", '{"a": 1}'), ("POST", "w-1/jump/pack", {"a": 1})),
        (("upgrade", "w-1", "3"), ("POST", "w-1/upgrade", {"version": 3})),
        (
            ("force-success", "w-1", "pack", "--output", '{"a": 1}', "--by", "ann"),
            ("POST", "w-1/tasks/pack/force-success", {"output": {"a": 1}, "by": "ann"}),
        ),
    ],
)
def test_verb_on_one_execution(
    run: Run,
    stub: StubServer,
    arguments: tuple[str, ...],
    sent: tuple[str, str, dict[str, object]],
) -> None:
    method, path, body = sent
    stub.on("GET", f"{_BASE}/w-1", Reply(200, {"workflowId": "w-1", "tasks": []}))
    stub.on(method, f"{_BASE}/.*", Reply(200))

    outcome = run("workflow", *arguments)

    assert outcome.code == 0
    (request,) = stub.seen(method)
    assert (request.path, request.json()) == (f"{_BASE}/{path}", body)


def test_rerun_names_a_task_by_its_id_or_where_it_has_not_run_by_its_reference(
    run: Run, stub: StubServer
) -> None:
    defined = [{"taskReferenceName": "pack"}, {"taskReferenceName": "send"}]
    task = {"referenceTaskName": "pack", "taskId": "w-1-3"}
    execution = {"workflowDefinition": {"tasks": defined}, "tasks": [task]}
    stub.on("GET", f"{_BASE}/w-1", Reply(200, execution))
    stub.on("POST", f"{_BASE}/w-1/rerun", Reply(200, "w-1"))

    for ref in ("pack", "send"):
        assert run("workflow", "rerun", "w-1", "--from-task", ref).code == 0

    assert [request.json() for request in stub.seen("POST")] == [
        {"reRunFromTaskId": "w-1-3"},
        {"reRunFromTaskReferenceName": "send"},
    ]


def test_rerun_can_say_what_it_would_do(run: Run, stub: StubServer) -> None:
    stub.on("GET", f"{_BASE}/w-1", Reply(200, {"tasks": []}))
    found = {"runsAgain": ["b", "c"], "kept": [], "stale": ["z"]}
    stub.on("POST", f"{_BASE}/w-1/rerun", Reply(200, found))

    arguments = ("workflow", "rerun", "w-1", "--from-task", "t-3", "--mode", "TASK_PRE")
    outcome = run(*arguments, "--dry-run")

    assert outcome.code == 0
    assert outcome.out.split("\n")[:3] == ["runs again  b, c", "kept        -", "stale       z"]
    (request,) = stub.seen("POST")
    assert request.query == {"dryRun": ["true"]}
    assert json.loads(run(*arguments, "--dry-run", "--json").out) == found


def test_refusal_ends_the_command_with_its_sentence(run: Run, stub: StubServer) -> None:
    message = {"status": 409, "message": "Workflow w-1 has ended", "retryable": False}
    stub.on("PUT", f"{_BASE}/w-1/pause", Reply(409, message))

    outcome = run("workflow", "pause", "w-1")

    assert outcome.code == 1
    assert outcome.err.startswith("Error: ")
    assert "Workflow w-1 has ended" in outcome.err


def test_signal_prints_where_it_stands(run: Run, stub: StubServer) -> None:
    answer = {
        "targetWorkflowId": "w-1",
        "targetWorkflowStatus": "RUNNING",
        "referenceTaskName": "second",
        "output": {"v": 1},
    }
    stub.on("POST", "/api/tasks/w-1/COMPLETED/signal/sync", Reply(200, answer))

    outcome = run("workflow", "signal", "w-1", "--output", '{"v": 1}', "--return", "BLOCKING_TASK")

    assert outcome.code == 0
    assert "second" in outcome.out
    (request,) = stub.requests
    assert request.query == {"returnStrategy": ["BLOCKING_TASK"]}
    assert request.json() == {"v": 1}


@pytest.mark.parametrize(("status", "code"), [("RUNNING", 0), ("COMPLETED", 0), ("FAILED", 1)])
def test_signal_ends_with_1_when_the_execution_has_failed(
    run: Run, stub: StubServer, status: str, code: int
) -> None:
    answer = {"targetWorkflowId": "w-1", "targetWorkflowStatus": status, "status": "COMPLETED"}
    stub.on("POST", "/api/tasks/w-1/COMPLETED/signal/sync", Reply(200, answer))
    assert run("workflow", "signal", "w-1").code == code
    assert run("workflow", "signal", "w-1", "--json").code == code


def test_execute_waits_for_what_is_asked(run: Run, stub: StubServer) -> None:
    answer = {"workflowId": "w-1", "targetWorkflowStatus": "COMPLETED", "output": {"sum": 3}}
    stub.on("POST", f"{_BASE}/execute/sums/2", Reply(200, answer))

    outcome = run(
        *("workflow", "execute", "sums", "--version", "2", "--input", '{"a": 1}'),
        *("--until", "one", "--until", "two", "--wait", "3", "--json"),
    )

    assert json.loads(outcome.out) == answer
    (request,) = stub.requests
    assert request.query == {
        "waitForSeconds": ["3"],
        "waitUntilTaskRef": ["one,two"],
        "returnStrategy": ["TARGET_WORKFLOW"],
    }
    assert request.json() == {"name": "sums", "version": 2, "input": {"a": 1}}


def test_test_run_sends_mocks_by_reference(run: Run, stub: StubServer) -> None:
    stub.on("POST", f"{_BASE}/test", Reply(200, {"status": "COMPLETED", "output": {}}))

    run("workflow", "test", "orders", "--mocks", '{"a": [{"status": "COMPLETED"}]}')

    (request,) = stub.requests
    assert request.json()["taskRefToMockOutput"] == {"a": [{"status": "COMPLETED"}]}


def test_message_prints_its_id(run: Run, stub: StubServer) -> None:
    stub.on("POST", f"{_BASE}/w-1/messages", Reply(200, "m-1"))

    assert run("workflow", "message", "w-1", '{"a": 1}').out == "m-1\n"


def test_variables_are_printed_whole(run: Run, stub: StubServer) -> None:
    found = {"workflowId": "w-1", "variables": {"a": 1, "b": 2}}
    stub.on("POST", f"{_BASE}/w-1/variables", Reply(200, found))

    assert json.loads(run("workflow", "variables", "w-1", '{"a": 1}').out) == found["variables"]


def test_rerun_finds_the_newest_task_of_a_reference(run: Run, stub: StubServer) -> None:
    tasks = [
        {"taskId": "t-1", "referenceTaskName": "pack"},
        {"taskId": "t-2", "referenceTaskName": "pack"},
        {"taskId": "t-3", "referenceTaskName": "send"},
    ]
    stub.on("GET", f"{_BASE}/w-1", Reply(200, {"workflowId": "w-1", "tasks": tasks}))
    stub.on("POST", f"{_BASE}/w-1/rerun", Reply(200))

    run("workflow", "rerun", "w-1", "--from-task", "pack")

    assert stub.requests[-1].json() == {"reRunFromTaskId": "t-2"}


def test_dry_run_of_an_upgrade_prints_what_does_not_map(run: Run, stub: StubServer) -> None:
    finding = {"path": "$.tasks[2]", "message": "task 'w' is under way"}
    answer = {"upgradable": False, "validationErrors": [finding]}
    stub.on("POST", f"{_BASE}/w-1/upgrade", Reply(200, answer))

    outcome = run("workflow", "upgrade", "w-1", "3", "--dry-run")

    assert (outcome.code, outcome.out) == (1, "$.tasks[2]: task 'w' is under way\n")
    (request,) = stub.requests
    assert request.query == {"dryRun": ["true"]}


def test_a_test_run_shows_where_it_stands(run: Run, stub: StubServer) -> None:
    task = {"referenceTaskName": "pack", "taskType": "SIMPLE", "status": "SCHEDULED"}
    stub.on("POST", f"{_BASE}/test", Reply(200, {"status": "RUNNING", "tasks": [task]}))

    outcome = run("workflow", "test", "orders")

    assert "pack" in outcome.out
    assert "SCHEDULED" in outcome.out


def test_a_test_run_names_the_mocks_that_nothing_used(run: Run, stub: StubServer) -> None:
    tasks = [{"referenceTaskName": "pack__1", "taskType": "SIMPLE", "status": "COMPLETED"}]
    stub.on("POST", f"{_BASE}/test", Reply(200, {"status": "COMPLETED", "tasks": tasks}))
    mocks = '{"pack": [{"status": "COMPLETED"}], "pakc": [{"status": "COMPLETED"}]}'

    outcome = run("workflow", "test", "orders", "--mocks", mocks)

    assert outcome.err == "No task pakc was reached: its mocks were not used.\n"


def test_execute_says_when_its_time_is_over(run: Run, stub: StubServer) -> None:
    answer = {"workflowId": "w-1", "status": "RUNNING", "signalTimeout": True}
    stub.on("POST", f"{_BASE}/execute/orders/0", Reply(200, answer))

    assert "time to wait is over" in run("workflow", "execute", "orders").err


def test_get_says_that_an_execution_waits_for_its_turn(run: Run, stub: StubServer) -> None:
    found = {"workflowId": "w-1", "status": "RUNNING", "rateLimited": True, "rateLimitKey": "c-7"}
    stub.on("GET", f"{_BASE}/w-1", Reply(200, found))

    assert (
        "for its turn among those of the rate limit key 'c-7'" in run("workflow", "get", "w-1").out
    )


def test_report_ends_an_open_task(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/tasks/w-1/approve/COMPLETED", Reply(200, "t-4"))

    outcome = run("task", "report", "w-1", "approve", "--output", '{"by": "me"}')

    assert (outcome.code, outcome.out) == (0, "")
    assert "t-4" in outcome.err
    (request,) = stub.requests
    assert request.json() == {"by": "me"}


def test_report_on_nothing_open_fails(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/tasks/w-1/approve/FAILED", Reply(200, ""))

    outcome = run("task", "report", "w-1", "approve", "FAILED")

    assert (outcome.code, outcome.err) == (1, "Error: w-1 has no open task approve\n")


def test_logs_of_a_task_are_printed_with_their_times(run: Run, stub: StubServer) -> None:
    entries = [{"log": "step 1", "taskId": "t-1", "createdTime": 1_700_000_000_000}]
    stub.on("GET", "/api/tasks/t-1/log", Reply(200, entries))

    assert run("task", "logs", "t-1").out == "2023-11-14 22:13:20Z  step 1\n"


def test_get_says_when_an_execution_was_taken_up_again(run: Run, stub: StubServer) -> None:
    """The wire calls it retried; a rerun and a resume set it as well."""
    found = {"workflowId": "w-1", "status": "RUNNING", "lastRetriedTime": 1_700_000_000_000}
    stub.on("GET", f"{_BASE}/w-1", Reply(200, found))

    assert "taken up  2023-11-14 22:13:20Z" in run("workflow", "get", "w-1").out
