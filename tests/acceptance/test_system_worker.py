"""The system-task worker as a process: killed in mid-call, ended in order, a part of the server."""

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from conductor_py.sdk import Client
from tests.acceptance.deployment import Api, Deployment, Process, cpu_ticks
from tests.acceptance.stories import status
from tests.conftest import RealRedis
from tests.services.ports import free_port
from tests.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_LOOPBACK = ("--set", "conductor.tasks.http.allowedNetworks=127.0.0.0/8")
_SHORT = ("--set", "conductor.systemTasks.lease=6s")


@dataclass
class Site:
    """A web server whose answers wait until they are released; ``asked`` counts the requests."""

    port: int = 0
    asked: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()

    class Request(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            made.released.wait(PATIENCE_S)
            body = json.dumps({"asked": len(made.asked)}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                """Who asked is gone."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    server.daemon_threads = True
    made.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield made
    made.released.set()
    server.shutdown()
    server.server_close()


def call(client: Client, url: str, *, asynchronous: bool = False, **facts: Any) -> str:
    request: Any = {"http_request": {"uri": url, "method": "GET", "readTimeOut": 60_000}}
    task: Any = {
        "name": "call",
        "taskReferenceName": "call",
        "type": "HTTP",
        "inputParameters": request,
        "asyncComplete": asynchronous,
        "taskDefinition": {"name": "call", "retryCount": 0, **facts},
    }
    return client.start_workflow(definition={"name": "calling", "tasks": [task]})


def attempts(client: Client, workflow: str) -> list[Any]:
    found: Any = client.get_workflow(workflow)
    return list(found["tasks"])


@dataclass(frozen=True, slots=True)
class Parts:
    api: Api
    worker: Process


@pytest.fixture
def parts(deployment: Deployment, newest_redis: RealRedis) -> Parts:
    shared = ("--redis", newest_redis.url, "--data", str(deployment.folder / "data"))
    api = deployment.serve(Api(deployment.folder / "api", "api", *shared))
    deployment.run("sweeper", "sweeper", *shared)
    worker = deployment.run("worker", "system-worker", *shared, *_LOOPBACK, *_SHORT)
    return Parts(api, worker)


@pytest.mark.anomaly("A-31")
def test_killed_with_minus_9_in_mid_call_the_task_completes_once(parts: Parts, site: Site) -> None:
    client = parts.api.client
    workflow = call(client, site.url)
    until(lambda: site.asked, what="the call is under way")

    parts.worker.kill()
    site.released.set()
    parts.worker.start()

    until(lambda: status(client, workflow) == "COMPLETED", what="completed")
    first, second = attempts(client, workflow)
    assert (first["status"], second["status"]) == ("CANCELED", "COMPLETED")
    assert second["retryCount"] == 0
    assert second["outputData"]["response"]["body"] == {"asked": 2}
    assert len(site.asked) == 2


def test_a_call_longer_than_its_lease_is_made_once(parts: Parts, site: Site) -> None:
    client = parts.api.client
    workflow = call(client, site.url)
    until(lambda: site.asked, what="the call is under way")
    began = time.monotonic()
    until(lambda: time.monotonic() - began > 13, what="more than two leases have passed")
    site.released.set()

    until(lambda: status(client, workflow) == "COMPLETED", what="completed")
    assert len(attempts(client, workflow)) == 1
    assert len(site.asked) == 1


def test_a_stop_lets_the_calls_under_way_end(parts: Parts, site: Site) -> None:
    client = parts.api.client
    workflow = call(client, site.url)
    until(lambda: site.asked, what="the call is under way")

    assert parts.worker.process is not None
    parts.worker.process.terminate()
    until(lambda: "system_worker_drains" in parts.worker.log, what="it takes no more tasks")
    later = call(client, site.url + "later")
    site.released.set()

    assert parts.worker.wait() == 0
    assert status(client, workflow) == "COMPLETED"
    assert status(client, later) == "RUNNING"
    parts.worker.start()
    until(lambda: status(client, later) == "COMPLETED", what="completed")


def test_an_idle_worker_rests(parts: Parts, site: Site) -> None:
    site.released.set()
    workflow = call(parts.api.client, site.url)
    until(lambda: status(parts.api.client, workflow) == "COMPLETED", what="completed")

    def resting() -> bool:
        """Whether it uses little of three seconds."""
        before = cpu_ticks(parts.worker.pid)
        threading.Event().wait(3.0)
        return cpu_ticks(parts.worker.pid) - before < 12

    # What a process does once, after its start, takes as long as the machine lets it.
    until(resting, what="an idle worker uses less than 4 % of a core")


def test_the_server_carries_out_system_tasks_itself(
    deployment: Deployment, shape: tuple[str, ...], site: Site
) -> None:
    site.released.set()
    server = deployment.server(*shape, *_LOOPBACK)
    workflow = call(server.client, site.url)
    until(lambda: status(server.client, workflow) == "COMPLETED", what="completed")


def test_a_stop_of_a_whole_server_lets_the_calls_under_way_end(
    deployment: Deployment, shape: tuple[str, ...], site: Site
) -> None:
    server = deployment.server(*shape, *_LOOPBACK)
    workflow = call(server.client, site.url)
    until(lambda: site.asked, what="the call is under way")

    assert server.process is not None
    server.process.terminate()
    until(lambda: "system_worker_drains" in server.log, what="it takes no more tasks")
    site.released.set()

    assert server.wait() == 0
    server.start()
    assert status(server.client, workflow) == "COMPLETED"
    assert len(site.asked) == 1


def test_tasks_of_every_partition_and_of_limited_definitions_are_carried_out(
    deployment: Deployment, site: Site
) -> None:
    site.released.set()
    server = deployment.server(*_LOOPBACK, "--set", "conductor.redis.partitions=4")
    workflows = [call(server.client, site.url) for _ in range(8)]
    workflows += [call(server.client, site.url, concurrentExecLimit=1) for _ in range(8)]
    until(
        lambda: {status(server.client, each) for each in workflows} == {"COMPLETED"},
        30,
        what="all completed",
    )
    assert len(site.asked) == 16


def test_a_call_that_somebody_else_completes(deployment: Deployment, site: Site) -> None:
    site.released.set()
    server = deployment.server(*_LOOPBACK)
    workflow = call(server.client, site.url, asynchronous=True)
    until(lambda: attempts(server.client, workflow)[0]["outputData"], what="the call is made")
    (task,) = attempts(server.client, workflow)
    assert task["status"] == "IN_PROGRESS"

    answer = urllib.request.Request(
        f"{server.client.server_url}/tasks/{workflow}/call/COMPLETED",
        data=b'{"report": 17}',
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(answer, timeout=10).close()

    assert status(server.client, workflow) == "COMPLETED"
    (task,) = attempts(server.client, workflow)
    assert task["outputData"]["report"] == 17
    assert task["outputData"]["response"]["statusCode"] == 200


def test_the_inside_of_the_network_is_out_of_reach_unless_it_is_allowed(
    deployment: Deployment, site: Site
) -> None:
    server = deployment.server()
    workflow = call(server.client, site.url)
    until(lambda: status(server.client, workflow) == "FAILED", what="failed")
    (task,) = attempts(server.client, workflow)
    assert "conductor.tasks.http.allowedHosts" in task["reasonForIncompletion"]
    assert not site.asked


def test_a_server_whose_settings_cannot_be_had_says_so_in_a_sentence(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    refused = ("--set", "conductor.tasks.http.allowedNetworks=everything")
    server = deployment.run("server", "server", "--port", str(free_port()), *shape, *refused)
    assert server.wait() == 2
    (line,) = [line for line in server.log.splitlines() if line.startswith("Error")]
    assert "conductor.tasks.http.allowedNetworks" in line


def test_a_network_that_is_none_is_refused_at_the_start(deployment: Deployment) -> None:
    worker = deployment.run(
        "worker",
        *("system-worker", "--redis", "redis://127.0.0.1:1"),
        *("--set", "conductor.tasks.http.allowedNetworks=everything"),
    )
    assert worker.wait() == 2
    (line,) = worker.log.splitlines()
    assert "conductor.tasks.http.allowedNetworks" in line
