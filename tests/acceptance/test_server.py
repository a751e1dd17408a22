"""The all-in-one server, as its user meets it."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor_py.sdk import Client
from tests.acceptance.deployment import (
    Deployment,
    await_gone,
    cpu_ticks,
    deployed,
    memory_mb,
    name_of,
    with_descendants,
)
from tests.acceptance.stories import finish, found, run_script, start, status, take, work_off
from tests.services.ports import free_port
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with deployed(tmp_path) as made:
        yield made


def test_a_stop_ends_long_polls_early(deployment: Deployment) -> None:
    server = deployment.server()
    answers: list[object] = []
    polling = threading.Event()

    def poll() -> None:
        with Client(server.client.server_url, timeout_s=30) as client:
            polling.set()
            answers.append(client.poll_batch("nothing", worker_id="w", timeout_ms=5000))

    worker = threading.Thread(target=poll)
    worker.start()
    polling.wait(5)
    # The poll is under way when its worker is on record.
    until(lambda: server.client.poll_data("nothing"))
    began = time.monotonic()

    assert server.terminate() == 0

    assert time.monotonic() - began < 3.5
    worker.join(5)
    assert answers == [[]]


def test_killed_with_minus_9_it_leaves_no_process_and_loses_nothing(
    deployment: Deployment,
) -> None:
    server = deployment.server()
    workflows = [start(server.client, number) for number in range(20)]
    tasks = take(server.client, 5, timeout_ms=5000)
    for task in tasks:
        finish(server.client, task)
    held = take(server.client, 5, timeout_ms=5000)
    run_script(server.client)  # its process is the child of a child
    # The store promises everything that is a second old.
    threading.Event().wait(1.2)
    family = server.family()

    server.kill()
    server.start()

    await_gone(family)
    for task in held:
        finish(server.client, task)
    work_off(server.client, 10)
    until(lambda: {status(server.client, each) for each in workflows} == {"COMPLETED"})
    until(lambda: found(server.client, "COMPLETED") == set(workflows), 45, what="all are found")


@pytest.mark.parametrize("victim", ["api", "sweeper", "effects"])
def test_a_child_that_is_killed_is_replaced(deployment: Deployment, victim: str) -> None:
    server = deployment.server("--set", "conductor.effects.lease=1s")
    before = start(server.client, 1)
    killed = server.member(victim)
    # Its own children answer for a moment longer than it.
    going = with_descendants(killed)

    os.kill(killed, signal.SIGKILL)

    await_gone(going)
    assert server.member(victim) != killed
    until(server.is_healthy, what="healthy again")
    after = start(server.client, 2)
    work_off(server.client, 2)
    until(lambda: {before, after} <= found(server.client, "COMPLETED"), 30, what="both are found")


def test_a_store_that_is_killed_is_replaced_and_everybody_finds_it(
    deployment: Deployment,
) -> None:
    server = deployment.server("--set", "conductor.effects.lease=1s")
    server.member("effects")
    before = start(server.client, 1)
    # The store promises everything that is a second old.
    threading.Event().wait(1.2)
    (store,) = [pid for pid in server.family() if name_of(pid) == "valkey-server"]

    os.kill(store, signal.SIGKILL)

    await_gone([store])
    until(server.is_healthy, what="healthy again")
    after = start(server.client, 2)
    work_off(server.client, 2)
    until(lambda: {before, after} <= found(server.client, "COMPLETED"), 30, what="both are found")


def test_effects_whose_worker_is_killed_come_again(deployment: Deployment) -> None:
    server = deployment.server("--set", "conductor.effects.lease=2s")
    victim = server.member("effects")
    os.kill(victim, signal.SIGSTOP)  # it takes jobs no more, and never will again

    workflows = {start(server.client, number) for number in range(30)}
    work_off(server.client, 30)
    os.kill(victim, signal.SIGKILL)

    until(lambda: found(server.client, "COMPLETED") == workflows, 40, what="all are found")


def test_a_port_in_use_is_one_sentence(deployment: Deployment) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        server = deployment.run("server", "server", "--port", str(port), "--data", "data")
        code = server.wait()

    lines = [line for line in server.log.splitlines() if line.startswith("Error")]
    assert code == 2
    (line,) = lines
    assert line.startswith(f"Error: 127.0.0.1:{port} cannot be listened on: ")
    assert "process_started" not in server.log


def test_a_data_directory_in_use_is_one_sentence(deployment: Deployment) -> None:
    server = deployment.server()
    data = str(deployment.folder / "server-data")

    second = deployment.run("second", "server", "--port", str(free_port()), "--data", data)

    assert second.wait() == 2
    (line,) = second.log.splitlines()
    assert "is in use by a server that is running" in line
    assert server.client.health()["healthy"] is True


def test_an_idle_server_rests(deployment: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    server = deployment.server()
    server.member("effects")
    threading.Event().wait(3.0)  # what runs once after the start has run
    family = server.family()
    before = {pid: cpu_ticks(pid) for pid in family}

    threading.Event().wait(5.0)

    used = {pid: (cpu_ticks(pid) - before[pid]) / 5 for pid in family}
    with capsys.disabled():
        for pid, command in family.items():
            figures = f"{memory_mb(pid):4} MB  {used[pid]:4.1f} % CPU"
            sys.stdout.write(f"\n{figures}  {command[-60:]}")
    assert sum(used.values()) < 5
