"""Commands that talk to a server: data on standard output, messages on standard error."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, Request, StubServer

_ID = "000f0000-0000-0000-0000-000000000001"


def test_start_prints_the_id_and_nothing_else(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/workflow", Reply(200, _ID))

    outcome = run("workflow", "start", "orders", "--input", '{"n": 1}', "--priority", "7")

    assert (outcome.code, outcome.out, outcome.err) == (0, f"{_ID}\n", "")
    (request,) = stub.seen("POST")
    assert request.json() == {"name": "orders", "input": {"n": 1}, "priority": 7}


def test_a_priority_may_be_a_name(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/workflow", Reply(200, _ID))

    assert run("workflow", "start", "orders", "--priority", "high").code == 0

    assert stub.seen("POST")[0].json()["priority"] == "HIGH"


@pytest.mark.parametrize("given", ["URGENT", "100", "-1", "1.5", "", "٣", "9" * 5000])
def test_a_priority_that_is_none_is_told_with_those_that_there_are(
    run: Run, stub: StubServer, given: str
) -> None:
    outcome = run("workflow", "start", "orders", f"--priority={given}")

    assert (outcome.code, stub.requests) == (2, [])
    assert "neither a number from 0 to 99 nor one of HIGHEST, HIGH, MEDIUM, LOW," in " ".join(
        outcome.err.split()
    )


def test_a_start_says_what_it_is_about(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/workflow", Reply(200, _ID))

    said = ("--business-time", "2026-11-24", "--zone", "Europe/Berlin")
    assert run("workflow", "start", "orders", *said).code == 0

    body = stub.seen("POST")[0].json()
    assert (body["businessTime"], body["zoneId"]) == ("2026-11-24", "Europe/Berlin")


def test_start_takes_input_from_a_file_and_from_standard_input(
    run: Run, stub: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.on("POST", "/api/workflow", Reply(200, _ID))
    file = tmp_path / "input.json"
    file.write_text('{"from": "file"}')
    monkeypatch.setattr("sys.stdin", io.StringIO('{"from": "stdin"}'))

    run("workflow", "start", "orders", "--input", f"@{file}")
    run("workflow", "start", "orders", "--input", "-")

    sent = [request.json()["input"] for request in stub.seen("POST")]
    assert sent == [{"from": "file"}, {"from": "stdin"}]


def test_start_takes_a_part_of_a_dag(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/workflow", Reply(200, "w-1"))
    nodes = ("--start-node", "a", "--start-node", "b", "--depend-mode", "TASK_PRE")
    assert run("workflow", "start", "nightly", *nodes).code == 0
    (request,) = stub.requests
    sent = request.json()
    assert (sent["startNodes"], sent["dependMode"]) == (["a", "b"], "TASK_PRE")


def test_start_takes_an_inline_definition(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/workflow", Reply(200, _ID))

    outcome = run("workflow", "start", "--definition", '{"name": "x", "tasks": []}', "--json")

    assert json.loads(outcome.out) == {"workflowId": _ID}
    assert stub.seen("POST")[0].json()["workflowDef"] == {"name": "x", "tasks": []}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("workflow", "start"), "give a NAME or a --definition"),
        (("workflow", "start", "x", "--input", "{"), "is not JSON"),
        (("workflow", "start", "x", "--input", "[1]"), "a JSON object is wanted"),
        (("workflow", "start", "x", "--input", "@missing.json"), "missing.json cannot be read"),
        (("workflow", "start", "x", "--priority", "100"), "'100' is neither a number"),
    ],
)
def test_wrong_usage_is_2_and_sends_nothing(
    run: Run, stub: StubServer, arguments: tuple[str, ...], sentence: str
) -> None:
    outcome = run(*arguments)

    assert outcome.code == 2
    assert outcome.out == ""
    assert sentence in outcome.err
    assert stub.requests == []


def test_an_error_of_the_server_is_1_with_its_sentence(run: Run, stub: StubServer) -> None:
    message = {"status": 404, "message": "No such workflow found by id: x", "retryable": False}
    stub.on("GET", "/api/workflow/x", Reply(404, message))

    outcome = run("workflow", "get", "x")

    assert (outcome.code, outcome.out) == (1, "")
    assert "No such workflow found by id: x" in outcome.err


def test_violations_are_listed(run: Run, stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "definition.json"
    file.write_text('{"name": "x", "tasks": [{}]}')
    wrong = [{"path": "$.tasks[0].name", "message": "must be given"}]
    body = {"status": 400, "message": "Validation failed", "validationErrors": wrong}
    stub.on("POST", "/api/metadata/workflow/validate", Reply(400, body))

    outcome = run("definition", "register", str(file))

    assert outcome.code == 1
    assert "  x: $.tasks[0].name: must be given" in outcome.err
    assert not stub.seen("POST", ".*workflow$")


@pytest.mark.parametrize("verb", ["register", "validate"])
def test_of_several_definitions_all_that_are_wrong_are_named(
    run: Run, stub: StubServer, tmp_path: Path, verb: str
) -> None:
    file = tmp_path / "definitions.json"
    names = ("right", "wrong", "wrong too")
    file.write_text(json.dumps([{"name": name, "tasks": [{}]} for name in names]))

    def check(request: Request) -> Reply:
        if request.json()["name"] == "right":
            return Reply(200, {"warnings": []})
        found = [{"path": "$.tasks[0].name", "message": "must be given"}]
        body = {"status": 400, "message": "Validation failed", "validationErrors": found}
        return Reply(400, body)

    stub.on("POST", "/api/metadata/workflow/validate", check)
    outcome = run("definition", verb, str(file))
    assert outcome.code == 1
    assert "2 of 3 workflow definitions wrong; nothing is registered" in outcome.err
    for name in names[1:]:
        assert f"  {name}: $.tasks[0].name: must be given" in outcome.err
    assert not stub.seen("POST", ".*workflow$")


@pytest.mark.parametrize("verb", ["register", "validate"])
def test_what_is_hardly_meant_in_a_definition_is_said(
    run: Run, stub: StubServer, tmp_path: Path, verb: str
) -> None:
    file = tmp_path / "definition.json"
    file.write_text('{"name": "x", "tasks": [{}]}')
    said = [{"path": "$.tasks[0]", "message": "has no JOIN"}]
    stub.on("POST", "/api/metadata/workflow/validate", Reply(200, {"warnings": said}))
    stub.on("POST", "/api/metadata/workflow", Reply(200))

    outcome = run("definition", verb, str(file))

    assert outcome.code == 0
    assert "warning: x: $.tasks[0] has no JOIN" in outcome.err
    assert len(stub.seen("POST", ".*workflow$")) == (verb == "register")


def test_of_two_versions_of_a_definition_what_is_said_of_both_is_told(
    run: Run, stub: StubServer, tmp_path: Path
) -> None:
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps([{"name": "x", "version": n, "tasks": [{}]} for n in (1, 2)]))

    def check(request: Request) -> Reply:
        said = {"path": "$", "message": f"of version {request.json()['version']}"}
        return Reply(200, {"warnings": [said]})

    stub.on("POST", "/api/metadata/workflow/validate", check)
    outcome = run("definition", "validate", str(file))
    assert outcome.code == 0
    assert "warning: x: $ of version 1" in outcome.err
    assert "warning: x: $ of version 2" in outcome.err


def test_a_check_of_definitions_prints_json(run: Run, stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "definition.json"
    file.write_text('[{"name": "x", "tasks": [{}]}, {"name": "a task"}]')
    for kind in ("workflow", "taskdefs"):
        stub.on("POST", f"/api/metadata/{kind}/validate", Reply(200, {"warnings": []}))

    outcome = run("definition", "validate", str(file), "--json")

    assert (outcome.code, json.loads(outcome.out)) == (0, {"x": [], "a task": []})


def test_a_check_of_task_definitions_says_what_it_has_checked(
    run: Run, stub: StubServer, tmp_path: Path
) -> None:
    file = tmp_path / "definition.json"
    file.write_text('[{"name": "a"}, {"name": "b", "retryCuont": 1}]')

    def check(request: Request) -> Reply:
        said = [{"path": "$.name", "message": "only the server knows"}]
        return Reply(200, {"warnings": said if request.json()["name"] == "b" else []})

    stub.on("POST", "/api/metadata/taskdefs/validate", check)
    outcome = run("definition", "validate", str(file))
    assert (outcome.code, outcome.out) == (0, "task a is right\ntask b would be accepted\n")
    assert "warning: b: $.retryCuont is not a known member; did you mean retryCount?" in outcome.err
    assert "warning: b: $.name only the server knows" in outcome.err


def test_a_check_of_a_task_definition_that_is_wrong_ends_with_1(
    run: Run, stub: StubServer, tmp_path: Path
) -> None:
    file = tmp_path / "definition.json"
    file.write_text('{"name": "a", "retryCount": -1}')
    found = [{"path": "$.retryCount", "message": "must not be less than 0"}]
    body = {"status": 400, "message": "Validation failed", "validationErrors": found}
    stub.on("POST", "/api/metadata/taskdefs/validate", Reply(400, body))
    outcome = run("definition", "validate", str(file))
    assert outcome.code == 1
    assert "1 of 1 task definitions wrong" in outcome.err
    assert "  a: $.retryCount: must not be less than 0" in outcome.err


@pytest.mark.parametrize("status", [404, 405])
def test_a_server_that_checks_no_task_definitions_is_told_of_and_the_rest_is_checked(
    run: Run, stub: StubServer, tmp_path: Path, status: int
) -> None:
    file = tmp_path / "definition.json"
    file.write_text('[{"name": "w", "tasks": [{}]}, {"name": "a", "retryCuont": 1}]')
    stub.on("POST", "/api/metadata/workflow/validate", Reply(200, {"warnings": []}))
    refusal = {"status": status, "message": "Request method 'POST' is not supported"}
    stub.on("POST", "/api/metadata/taskdefs/validate", Reply(status, refusal))
    outcome = run("definition", "validate", str(file))
    assert (outcome.code, outcome.out) == (0, "w is right\ntask a would be accepted\n")
    assert outcome.err.splitlines() == [
        "warning: a: $.retryCuont is not a known member; did you mean retryCount?",
        (
            "warning: a: $ this server checks no task definitions:"
            " only names of members were looked at"
        ),
    ]


@pytest.mark.parametrize("status", [401, 500, 503])
def test_a_check_that_a_server_cannot_make_now_ends_with_1(
    run: Run, stub: StubServer, tmp_path: Path, status: int
) -> None:
    file = tmp_path / "definition.json"
    file.write_text('{"name": "a"}')
    refusal = {"status": status, "message": "not now"}
    stub.on("POST", "/api/metadata/taskdefs/validate", Reply(status, refusal))
    outcome = run("definition", "validate", str(file))
    assert (outcome.code, outcome.out) == (1, "")
    assert "not now" in outcome.err


def test_a_check_of_no_definition_says_that_there_was_none(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "definition.json"
    file.write_text("[]")
    outcome = run("definition", "validate", str(file))
    assert outcome.code == 2
    assert "no definition is given" in outcome.err


@pytest.mark.parametrize("verb", ["register", "validate"])
def test_workflows_that_are_given_together_are_not_said_to_be_missing(
    run: Run, stub: StubServer, tmp_path: Path, verb: str
) -> None:
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps([{"name": "parent", "tasks": [{}]}, {"name": "c", "tasks": [{}]}]))
    path = "$.tasks[0].subWorkflowParam.name"

    def check(request: Request) -> Reply:
        missing = ["c", "c version 1", "gone"] if request.json()["name"] == "parent" else []
        said = [{"path": path, "message": f"names {n}", "invalidValue": n} for n in missing]
        return Reply(200, {"warnings": said})

    stub.on("POST", "/api/metadata/workflow/validate", check)
    stub.on("POST", "/api/metadata/workflow", Reply(200))
    outcome = run("definition", verb, str(file))
    assert outcome.code == 0
    assert [line for line in outcome.err.splitlines() if line.startswith("warning")] == [
        f"warning: parent: {path} names gone"
    ]


def test_get_shows_status_and_tasks(run: Run, stub: StubServer) -> None:
    task = {
        "referenceTaskName": "first",
        "taskType": "resize",
        "status": "FAILED",
        "reasonForIncompletion": "no\nmemory " + "x" * 500,
    }
    found = {
        "workflowName": "thumbs",
        "workflowVersion": 3,
        "status": "RUNNING",
        "startTime": 1_700_000_000_000,
        "input": {"number": 21},
        "output": {"text": "y" * 5_000},
        "tasks": [task],
    }
    stub.on("GET", f"/api/workflow/{_ID}", Reply(200, found))

    shown = run("workflow", "get", _ID).out
    assert "thumbs version 3" in shown
    assert "2023-11-14 22:13:20Z" in shown
    assert "first" in shown
    assert "no memory xxx" in shown
    assert 'input     {"number": 21}' in shown
    assert 'output    {"text": "yyy' in shown
    assert max(map(len, shown.splitlines())) < 1_100
    assert json.loads(run("workflow", "get", _ID, "--json").out) == found


def test_terminate_says_so_on_standard_error(run: Run, stub: StubServer) -> None:
    stub.on("DELETE", f"/api/workflow/{_ID}", Reply(200))

    outcome = run("workflow", "terminate", _ID, "--reason", "no need")

    assert (outcome.code, outcome.out) == (0, "")
    assert "is terminated" in outcome.err
    assert stub.seen("DELETE")[0].query == {"reason": ["no need"]}


def test_search_prints_a_table_and_how_many_there_are(run: Run, stub: StubServer) -> None:
    result = {"workflowId": _ID, "workflowType": "orders", "version": 1, "status": "FAILED"}
    result |= {"startTime": "2023-11-14T22:13:20Z", "reasonForIncompletion": "no memory"}
    stub.on("GET", "/api/workflow/search", Reply(200, {"totalHits": 9, "results": [result]}))

    outcome = run("workflow", "search", "status=FAILED", "--size", "1", "--sort", "startTime:DESC")

    row = outcome.out.splitlines()[1]
    assert _ID in row
    assert "2023-11-14 22:13:20Z" in row
    assert "no memory" in row
    assert outcome.err == "1 of 9\n"
    query = stub.seen("GET")[0].query
    assert (query["query"], query["size"]) == (["status=FAILED"], ["1"])


def test_nothing_found_prints_no_data(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/tasks/queue/polldata/all", Reply(200, []))

    outcome = run("task", "poll-data")

    assert (outcome.code, outcome.out, outcome.err) == (0, "", "Nothing found.\n")


def test_queues_prints_sizes(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/tasks/queue/all", Reply(200, {"resize": 3, "crop": 0}))

    assert run("task", "queues").out.splitlines()[1:] == ["crop    0", "resize  3"]
    assert json.loads(run("task", "queues", "--json").out) == {"resize": 3, "crop": 0}


def test_requeue_frees_a_task_or_all_of_a_type(run: Run, stub: StubServer) -> None:
    stub.on("POST", f"/api/tasks/{_ID}-1/requeue", Reply(204))
    stub.on("POST", "/api/tasks/queue/requeue/resize", Reply(200, "3"))

    one, all_ = run("task", "requeue", f"{_ID}-1"), run("task", "requeue", "--type", "resize")

    assert (one.code, one.out, one.err) == (0, "", f"{_ID}-1 is in its queue again.\n")
    assert (all_.code, all_.err) == (0, "3 tasks of type resize are in their queue.\n")
    assert json.loads(run("task", "requeue", "--type", "resize", "--json").out) == {"queued": 3}
    assert run("task", "requeue").code == run("task", "requeue", "x", "--type", "y").code == 2


def test_register_sorts_workflows_from_tasks(run: Run, stub: StubServer, tmp_path: Path) -> None:
    stub.on("POST", "/api/metadata/taskdefs", Reply(200))
    stub.on("POST", "/api/metadata/workflow", Reply(200))
    stub.on("POST", "/api/metadata/workflow/validate", Reply(200))
    file = tmp_path / "all.json"
    file.write_text(json.dumps([{"name": "flow", "tasks": []}, {"name": "step"}]))

    outcome = run("definition", "register", str(file), "--overwrite", "--json")

    assert json.loads(outcome.out) == {"tasks": ["step"], "workflows": ["flow"]}
    # Tasks first: a workflow may name them.
    assert [request.path for request in stub.seen("POST")] == [
        "/api/metadata/workflow/validate",
        "/api/metadata/taskdefs",
        "/api/metadata/workflow",
    ]
    assert stub.seen("POST", ".*workflow$")[0].query == {"overwrite": ["true"]}


def test_a_definition_is_printed_as_json(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/metadata/workflow/flow", Reply(200, {"name": "flow", "version": 2}))
    stub.on("GET", "/api/metadata/taskdefs/step", Reply(200, {"name": "step"}))

    flow = run("definition", "get", "flow", "--version", "2")

    assert json.loads(flow.out) == {"name": "flow", "version": 2}
    assert json.loads(run("definition", "get", "step", "--task").out) == {"name": "step"}


def test_the_api_at_the_end_of_the_url_may_be_left_out(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/tasks/queue/all", Reply(200, {}))

    assert run("task", "queues", "--server", stub.origin + "/").code == 0
    assert len(stub.seen("GET", "/api/tasks/queue/all")) == 1


def test_the_package_is_the_command_too(run: Run) -> None:
    command = (sys.executable, "-m", "conductor_py", "--version")
    begun = subprocess.run(command, capture_output=True, text=True, check=True)
    assert begun.stdout == run("--version").out


def test_the_version_is_an_option_too(run: Run) -> None:
    outcome = run("--version")
    assert (outcome.code, outcome.out) == (0, run("version").out)


def test_a_start_may_name_the_domains_of_its_tasks(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/workflow", Reply(200, "w-1"))
    outcome = run("workflow", "start", "w", "--domain", "pack=eu", "--domain", "*=us,NO_DOMAIN")
    assert outcome.code == 0
    (sent,) = stub.seen("POST", "/api/workflow")
    assert sent.json()["taskToDomain"] == {"pack": "eu", "*": "us,NO_DOMAIN"}
    assert run("workflow", "start", "w", "--domain", "pack").code == 2
