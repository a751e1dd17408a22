"""The deployment that the chaos and the soak program run: which processes, with which settings."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from conductor_py.sdk import Client
from tests.chaos.crew import Crew
from tests.chaos.kinds import HANDLER, KINDS, SCHEDULE, TASK_DEFINITIONS
from tests.waiting import until

#: Leases are short, so that a pause of some seconds is longer than any of them.
SHORT_LEASES = {
    "conductor.app.lockLeaseTime": "2s",
    "conductor.redis.shardLease": "3s",
    "conductor.effects.lease": "3s",
    "conductor.effects.batchSize": "50",
    "conductor.systemTasks.lease": "3s",
    "conductor.scheduler.lease": "5s",
    "conductor.redis.commandTimeout": "2s",
    "conductor.app.workerLostLimit": "100",
    "conductor.workflow-status-listener.archival.delaySeconds": "10",
}
COMMON = {
    "conductor.tasks.http.allowedNetworks": "127.0.0.0/8",
    "conductor.log.level": "WARNING",
    # What nobody may depend on: a look at everything, now and then.
    "conductor.audit.interval": "0",
}
_READY_S = 40.0


@contextmanager
def site() -> Iterator[str]:
    """A web server for HTTP tasks: the answer to /<number> is one more."""

    class Request(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"value": int(self.path[1:]) + 1}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
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
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


SHAPES = {
    "apart": {"api": 2, "sweeper": 2, "effects": 2, "system-worker": 1, "scheduler": 2},
    "server": {"server": 2},
}
"""How many processes of each command: a process for each part, or all parts in one."""


def man(crew: Crew, shape: str) -> None:
    """Start the processes of a shape, and workers, and register what will be started."""
    first, *others = SHAPES[shape].items()
    crew.add(*first)
    for api in crew.apis:
        until(api.is_healthy, _READY_S, what=f"{api.name} is healthy")
    register(crew.apis[0].patient)
    for each in others:
        crew.add(*each)
    crew.add_workers(4)


def register(client: Client) -> None:
    """Definitions, the event handler, the schedule."""
    client.register_tasks(TASK_DEFINITIONS)
    answer = client.update_workflows([kind.definition for kind in KINDS.values()])
    assert not answer.get("bulkErrorResults"), answer
    client.register_event_handler(HANDLER, overwrite=True)
    client.save_schedule(SCHEDULE)
