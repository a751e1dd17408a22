"""Large payloads: measured here, moved by signed URLs, without any store's credentials."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import textwrap

import pytest

from conductor_py.sdk import (
    Client,
    NotFound,
    PayloadTooLarge,
    StoreUnavailable,
    TaskResult,
    UnexpectedAnswer,
)
from tests.sdk.stub import DROP, Reply, StubServer
from tests.sdk.tasks import polled, task
from tests.waiting import PATIENCE_S

SECRET = "X-Signature=s3cr3t"
BIG = {"text": "x" * 2048}


@pytest.fixture
def client(stub, clock):
    """A client that offloads above one kilobyte."""
    with Client(
        stub.url,
        timeout_s=PATIENCE_S,
        clock=clock,
        headers={"X-Authorization": "token"},
        workflow_input_threshold_kb=1,
        task_output_threshold_kb=1,
    ) as connected:
        yield connected


def offer_store(stub: StubServer, area: str, *, path: str = "minted/1.json") -> None:
    """Let the server sign URLs of a store on the same stub."""
    place = {"uri": f"{stub.origin}/store/{path}?{SECRET}", "path": path}
    stub.on("GET", f"/api/{area}/externalstoragelocation", Reply(200, place))
    stub.on("PUT", "/store/.*", Reply(200))
    stub.on("POST", "/api/workflow", Reply(200, "w-1"))
    stub.on("POST", "/api/tasks", Reply(200, "t-1"))


def test_a_large_input_is_uploaded_and_only_its_path_is_sent(stub, client):
    offer_store(stub, "workflow")

    client.start_workflow("orders", input=BIG)

    place, upload, start = stub.requests
    assert place.query == {
        "path": [""],
        "operation": ["WRITE"],
        "payloadType": ["WORKFLOW_INPUT"],
    }
    assert upload.headers["content-type"] == "application/json"
    assert upload.json() == BIG
    assert start.json() == {
        "name": "orders",
        "input": {},
        "externalInputPayloadStoragePath": "minted/1.json",
    }


def test_an_input_of_exactly_the_threshold_is_sent_inline(stub, client):
    offer_store(stub, "workflow")
    exact = {"t": "x" * (1024 - len('{"t":""}'))}

    client.start_workflow("orders", input=exact)

    (start,) = stub.requests
    assert start.json()["input"] == exact


def test_a_large_output_is_uploaded_and_only_its_path_is_sent(stub, client):
    offer_store(stub, "tasks")

    client.update_task(TaskResult.completed(BIG).answering(task(), "me"))

    place, upload, report = stub.requests
    assert place.query["payloadType"] == ["TASK_OUTPUT"]
    assert upload.json() == BIG
    assert report.json()["outputData"] == {}
    assert report.json()["externalOutputPayloadStoragePath"] == "minted/1.json"


def test_a_large_output_given_as_json_is_offloaded_too(stub, client):
    offer_store(stub, "tasks")

    client.update_task({"taskId": "t-1", "workflowInstanceId": "w-1", "outputData": BIG})

    report = stub.requests[-1].json()
    assert report["outputData"] == {}
    assert report["externalOutputPayloadStoragePath"] == "minted/1.json"


def test_a_server_without_a_store_gets_the_payload_inline(stub, client):
    offer_store(stub, "workflow")
    stub.on("GET", "/api/workflow/externalstoragelocation", Reply(200, {"path": "x.json"}))

    client.start_workflow("orders", input=BIG)

    assert stub.requests[-1].json()["input"] == BIG


def test_headers_for_the_server_are_not_shown_to_the_store(stub, client):
    offer_store(stub, "workflow")
    client.start_workflow("orders", input=BIG)
    (upload,) = stub.seen("PUT")
    assert "x-authorization" not in upload.headers


def test_an_upload_is_sent_again_while_the_store_is_away(stub, client):
    offer_store(stub, "workflow")
    stub.on("PUT", "/store/.*", DROP, Reply(503), Reply(200))
    client.start_workflow("orders", input=BIG)
    assert len(stub.seen("PUT")) == 3
    assert len(stub.seen("POST")) == 1


def test_an_expired_url_is_replaced_by_a_new_one(stub, client):
    offer_store(stub, "workflow")
    stub.on("PUT", "/store/.*", Reply(403), Reply(200))
    client.start_workflow("orders", input=BIG)
    assert len(stub.seen("GET")) == 2


@pytest.mark.parametrize(
    ("status", "expected"),
    [(403, UnexpectedAnswer), (413, PayloadTooLarge), (500, StoreUnavailable)],
)
def test_a_failed_upload_starts_nothing_and_hides_the_signed_url(
    stub, client, caplog, status, expected
):
    caplog.set_level(logging.DEBUG)
    offer_store(stub, "workflow")
    stub.on("PUT", "/store/.*", Reply(status, "<Error>AccessDenied</Error>"))
    with pytest.raises(expected) as caught:
        client.start_workflow("orders", input=BIG)
    assert stub.seen("POST") == []
    assert "s3cr3t" not in str(caught.value)
    assert "s3cr3t" not in caplog.text


def test_an_external_task_input_is_downloaded(stub, client):
    offer_store(stub, "tasks", path="in.json")
    stub.on("GET", "/store/in.json", Reply(200, BIG))
    wire = polled(externalInputPayloadStoragePath="in.json")

    assert client.task_input(wire) == BIG

    place = stub.requests[0]
    assert place.query == {
        "path": ["in.json"],
        "operation": ["READ"],
        "payloadType": ["TASK_INPUT"],
    }


def test_an_inline_task_input_asks_nobody(stub, client):
    assert client.task_input(polled(inputData={"a": 1})) == {"a": 1}
    assert stub.requests == []


def test_a_url_relative_to_the_server_is_followed(stub, client):
    place = {"uri": "/api/payloads/in.json?sig=1", "path": "in.json"}
    stub.on("GET", "/api/tasks/externalstoragelocation", Reply(200, place))
    stub.on("GET", "/api/payloads/in.json", Reply(200, {"a": 1}))
    assert client.download_payload("TASK_INPUT", "in.json") == {"a": 1}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(404), NotFound),
        (Reply(200, b"not json"), UnexpectedAnswer),
        (Reply(200, [1]), UnexpectedAnswer),
    ],
)
def test_a_payload_that_is_gone_or_no_object_is_a_typed_error(stub, client, reply, expected):
    offer_store(stub, "tasks", path="in.json")
    stub.on("GET", "/store/in.json", reply)
    with pytest.raises(expected):
        client.download_payload("TASK_INPUT", "in.json")


def test_offloading_needs_no_credentials_and_no_store_library(stub):
    """A process with an emptied environment moves a payload both ways."""
    offer_store(stub, "workflow")
    offer_store(stub, "tasks")
    stub.on("GET", "/store/.*", Reply(200, BIG))
    program = f"""
        import json, sys
        from conductor_py.sdk import Client
        client = Client({stub.url!r}, workflow_input_threshold_kb=1)
        client.start_workflow("orders", input={BIG!r})
        got = client.download_payload("TASK_INPUT", "minted/1.json")
        loaded = sorted(
            name for name in sys.modules
            if name.split(".")[0] in ("boto3", "botocore", "redis", "flask", "rq", "urllib3")
            or name.startswith(("conductor_py.engine", "conductor_py.adapters", "conductor_py.api"))
        )
        print(json.dumps([got, loaded]))
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.stderr == ""
    assert json.loads(ended.stdout) == [BIG, []]
    assert stub.seen("PUT")[0].json() == BIG
