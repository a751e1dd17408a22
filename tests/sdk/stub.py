"""A server for the SDK's tests: real HTTP on a free port, scripted answers, requests remembered."""

from __future__ import annotations

import json
import queue
import re
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from tests.waiting import PATIENCE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What arrived."""

    method: str
    path: str
    raw_path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    peer_port: int

    def json(self):
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """What to answer; `drop` closes the connection without a word, `close` after the answer."""

    status: int = 200
    body: object = b""
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    close: bool = False

    def document(self) -> tuple[bytes, str]:
        if isinstance(self.body, bytes):
            return self.body, "application/json"
        if isinstance(self.body, str):
            return self.body.encode(), "text/plain;charset=UTF-8"
        return json.dumps(self.body).encode(), "application/json"


DROP = Reply(drop=True)
Answerer = Callable[[Request], Reply]


class StubServer:
    """Answers `METHOD path-pattern` by what was scripted, 404 otherwise."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._routes: list[tuple[str, re.Pattern[str], Answerer]] = []
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.stub = self
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.origin}/api"

    def on(self, method: str, pattern: str, *answers: Reply | Answerer) -> None:
        """Script answers in order; the last one repeats. Newer scripts win over older ones."""
        left = list(answers)

        def answer(request: Request) -> Reply:
            current = left.pop(0) if len(left) > 1 else left[0]
            return current if isinstance(current, Reply) else current(request)

        self._routes.insert(0, (method, re.compile(pattern), answer))

    def answer(self, request: Request) -> Reply:
        self.requests.append(request)
        for method, pattern, answerer in self._routes:
            if method == request.method and pattern.fullmatch(request.path):
                return answerer(request)
        return Reply(404, {"status": 404, "message": f"no {request.path}", "retryable": False})

    def seen(self, method: str, pattern: str = ".*") -> list[Request]:
        wanted = re.compile(pattern)
        return [
            request
            for request in tuple(self.requests)
            if request.method == method and wanted.fullmatch(request.path)
        ]

    def hang_up(self) -> None:
        """Close every open connection, as a restarted server or an idle timeout would."""
        self._http.hang_up()

    def close(self) -> None:
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    stub: StubServer

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.open_sockets: set[socket.socket] = set()

    def hang_up(self) -> None:
        for connection in tuple(self.open_sockets):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request, client_address) -> None:
        """A client that went away is part of many stories."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.open_sockets.add(self.connection)

    def finish(self) -> None:
        self.server.open_sockets.discard(self.connection)
        super().finish()

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        parts = urlsplit(self.path)
        request = Request(
            method=self.command,
            path=unquote(parts.path),
            raw_path=parts.path,
            query=parse_qs(parts.query, keep_blank_values=True),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length),
            peer_port=self.client_address[1],
        )
        reply = self.server.stub.answer(request)
        if reply.drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        body, kind = reply.document()
        self.send_response(reply.status)
        if reply.status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.close:
            self.send_header("Connection", "close")
        self.end_headers()
        if reply.status != 204:
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - http.server's names

    def log_message(self, format, *args) -> None:
        """Say nothing: pytest shows what failed."""


class TaskQueue:
    """The task endpoints of a stub: hands out what is put in, keeps what is reported."""

    def __init__(self, stub: StubServer, task_type: str = "greet") -> None:
        self._tasks: queue.Queue[Mapping[str, object]] = queue.Queue()
        self.reports: queue.Queue[dict[str, object]] = queue.Queue()
        stub.on("GET", f"/api/tasks/poll/batch/{task_type}", self._poll)
        stub.on("POST", "/api/tasks", self._report)
        stub.on("POST", "/api/tasks/[^/]+/extend", Reply(200, {"leaseUntil": 1}))
        stub.on("POST", "/api/tasks/[^/]+/log", Reply(200))

    def put(self, *tasks: Mapping[str, object]) -> None:
        for task in tasks:
            self._tasks.put(task)

    def next_report(self) -> dict[str, object]:
        return self.reports.get(timeout=PATIENCE_S)

    def _poll(self, request: Request) -> Reply:
        handed: list[Mapping[str, object]] = []
        try:
            handed.append(self._tasks.get(timeout=int(request.query["timeout"][0]) / 1000))
            while len(handed) < int(request.query["count"][0]):
                handed.append(self._tasks.get_nowait())
        except queue.Empty:
            pass
        return Reply(200, handed)

    def _report(self, request: Request) -> Reply:
        self.reports.put(request.json())
        return Reply(200, request.json()["taskId"])
