"""A server that hands out given tasks and remembers what is said about them."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from tests.waiting import PATIENCE_S


class StubServer:
    """Speaks the few calls that a worker makes; use as a context manager."""

    def __init__(self) -> None:
        """Listen on a free port."""
        self.waiting: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.progress: list[dict[str, Any]] = []
        self.polls = 0
        #: Claim tokens that moved on: extending them is answered 409.
        self.superseded: set[int] = set()
        #: While cleared, nothing is answered: the server is frozen.
        self.awake = threading.Event()
        self.awake.set()
        self.signs: list[dict[str, Any]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                polled, status = [], 200
                if "/tasks/poll/batch/" in self.path:
                    stub.polls += 1
                    kind = urlsplit(self.path).path.rsplit("/", 1)[1]
                    polled = [task for task in stub.waiting if task["taskType"] == kind][:1]
                    for task in polled:
                        stub.waiting.remove(task)
                else:
                    status = 404
                self._answer(status, json.dumps(polled))

            def do_DELETE(self) -> None:
                self._answer(200, "")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.path.endswith("/extend"):
                    said = json.loads(body)
                    stub.progress.append(said.get("progress") or {})
                    ours = said["claimToken"] not in stub.superseded
                    self._answer(200 if ours else 409, json.dumps({"leaseUntil": 1}))
                elif self.path.endswith("/tasks"):
                    stub.results.append(json.loads(body))
                    self._answer(200, "id", "text/plain")
                else:
                    self._answer(200, stub.told(self.path, body))

            def _answer(self, status: int, body: str, kind: str = "application/json") -> None:
                stub.awake.wait(PATIENCE_S)
                data = body.encode()
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def told(self, path: str, body: bytes) -> str:
        """Answer what else is posted; a sign of life is remembered."""
        if not path.endswith("/workers"):
            return "{}"
        self.signs.append(json.loads(body))
        return json.dumps({"leaseSeconds": 30})

    @property
    def url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self._server.server_port}/api"

    def offer(
        self, task_id: str, given: dict[str, Any], *, claim: int = 1, kind: str = "SPARK_SQL"
    ) -> None:
        """Hand that task to the next poll of its type."""
        self.waiting.append(
            {
                "taskId": task_id,
                "workflowInstanceId": "execution-1",
                "referenceTaskName": "load",
                "taskType": kind,
                "status": "IN_PROGRESS",
                "claimToken": claim,
                "inputData": given,
            }
        )

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
