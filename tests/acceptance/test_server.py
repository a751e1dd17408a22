"""The all-in-one server, as its user meets it."""

import os
import signal
import socket
import sys
import threading
import time

import pytest

from conductor_py.sdk import Client
from tests.acceptance.deployment import (
    A_PROCESS_EACH,
    ONE_PROCESS,
    Deployment,
    await_gone,
    cpu_ticks,
    name_of,
    with_descendants,
)
from tests.acceptance.stories import finish, found, run_script, start, status, take_all, work_off
from tests.services.ports import free_port
from tests.services.processes import resident_mb
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_LONG_POLL_S = 20


def test_a_stop_ends_long_polls_early(deployment: Deployment, shape: tuple[str, ...]) -> None:
    long = ("--set", f"conductor.server.longPollLimit={_LONG_POLL_S}s")
    server = deployment.server(*shape, *long)
    answers: list[tuple[object, float]] = []

    def poll() -> None:
        with Client(server.client.server_url, timeout_s=2 * _LONG_POLL_S) as client:
            began = time.monotonic()
            answer = client.poll_batch("nothing", worker_id="w", timeout_ms=1000 * _LONG_POLL_S)
            answers.append((answer, time.monotonic() - began))

    worker = threading.Thread(target=poll)
    worker.start()
    # The poll is under way when its worker is on record.
    until(lambda: server.client.poll_data("nothing"))

    assert server.terminate() == 0

    worker.join(2 * _LONG_POLL_S)
    ((answer, took_s),) = answers
    assert answer == []
    assert took_s < _LONG_POLL_S


def test_killed_with_minus_9_it_leaves_no_process_and_loses_nothing(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    server = deployment.server(*shape)
    workflows = [start(server.client, number) for number in range(20)]
    tasks = take_all(server.client, 5)
    for task in tasks:
        finish(server.client, task)
    held = take_all(server.client, 5)
    run_script(server.client)  # its process is the child of a child
    server.keep_all()
    family = server.family()

    server.kill()
    server.start()

    await_gone(family)
    for task in held:
        finish(server.client, task)
    work_off(server.client, 10)
    until(lambda: {status(server.client, each) for each in workflows} == {"COMPLETED"})
    until(lambda: found(server.client, "COMPLETED") == set(workflows), what="all are found")


@pytest.mark.parametrize("victim", ["api", "sweeper", "effects"])
def test_a_child_that_is_killed_is_replaced(deployment: Deployment, victim: str) -> None:
    server = deployment.server(*A_PROCESS_EACH, "--set", "conductor.effects.lease=1s")
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
    until(lambda: {before, after} <= found(server.client, "COMPLETED"), what="both are found")


def test_the_one_process_of_a_server_is_killed_in_mid_work_and_loses_nothing(
    deployment: Deployment,
) -> None:
    server = deployment.server(*ONE_PROCESS, "--set", "conductor.effects.lease=1s")
    (killed,) = server.workers()
    workflows = [start(server.client, number) for number in range(20)]
    for task in take_all(server.client, 5):
        finish(server.client, task)
    held = take_all(server.client, 5)

    os.kill(killed, signal.SIGKILL)

    await_gone([killed])
    until(server.is_healthy, what="healthy again")
    assert server.workers() != [killed]
    for task in held:
        finish(server.client, task)
    work_off(server.client, 10)
    until(lambda: {status(server.client, each) for each in workflows} == {"COMPLETED"})
    until(lambda: found(server.client, "COMPLETED") == set(workflows), what="all are found")


def test_a_store_that_is_killed_is_replaced_and_everybody_finds_it(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    server = deployment.server(*shape, "--set", "conductor.effects.lease=1s")
    if shape == A_PROCESS_EACH:
        server.member("effects")
    before = start(server.client, 1)
    server.keep_all()
    (store,) = [pid for pid in server.family() if name_of(pid) == "valkey-server"]

    os.kill(store, signal.SIGKILL)

    await_gone([store])
    until(server.is_healthy, what="healthy again")
    after = start(server.client, 2)
    work_off(server.client, 2)
    until(lambda: {before, after} <= found(server.client, "COMPLETED"), what="both are found")


def test_effects_whose_worker_is_killed_come_again(deployment: Deployment) -> None:
    server = deployment.server(*A_PROCESS_EACH, "--set", "conductor.effects.lease=2s")
    victim = server.member("effects")
    os.kill(victim, signal.SIGSTOP)  # it takes jobs no more, and never will again

    workflows = {start(server.client, number) for number in range(30)}
    work_off(server.client, 30)
    os.kill(victim, signal.SIGKILL)

    until(lambda: found(server.client, "COMPLETED") == workflows, what="all are found")


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


def test_an_idle_server_comes_to_rest(
    deployment: Deployment, shape: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    server = deployment.server(*shape)
    if shape == A_PROCESS_EACH:
        server.member("effects")

    def resting() -> dict[int, float]:
        """The CPU of each process in five seconds, nothing while they use much."""
        before = {pid: cpu_ticks(pid) for pid in server.family()}
        threading.Event().wait(5.0)
        used = {pid: (cpu_ticks(pid) - ticks) / 5 for pid, ticks in before.items()}
        return used if sum(used.values()) < 5 else {}

    # What a process does once, after its start, takes as long as the machine lets it.
    used = until(resting, what="an idle server uses less than 5 % of a core")
    family = server.family()
    with capsys.disabled():
        for pid, percent in used.items():
            figures = f"{resident_mb(pid):4.0f} MB  {percent:4.1f} % CPU"
            sys.stdout.write(f"\n{figures}  {family[pid][-60:]}")
