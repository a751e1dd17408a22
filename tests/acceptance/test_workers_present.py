"""Which workers are there: real processes, listed by any node, gone after one lease."""

import socket
import time
from pathlib import Path
from typing import Any, Final

import pytest

from conductor_py.sdk import Client
from tests.acceptance.deployment import Api, Deployment, Process, Stalls
from tests.acceptance.programs import Program
from tests.acceptance.stories import start
from tests.conftest import RealRedis
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(120),
]

_LEASE_S: Final = 3.0
_SHARD_LEASE_S: Final = 10.0
_FLUSHED_S: Final = _LEASE_S / 4 + _SHARD_LEASE_S / 12
"""Polls are written down at most so long after they came, and count a whole lease from then on."""


def _worker(deployment: Deployment, server: Api, name: str) -> Process:
    """A worker of the SDK whose function waits for a file that never comes."""
    script = str(Path(__file__).with_name("late_worker.py"))
    folder = deployment.folder / name
    worker = Program(folder, script, server.client.server_url, "careful", str(folder / "go"))
    deployment.processes.append(worker)
    worker.start()
    return worker


def _present(client: Client) -> dict[str, dict[str, Any]]:
    return {str(each["workerId"]): dict(each) for each in client.list_workers()}


def test_workers_are_listed_while_they_live_and_gone_one_lease_after_a_kill(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    shared = (
        *("--redis", newest_redis.url, "--data", str(deployment.folder / "data")),
        *("--set", f"conductor.app.workerPresenceLease={_LEASE_S:.0f}s"),
        *("--set", f"conductor.redis.shardLease={_SHARD_LEASE_S:.0f}s"),
    )
    first, second = (
        deployment.serve(Api(deployment.folder / name, "api", *shared))
        for name in ("first", "second")
    )
    killed, stopped = (_worker(deployment, first, name) for name in ("killed", "stopped"))
    ids = [f"{socket.gethostname()}-{worker.pid}" for worker in (killed, stopped)]
    until(lambda: set(ids) <= set(_present(second.client)), what="both are listed")
    # One that does not tell, as those of other SDKs: its polls are known a moment later.
    until(lambda: _polls_and_is_listed(first, second), what="the other one is listed")
    for number in range(2):
        start(first.client, number)
    until(
        lambda: all(_present(second.client)[each]["running"] == 1 for each in ids),
        30,
        what="both say that they are busy",
    )
    one = _present(second.client)[ids[0]]
    assert (one["host"], one["capacity"], one["reported"]) == (socket.gethostname(), 1, True)
    assert [each["taskType"] for each in one["taskTypes"]] == ["step"]

    with Stalls() as stalls:
        killed.kill()
        killed_at = time.monotonic()
        until(lambda: ids[0] not in _present(second.client), what="it is gone")
        gone_s = time.monotonic() - killed_at
    assert gone_s <= _LEASE_S + _FLUSHED_S + 0.5 + stalls.longest_s
    assert ids[1] in _present(second.client)

    (deployment.folder / "stopped" / "go").touch()
    assert stopped.terminate() == 0
    assert ids[1] not in _present(second.client)


def _polls_and_is_listed(server: Api, other: Api) -> bool:
    server.client.poll_batch("else", worker_id="java-1", timeout_ms=10)
    return _present(other.client).get("java-1", {}).get("reported") is False
