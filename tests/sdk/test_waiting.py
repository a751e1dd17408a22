"""Waiting for the end of a workflow: run and wait, whatever its end, however long it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from conductor_py.sdk import (
    Client,
    Dag,
    NotFound,
    WaitTimeout,
    Workflow,
    WorkflowFailed,
)
from tests.builders import run_failing
from tests.sdk.bridge import Bridge
from tests.sdk.clock import FakeClock
from tests.sdk.stub import DROP, Reply, StubServer


class WorkingClock(FakeClock):
    """While somebody waits, something happens."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Callable[[], object]] = []

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return super().wait(event, timeout_ms)


@pytest.fixture
def clock() -> WorkingClock:
    return WorkingClock()


@pytest.fixture
def client(stub: StubServer, clock: WorkingClock) -> Iterator[Client]:
    with Client(stub.url, clock=clock) as connected:
        yield connected


@pytest.fixture
def bridge(stub: StubServer) -> Bridge:
    return Bridge(stub)


def _greeting() -> Workflow:
    greeting = Workflow("greeting", version=1)
    greet = greeting.task("greet", inputs={"name": greeting.input("name")}, retry_count=0)
    greeting >> greet
    greeting.outputs(said=greet.output("text"))
    return greeting


# -- run -------------------------------------------------------------------------------------------


def test_run_starts_a_workflow_and_returns_how_it_ended(client, clock, bridge):
    clock.meanwhile = [lambda: None, lambda: bridge.engine.run("greet", {"text": "hello"})]
    run = client.run(_greeting(), input={"name": "world"})
    assert (run.status, run.output, run.reason) == ("COMPLETED", {"said": "hello"}, None)
    assert run.completed
    assert run.failed_tasks == ()
    assert run.name == "greeting"
    assert client.get_workflow(run.workflow_id)["status"] == "COMPLETED"
    assert run.check() is run


def _dag() -> Dag:
    dag = Dag("greeting")
    dag.inline("greet", "1")
    return dag


@pytest.mark.parametrize(
    "definition",
    [
        _dag(),
        {
            "name": "greeting",
            "tasks": [
                {
                    "name": "a",
                    "taskReferenceName": "a",
                    "type": "SET_VARIABLE",
                    "inputParameters": {"n": 1},
                }
            ],
        },
    ],
)
def test_run_takes_a_dag_and_a_definition_written_by_hand(client, bridge, definition):
    assert client.run(definition).status == "COMPLETED"


def test_run_takes_the_name_and_version_of_a_registered_workflow(client, clock, bridge):
    client.register_workflow(_greeting())
    clock.meanwhile = [lambda: bridge.engine.run("greet", {"text": "hello"})]
    run = client.run(
        "greeting",
        version=1,
        correlation_id="c-1",
        business_time="2026-11-24",
        zone="Europe/Berlin",
    )
    assert run.output == {"said": "hello"}
    assert (run.json["workflowVersion"], run.json["correlationId"]) == (1, "c-1")
    assert (run.json["businessTime"], run.json["zoneId"]) == (1_795_474_800_000, "Europe/Berlin")


def test_run_of_a_name_that_nobody_registered_is_not_found(client, bridge):
    with pytest.raises(NotFound):
        client.run("nobody")


def test_a_workflow_that_fails_is_an_answer(client, clock, bridge):
    clock.meanwhile = [lambda: run_failing(bridge.engine, "greet", "no voice")]
    run = client.run(_greeting())
    assert (run.status, run.failed_tasks, run.completed) == ("FAILED", ("greet",), False)
    assert "no voice" in str(run.reason)


def test_a_workflow_that_fails_is_an_error_when_it_is_checked(client, clock, bridge):
    clock.meanwhile = [lambda: run_failing(bridge.engine, "greet", "no voice")]
    with pytest.raises(
        WorkflowFailed, match=r"workflow greeting \(.*\) is FAILED: .*no voice"
    ) as e:
        client.run(_greeting(), check=True)
    assert e.value.run.status == "FAILED"


