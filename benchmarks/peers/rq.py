"""RQ: a job is handed to a worker over Redis, and its result comes back; the floor of such work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from benchmarks.peers.child import child, environment, turn_of
from benchmarks.peers.peer import Peer, Ready
from benchmarks.peers.valkey import KEEPS, valkey, version
from tests.services.processes import Service

_PACKAGE: Final = "rq==3.0.0"
_EXECUTIONS: Final = 1000


@contextmanager
def _started() -> Iterator[Ready]:
    programs = environment(_PACKAGE)
    with (
        valkey() as store,
        Service("rq-worker") as worker,
        child(programs, "rq_child", store.url) as client,
    ):
        worker.start(
            [
                *(str(programs / "python"), "-m", "rq.cli", "worker", "bench"),
                *("--url", store.url, "--quiet", "--worker-class", "rq.worker.SimpleWorker"),
            ]
        )
        pids = (store.pid, worker.pid)
        yield Ready(
            version=f"{client.version}, {version()}",
            pids=pids,
            turn=turn_of(client, _EXECUTIONS, pids=pids),
        )


RQ: Final = Peer(
    name="rq",
    title="RQ, one `SimpleWorker`",
    keeps=f"{KEEPS}; no history",
    counted="worker and Redis",
    start=_started,
)
