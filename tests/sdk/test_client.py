"""The client over real HTTP: requests in the dialect, typed errors, and what is sent twice."""

from __future__ import annotations

import socket
import threading
from datetime import UTC, date, datetime
from http.client import HTTPConnection

import pytest

from conductor_py.model.business_time import instant_of
from conductor_py.sdk import (
    Client,
    ConductorError,
    ConfigurationError,
    Conflict,
    DefinitionError,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PayloadTooLarge,
    ResultStatus,
    ServerFailure,
    StoreUnavailable,
    TaskLog,
    TaskResult,
    UnexpectedAnswer,
)
from tests.sdk.stub import DROP, Reply
from tests.services.ports import free_port
from tests.waiting import PATIENCE_S

RESULT = TaskResult(
    status=ResultStatus.COMPLETED, task_id="t-1", workflow_id="w-1", claim_token=17, output={"a": 1}
)


def test_start_sends_only_what_was_given_and_returns_the_text_id(stub, client):
    stub.on("POST", "/api/workflow", Reply(200, "1e5"))

    workflow_id = client.start_workflow("orders", version=2, input={"n": 1}, priority=5)

    assert workflow_id == "1e5"
    (request,) = stub.requests
    assert request.headers["content-type"] == "application/json"
    assert request.json() == {"name": "orders", "version": 2, "input": {"n": 1}, "priority": 5}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("2026-11-24T02:00", "2026-11-24T02:00"),
        (date(2026, 11, 24), "2026-11-24"),
        (datetime(2026, 11, 24, 2, tzinfo=UTC), "2026-11-24T02:00:00+00:00"),
    ],
)
def test_a_business_time_is_a_date_a_time_or_a_text(stub, client, given, sent):
    stub.on("POST", "/api/workflow", Reply(200, "w"))

    client.start_workflow("orders", business_time=given, zone="Europe/Berlin")

    body = stub.requests[0].json()
    assert (body["businessTime"], body["zoneId"]) == (sent, "Europe/Berlin")
    assert instant_of(body["businessTime"], body["zoneId"])


def test_start_of_an_inline_definition_takes_its_name_and_embeds_task_definitions(stub, client):
    stub.on("POST", "/api/workflow", Reply(200, "w-1"))
    definition = {
        "name": "inline",
        "tasks": [{"name": "a", "taskReferenceName": "r", "taskDefinition": {"name": "a"}}],
    }

    client.start_workflow(definition=definition, correlation_id="c", task_to_domain={"*": "d"})

    assert stub.requests[0].json() == {
        "name": "inline",
        "workflowDef": definition,
        "correlationId": "c",
        "taskToDomain": {"*": "d"},
        "input": {},
    }


def test_start_without_any_name_is_refused_before_it_is_sent(stub, client):
    with pytest.raises(InvalidInput):
        client.start_workflow(definition={"tasks": []})
    assert stub.requests == []


def test_a_quoted_text_answer_is_the_text_in_the_quotes(stub, client):
    stub.on("POST", "/api/workflow", Reply(200, b'"w-1"'))
    assert client.start_workflow("orders") == "w-1"


