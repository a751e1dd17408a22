"""The memory engine behind real HTTP: for the SDK, the command line and a browser."""

import http.client
import socket
import threading
from urllib.parse import urlsplit

import pytest

from conductor_py.cli import main
from conductor_py.sdk import Client, StoreUnavailable, Worker, worker_task
from conductor_py.sdk.backoff import Backoff
from conductor_py.testing import MemoryEngine
from conductor_py.testing.definitions import simple, wait, workflow
from tests.waiting import PATIENCE_S, until


@worker_task("greet", poll_timeout_ms=5_000)
def greet(name: str) -> dict[str, str]:
    return {"said": f"Hello, {name}."}


@pytest.fixture
def engine(engine) -> MemoryEngine:
    made = engine
    made.register(
        workflow(
            "hello",
            simple("greet", inputParameters={"name": "${workflow.input.who}"}),
            wait("later", duration="1h"),
            outputParameters={"said": "${greet.output.said}"},
        )
    )
    return made


def _get(url: str, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    connection.request("GET", path)
    return connection.getresponse()


def test_a_worker_works_over_http_and_the_test_owns_the_time(engine) -> None:
    with engine.serve() as url:
        client = Client(url)
        with Worker(client, [greet]):
            hello = client.start_workflow("hello", input={"who": "you"})
            until(lambda: engine.statuses(hello).get("later") == "IN_PROGRESS")
        engine.advance(seconds=3_600)
        found = client.get_workflow(hello)
        assert (found["status"], found["output"]) == ("COMPLETED", {"said": "Hello, you."})
        hits = client.search_workflows("workflowType=hello AND status=COMPLETED")
        assert hits["totalHits"] == 1
        client.close()


def test_the_command_line_finds_what_a_test_has_made(engine, monkeypatch, capsys) -> None:
    hello = engine.start("hello", input={"who": "you"})
    with engine.serve() as url:
        monkeypatch.setenv("CONDUCTOR_SERVER_URL", url)
        with pytest.raises(SystemExit) as end:
            main(["workflow", "get", hello])
    assert end.value.code == 0
    assert "workflow  hello version 1" in capsys.readouterr().out


def test_pages_of_the_user_interface_are_served(engine) -> None:
    hello = engine.start("hello", input={"who": "you"})
    with engine.serve() as url:
        answer = _get(url, f"/execution/{hello}")
        assert (answer.status, hello in answer.read().decode()) == (200, True)


def test_the_end_lets_go_of_the_port_and_of_who_waits(engine) -> None:
    threads = threading.active_count()
    with engine.serve() as url:
        client = Client(url, backoff=Backoff(tries=1))
        assert client.version() == "test"
        idle = socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=PATIENCE_S)
        polled: list[object] = []
        waits = threading.Thread(
            target=lambda: polled.extend(
                client.poll_batch("nothing", worker_id="w", count=1, timeout_ms=5_000)
            )
        )
        waits.start()
        until(lambda: "q:nothing" in engine.space.tickets)
    waits.join(PATIENCE_S)
    assert (waits.is_alive(), polled) == (False, [])
    assert idle.recv(1) == b""
    idle.close()
    with pytest.raises(StoreUnavailable):
        client.version()
    client.close()
    assert threading.active_count() == threads


def test_it_serves_again_what_it_served_before(engine) -> None:
    with engine.serve() as url:
        hello = Client(url).start_workflow("hello", input={"who": "you"})
    with engine.serve() as url:
        assert Client(url).get_workflow(hello)["status"] == "RUNNING"


def test_a_block_that_fails_ends_the_server_too(engine) -> None:
    threads = threading.active_count()
    with pytest.raises(ZeroDivisionError), engine.serve():
        raise ZeroDivisionError
    assert threading.active_count() == threads


def test_errors_are_answered_as_a_server_answers_them(engine) -> None:
    with engine.serve() as url:
        answer = _get(url, "/api/workflow/0000")
        assert (answer.status, b"NOT_FOUND" in answer.read()) == (404, True)
