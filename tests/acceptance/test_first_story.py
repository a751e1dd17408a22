"""What every user does first: start the server, run a workflow, find it, stop, start again."""

import re
import sys

import pytest

from tests.acceptance.deployment import ONE_PROCESS, Deployment
from tests.acceptance.stories import finish, found, start, status, take
from tests.services.processes import is_running
from tests.waiting import until

pytestmark = pytest.mark.acceptance


def test_it_says_where_it_is_and_runs_a_workflow_to_the_search_page(
    deployment: Deployment, shape: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    server = deployment.server(*shape)
    until(lambda: "docs" in server.said)
    seconds = re.search(r"after ([\d.]+) s", server.said)
    assert seconds is not None
    assert f"http://127.0.0.1:{server.port}/api" in server.said
    with capsys.disabled():
        sys.stdout.write(f"\nready after {seconds[1]} s\n")

    workflow = start(server.client, 21)
    (task,) = until(lambda: take(server.client), what="the task is handed out")
    assert task["inputData"] == {"number": 21}
    finish(server.client, task)

    assert server.client.get_workflow(workflow)["output"] == {"double": 42}
    until(lambda: workflow in found(server.client, "COMPLETED"), what="found by search")


def test_a_stop_leaves_nothing_running_and_a_start_finds_everything(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    server = deployment.server(*shape)
    ended = start(server.client, 1)
    (first,) = until(lambda: take(server.client), what="the first task is handed out")
    finish(server.client, first)
    open_one = start(server.client, 2)
    wanted = 3 if shape == ONE_PROCESS else 6
    until(lambda: len(server.family()) >= wanted, what="every process is started")
    family = server.family()

    assert server.terminate() == 0
    assert [pid for pid in family if is_running(pid)] == []
    server.start()

    assert status(server.client, ended) == "COMPLETED"
    assert status(server.client, open_one) == "RUNNING"