CALLS = [
    (lambda c: c.get_workflow("w", include_tasks=False), "GET /api/workflow/w includeTasks=false"),
    (
        lambda c: c.workflow_status("w", include_output=True),
        "GET /api/workflow/w/status includeOutput=true includeVariables=false",
    ),
    (lambda c: c.terminate_workflow("w", "enough"), "DELETE /api/workflow/w reason=enough"),
    (
        lambda c: c.search_workflows("status=FAILED", sort="endTime:ASC", size=5),
        "GET /api/workflow/search freeText=* query=status=FAILED size=5 sort=endTime:ASC start=0",
    ),
    (lambda c: c.running_workflows("a b/c"), "GET /api/workflow/running/a%20b%2Fc"),
    (
        lambda c: c.register_workflow({"name": "x"}, overwrite=True),
        "POST /api/metadata/workflow overwrite=true",
    ),
    (lambda c: c.update_workflows([{"name": "x"}]), "PUT /api/metadata/workflow"),
    (lambda c: c.validate_workflow({"name": "x"}), "POST /api/metadata/workflow/validate"),
    (
        lambda c: c.get_workflow_definition("x", version=3),
        "GET /api/metadata/workflow/x version=3",
    ),
    (lambda c: c.list_workflow_definitions(), "GET /api/metadata/workflow"),
    (lambda c: c.delete_workflow_definition("x", 3), "DELETE /api/metadata/workflow/x/3"),
    (lambda c: c.register_tasks([{"name": "t"}]), "POST /api/metadata/taskdefs"),
    (lambda c: c.validate_task({"name": "t"}), "POST /api/metadata/taskdefs/validate"),
    (lambda c: c.validate_event_handler({"name": "h"}), "POST /api/event/validate"),
    (lambda c: c.update_task_definition({"name": "t"}), "PUT /api/metadata/taskdefs"),
    (lambda c: c.get_task_definition("t"), "GET /api/metadata/taskdefs/t"),
    (lambda c: c.list_task_definitions(), "GET /api/metadata/taskdefs"),
    (lambda c: c.delete_task_definition("t"), "DELETE /api/metadata/taskdefs/t"),
    (
        lambda c: c.poll_task("t", worker_id="me", domain="d", lease_s=30),
        "GET /api/tasks/poll/t domain=d leaseSeconds=30 workerid=me",
    ),
    (
        lambda c: c.poll_batch("t", worker_id="me", count=3, timeout_ms=500, lease_s=9),
        "GET /api/tasks/poll/batch/t count=3 leaseSeconds=9 timeout=500 workerid=me",
    ),
    (
        lambda c: c.update_task_by_ref("w", "ref", "COMPLETED", {"a": 1}),
        "POST /api/tasks/w/ref/COMPLETED",
    ),
    (lambda c: c.get_task("t-1"), "GET /api/tasks/t-1"),
    (lambda c: c.add_task_log("t-1", "line"), "POST /api/tasks/t-1/log"),
    (lambda c: c.task_logs("t-1"), "GET /api/tasks/t-1/log"),
    (lambda c: c.queue_sizes(["a", "b"]), "GET /api/tasks/queue/sizes taskType=a taskType=b"),
    (lambda c: c.all_queue_sizes(), "GET /api/tasks/queue/all"),
    (lambda c: c.list_workers("t"), "GET /api/workers taskType=t"),
    (lambda c: c.list_workers(), "GET /api/workers"),
    (lambda c: c.report_worker({"workerId": "me"}), "POST /api/workers"),
    (lambda c: c.worker_leaves("a/b"), "DELETE /api/workers workerId=a/b"),
    (lambda c: c.list_servers(), "GET /api/admin/servers"),
    (lambda c: c.poll_data(), "GET /api/tasks/queue/polldata/all"),
    (lambda c: c.poll_data("t"), "GET /api/tasks/queue/polldata taskType=t"),
    (
        lambda c: c.external_storage_location("TASK_OUTPUT", "WRITE"),
        "GET /api/tasks/externalstoragelocation operation=WRITE path= payloadType=TASK_OUTPUT",
    ),
    (
        lambda c: c.external_storage_location("WORKFLOW_INPUT", "READ", "p/1"),
        (
            "GET /api/workflow/externalstoragelocation "
            "operation=READ path=p/1 payloadType=WORKFLOW_INPUT"
        ),
    ),
    (lambda c: c.health(), "GET /api/health"),
    (lambda c: c.version(), "GET /api/version"),
]


@pytest.mark.parametrize(("call", "expected"), CALLS, ids=[text for _, text in CALLS])
def test_each_method_calls_its_endpoint(stub, client, call, expected):
    for method in ("GET", "POST", "PUT", "DELETE"):
        stub.on(method, "/api/.*", Reply(200))

    call(client)

    (request,) = stub.requests
    query = sorted(f"{name}={v}" for name, values in request.query.items() for v in values)
    assert " ".join((request.method, request.raw_path, *query)) == expected


def test_a_result_carries_its_claim_and_its_logs(stub, client):
    stub.on("POST", "/api/tasks", Reply(200, "t-1"))
    result = TaskResult(
        status=ResultStatus.FAILED,
        reason="x" * 600,
        logs=(TaskLog(line="hello", created_ms=5),),
        task_id="t-1",
        workflow_id="w-1",
        worker_id="me",
        claim_token=17,
    )

    assert client.update_task(result) == "t-1"

    assert stub.requests[0].json() == {
        "taskId": "t-1",
        "workflowInstanceId": "w-1",
        "status": "FAILED",
        "outputData": {},
        "reasonForIncompletion": "x" * 500,
        "logs": [{"log": "hello", "taskId": "t-1", "createdTime": 5}],
        "workerId": "me",
        "claimToken": 17,
    }


def test_extend_sends_claim_lease_and_progress(stub, client):
    stub.on("POST", "/api/tasks/t-1/extend", Reply(200, {"leaseUntil": 99}))

    assert client.extend_task("t-1", 17, 30, {"done": 0.5}) == {"leaseUntil": 99}

    assert stub.requests[0].json() == {
        "claimToken": 17,
        "leaseSeconds": 30,
        "progress": {"done": 0.5},
    }


