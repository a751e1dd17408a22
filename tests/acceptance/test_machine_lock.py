"""A server whose parts lock each other out by the file in their data directory."""

import pytest

from tests.acceptance.deployment import Deployment
from tests.acceptance.stories import run_script, start, status, work_off
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(120),
]


def test_the_parts_of_a_server_share_one_lock(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    """Even without fencing: API and sweeper decide on the same executions."""
    server = deployment.server(
        *shape,
        *("--set", "conductor.workflow-execution-lock.type=local_only"),
        *("--set", "conductor.app.fencing.enabled=false"),
    )
    started = [start(server.client, number) for number in range(20)]
    run_script(server.client)
    work_off(server.client, len(started))

    assert {status(server.client, workflow) for workflow in started} == {"COMPLETED"}
    leases = deployment.folder / "server-data" / "locks"
    assert leases.stat().st_size == 16 << 16
    until(lambda: set(leases.read_bytes()) == {0}, what="nothing is held any more")
    assert "lock_check" in server.log
    assert "servers of other data directories may overwrite" in server.log
    assert "lock_lost" not in server.log
    assert "lock_away" not in server.log