def test_a_workflow_that_is_terminated_meanwhile_is_an_answer_with_its_reason(
    client, clock, bridge
):
    started = client.start_workflow(definition=_greeting())
    clock.meanwhile = [lambda: client.terminate_workflow(started, "not needed")]
    run = client.wait(started)
    assert (run.status, run.reason) == ("TERMINATED", "not needed")
    with pytest.raises(WorkflowFailed, match="TERMINATED: not needed"):
        client.wait(started, check=True)


# -- wait ------------------------------------------------------------------------------------------


def test_a_wait_for_what_has_ended_does_not_wait(client, clock, bridge):
    assert client.run(_dag()).completed
    assert clock.waits == []


def test_looks_come_in_pauses_that_grow_to_a_second(client, clock, bridge):
    started = client.start_workflow(definition=_greeting())
    clock.meanwhile = [lambda: None] * 30 + [lambda: bridge.engine.run("greet")]
    client.wait(started)
    assert clock.waits[0] <= 40
    assert max(clock.waits) <= 1_000
    assert min(clock.waits[-5:]) >= 500


def test_a_timeout_says_that_the_workflow_goes_on_and_where_it_stands(client, clock, bridge):
    with pytest.raises(WaitTimeout) as caught:
        client.run(_greeting(), timeout_s=5)
    error = caught.value
    assert error.status == "RUNNING"
    assert f"workflow {error.workflow_id} has not ended within 5 s and goes on" in str(error)
    assert "it is RUNNING at greet (SCHEDULED)" in str(error)
    assert "client.wait" in str(error)
    assert isinstance(error, TimeoutError)
    assert clock.now_ms == 1_005_000

    clock.meanwhile = [lambda: bridge.engine.run("greet")]
    assert client.wait(error.workflow_id).completed


def test_without_a_timeout_it_waits_for_hours(client, clock, bridge):
    started = client.start_workflow(definition=_greeting())

    def hours() -> None:
        clock.advance(36_000_000)

    clock.meanwhile = [hours, hours, lambda: bridge.engine.run("greet")]
    assert client.wait(started, timeout_s=None).completed


def test_a_paused_workflow_is_waited_for(client, clock, bridge):
    started = client.start_workflow(definition=_greeting())
    client.pause_workflow(started)
    with pytest.raises(WaitTimeout, match="it is PAUSED"):
        client.wait(started, timeout_s=3)


def test_a_server_that_is_away_meanwhile_is_waited_for(stub, client, bridge):
    started = client.run(_dag()).workflow_id
    stub.on(
        "GET", f"/api/workflow/{started}/status", *[DROP] * 9, Reply(200, {"status": "COMPLETED"})
    )
    assert client.wait(started, timeout_s=600).completed


def test_a_timeout_at_a_server_that_is_away_says_so(stub, client):
    stub.on("GET", "/api/workflow/w/status", Reply(503))
    with pytest.raises(WaitTimeout, match="the server does not say how it stands") as caught:
        client.wait("w", timeout_s=20)
    assert caught.value.status is None


def test_a_workflow_that_is_not_there_is_not_waited_for(client, clock, bridge):
    with pytest.raises(NotFound):
        client.wait("nobody")
    assert clock.waits == []


def test_an_output_that_the_server_keeps_elsewhere_is_fetched(stub, client):
    stub.on("GET", "/api/workflow/w/status", Reply(200, {"status": "COMPLETED"}))
    ended = {
        "workflowId": "w",
        "status": "COMPLETED",
        "output": {},
        "externalOutputPayloadStoragePath": "w/out.json",
    }
    stub.on("GET", "/api/workflow/w", Reply(200, ended))
    place = {"uri": f"{stub.origin}/payloads/1", "path": "w/out.json"}
    stub.on("GET", "/api/workflow/externalstoragelocation", Reply(200, place))
    stub.on("GET", "/payloads/1", Reply(200, {"rows": 5}))
    assert client.wait("w").output == {"rows": 5}
