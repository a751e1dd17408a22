"""A server where nothing is that only Linux has: no prctl, no /proc, no fork of the API's workers.

It is no macOS. It shows that nothing is asked for there that is missing.
"""

from pathlib import Path

import pytest

from tests.acceptance.deployment import Deployment, await_gone, deployed
from tests.acceptance.stories import finish, found, run_script, start, status, take
from tests.waiting import until

pytestmark = pytest.mark.acceptance

_AS_ON_MACOS = Path(__file__).with_name("as_on_macos")


def test_without_what_only_linux_has_a_server_runs_a_workflow_and_leaves_nothing_when_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(_AS_ON_MACOS))
    with deployed(tmp_path) as deployment:
        _story(deployment)


def _story(deployment: Deployment) -> None:
    server = deployment.server()
    workflow = start(server.client, 21)
    (task,) = until(lambda: take(server.client), what="the task is handed out")
    finish(server.client, task)
    run_script(server.client)
    until(lambda: workflow in found(server.client, "COMPLETED"), what="found by search")
    family = server.family()
    assert any("tether.py watch" in line for line in family.values())
    assert "process_ended" not in server.log

    server.kill()
    await_gone(family)
    server.start()

    assert status(server.client, workflow) == "COMPLETED"
    assert server.terminate() == 0