def test_an_empty_poll_is_none_and_an_empty_batch_is_a_list(stub, client):
    stub.on("GET", "/api/tasks/poll/t", Reply(204))
    stub.on("GET", "/api/tasks/poll/batch/t", Reply(200, []))
    assert client.poll_task("t") is None
    assert client.poll_batch("t") == []


def test_a_missing_log_list_reads_as_no_lines(stub, client):
    stub.on("GET", "/api/tasks/t-1/log", Reply(204))
    assert client.task_logs("t-1") == []


def test_a_log_line_is_sent_as_it_is(stub, client):
    stub.on("POST", "/api/tasks/t-1/log", Reply(200))
    client.add_task_log("t-1", 'said "é"\n')
    assert stub.requests[0].body.decode() == 'said "é"\n'


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, InvalidInput),
        (404, NotFound),
        (409, Conflict),
        (413, PayloadTooLarge),
        (429, LimitExceeded),
        (500, ServerFailure),
        (403, UnexpectedAnswer),
        (302, UnexpectedAnswer),
    ],
)
def test_a_status_becomes_its_typed_error_with_the_servers_sentence(stub, client, status, expected):
    stub.on("GET", "/api/workflow/w", Reply(status, {"status": status, "message": "because"}))
    with pytest.raises(ConductorError, match="because") as caught:
        client.get_workflow("w")
    assert type(caught.value) is expected
    assert len(stub.requests) == 1


def test_violations_arrive_with_the_error(stub, client):
    body = {
        "status": 400,
        "message": "Validation failed",
        "code": "INVALID_DEFINITION",
        "validationErrors": [
            {"path": "$.tasks[0].name", "message": "is required", "invalidValue": 3},
            {"path": "$.name", "message": "is empty"},
        ],
    }
    stub.on("POST", "/api/metadata/workflow/validate", Reply(400, body))
    with pytest.raises(DefinitionError) as caught:
        client.validate_workflow({})
    assert [(v.path, v.message, v.invalid_value) for v in caught.value.violations] == [
        ("$.tasks[0].name", "is required", "3"),
        ("$.name", "is empty", None),
    ]


def test_an_answer_that_is_not_json_is_an_unexpected_answer(stub, client):
    stub.on("GET", "/api/workflow/w", Reply(200, "<html>"))
    with pytest.raises(UnexpectedAnswer):
        client.get_workflow("w")


def test_an_error_page_that_is_not_json_still_maps_by_status(stub, client):
    stub.on("GET", "/api/workflow/w", Reply(404, "<html>"))
    with pytest.raises(NotFound):
        client.get_workflow("w")


def test_a_refused_connection_names_the_url(clock):
    url = f"http://127.0.0.1:{free_port()}/api"
    with pytest.raises(StoreUnavailable) as caught:
        Client(url, clock=clock).version()
    assert url in str(caught.value)
    assert len(clock.waits) == 3


def test_a_silent_server_is_unavailable_after_the_timeout(stub, clock):
    released = threading.Event()

    def silent(request) -> Reply:
        released.wait(PATIENCE_S)
        return Reply()

    stub.on("POST", "/api/workflow", silent)
    with Client(stub.url, timeout_s=0.05, clock=clock) as client:
        with pytest.raises(StoreUnavailable, match="within"):
            client.start_workflow("orders")
        released.set()


def test_the_servers_url_comes_from_the_environment_unless_given(monkeypatch):
    monkeypatch.setenv("CONDUCTOR_SERVER_URL", "http://conductor:1/api/")
    assert Client().server_url == "http://conductor:1/api"
    assert Client("http://other/api").server_url == "http://other/api"
    monkeypatch.delenv("CONDUCTOR_SERVER_URL")
    assert Client().server_url == "http://127.0.0.1:8080/api"


def test_a_url_without_scheme_is_a_configuration_error():
    with pytest.raises(ConfigurationError):
        Client("conductor:8080/api").version()


