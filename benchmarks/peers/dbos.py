"""DBOS: a workflow of one step, by a library in the application's process, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from benchmarks.peers.child import child, environment, turn_of
from benchmarks.peers.peer import Peer, Ready
from tests.services.sql_servers import start_postgresql

_PACKAGE: Final = "dbos==3.4.0"
_EXECUTIONS: Final = 400


@contextmanager
def _started() -> Iterator[Ready]:
    programs = environment(_PACKAGE)
    store = start_postgresql(fsync=True)
    try:
        with child(programs, "dbos_child", store.url) as application:
            pids = (store.service.pid, application.pid)
            yield Ready(
                version=application.version,
                pids=pids,
                turn=turn_of(application, _EXECUTIONS, pids=pids),
            )
    finally:
        store.stop()


DBOS: Final = Peer(
    name="dbos",
    title="DBOS on PostgreSQL",
    keeps="PostgreSQL, on disk at each commit",
    counted="the application's process, which starts, runs and works, and PostgreSQL",
    start=_started,
)