def test_headers_of_the_caller_go_with_every_request(stub):
    stub.on("GET", "/api/version", Reply(200, "1"))
    with Client(stub.url, headers={"X-Authorization": "token"}) as client:
        client.version()
    assert stub.requests[0].headers["x-authorization"] == "token"


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.poll_task("t"),
        lambda c: c.poll_batch("t"),
        lambda c: c.start_workflow("orders"),
        lambda c: c.update_task_by_ref("w", "r", "COMPLETED", {}),
        lambda c: c.add_task_log("t-1", "x"),
        lambda c: c.register_workflow({"name": "x"}),
        lambda c: c.delete_task_definition("x"),
    ],
)
@pytest.mark.parametrize("reply", [DROP, Reply(503, {"message": "away"})])
def test_what_must_not_happen_twice_is_never_sent_again(stub, client, call, reply):
    for method in ("GET", "POST", "DELETE"):
        stub.on(method, "/api/.*", reply)
    with pytest.raises(StoreUnavailable):
        call(client)
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.get_workflow("w"),
        lambda c: c.start_workflow("orders", idempotency_key="k"),
        lambda c: c.update_task(RESULT),
        lambda c: c.extend_task("t-1", 17, 30),
        lambda c: c.terminate_workflow("w"),
        lambda c: c.register_tasks([{"name": "x"}]),
    ],
)
def test_a_repeatable_call_is_sent_again_until_the_server_is_back(stub, client, call):
    for method in ("GET", "POST", "DELETE"):
        stub.on(method, "/api/.*", DROP, Reply(503, {"message": "away"}), Reply(200))
    call(client)
    assert len(stub.requests) == 3
    assert len({request.body for request in stub.requests}) == 1


def test_a_server_that_stays_away_is_given_up_after_a_few_tries(stub, client, clock):
    stub.on("GET", "/api/version", Reply(503, {"message": "away"}, {"Retry-After": "2"}))
    with pytest.raises(StoreUnavailable) as caught:
        client.version()
    assert caught.value.retry_after_s == 2
    assert len(stub.requests) == 4
    assert len(clock.waits) == 3
    assert all(2000 <= pause <= 3000 for pause in clock.waits), "as told, and spread out"


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.poll_batch("t"),
        lambda c: c.start_workflow("orders"),
        lambda c: c.add_task_log("t-1", "x"),
    ],
)
@pytest.mark.parametrize("code", ["OVERLOADED", "STORE_FULL"])
def test_what_an_overloaded_server_refused_is_sent_again_whatever_it_is(
    stub, client, clock, call, code
):
    busy = Reply(503, {"message": "busy", "code": code}, {"Retry-After": "1"})
    stub.on("GET", "/api/.*", busy, Reply(200, []))
    stub.on("POST", "/api/.*", busy, Reply(200, "id"))
    call(client)
    assert len(stub.requests) == 2
    assert 1000 <= clock.waits[0] <= 1500


def test_connections_are_kept_and_used_again(stub, client):
    stub.on("GET", "/api/version", Reply(200, "1"))
    for _ in range(3):
        client.version()
    assert len({request.peer_port for request in stub.requests}) == 1


def test_a_connection_closed_by_the_server_does_not_cost_a_request_that_is_sent_once(stub, client):
    stub.on("GET", "/api/tasks/poll/batch/t", Reply(200, []))
    client.poll_batch("t")
    stub.hang_up()
    ((idle,),) = client._server.transport._idle.values()
    assert idle.sock.recv(1, socket.MSG_PEEK) == b"", "the hanging up has arrived"

    assert client.poll_batch("t") == []

    assert len({request.peer_port for request in stub.requests}) == 2


def test_many_threads_share_one_client(stub, client):
    stub.on("GET", "/api/tasks/.*", lambda request: Reply(200, {"taskId": request.path[-2:]}))
    answers: dict[int, str] = {}

    def read(number: int) -> None:
        for _ in range(5):
            answers[number] = client.get_task(f"t-{number}")["taskId"]

    threads = [threading.Thread(target=read, args=(number,)) for number in range(10, 18)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert answers == {number: str(number) for number in range(10, 18)}


def test_an_answer_before_the_whole_body_was_read_is_still_heard(stub, client, monkeypatch):
    stub.on("POST", "/api/workflow", Reply(413, {"message": "too large"}))
    whole_send = HTTPConnection.send

    def send(connection, data):
        whole_send(connection, data)
        if data.startswith(b"{"):
            raise BrokenPipeError

    monkeypatch.setattr(HTTPConnection, "send", send)
    for _ in range(2):
        with pytest.raises(PayloadTooLarge):
            client.start_workflow("orders")
    assert len({request.peer_port for request in stub.requests}) == 2


def test_a_url_without_api_is_said_to_lack_it(stub, clock):
    nothing = Reply(404, {"status": 404, "message": "No static resource tasks/poll/batch/a."})
    stub.on("GET", ".*", nothing)
    with (
        Client(f"{stub.origin}/", clock=clock) as lacking,
        pytest.raises(UnexpectedAnswer) as caught,
    ):
        lacking.poll_batch("a", worker_id="w", count=1, timeout_ms=1)
    assert caught.value.message.endswith(
        f"The server URL probably lacks /api: use {stub.origin}/api"
    )
    with Client(stub.url, clock=clock) as whole, pytest.raises(NotFound):
        whole.get_workflow("w")
