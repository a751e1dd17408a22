"""A web server of the test's own, and HTTP tasks that may reach it."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from conductor_py.outbound.addresses import AddressRules, networks
from conductor_py.outbound.deadline import Deadline
from conductor_py.ports.system_tasks import SystemCall, SystemResult
from conductor_py.systemtasks.http import HttpLimits, HttpTask
from tests.waiting import PATIENCE_S

Handler = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class WebServer:
    """Answers each path as it was told to; ``seen`` are the requests so far."""

    port: int = 0
    host: str = "127.0.0.1"
    answers: dict[str, Handler] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def answer(
        self,
        path: str,
        body: bytes | str = b"",
        status: int = 200,
        content_type: str = "application/json",
        **headers: str,
    ) -> str:
        """Answer a path in this way; returns its URL."""
        content = body.encode() if isinstance(body, str) else body

        def handler(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            for name, value in headers.items():
                request.send_header(name.replace("_", "-"), value)
            if content:
                request.send_header("Content-Type", content_type)
            request.send_header("Content-Length", str(len(content)))
            request.end_headers()
            if request.command != "HEAD":
                request.wfile.write(content)

        self.answers[path] = handler
        return self.url + path


def web_server_on(web: WebServer) -> ThreadingHTTPServer:
    class Request(BaseHTTPRequestHandler):
        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            web.seen.append(Seen(self.command, self.path, dict(self.headers.items()), body))
            handler = web.answers.get(self.path.partition("?")[0])
            if handler is None:
                self.send_error(404)
            else:
                handler(self)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self._any
            raise AttributeError(name)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                """The other side broke off."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    server.daemon_threads = True
    web.port = server.server_address[1]
    return server


@pytest.fixture
def web() -> Iterator[WebServer]:
    site = WebServer()
    server = web_server_on(site)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield site
    server.shutdown()
    server.server_close()


@pytest.fixture
def dripping(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """For a server to set that has begun to drip: no call is broken off for its time before."""
    begun, end = threading.Event(), Deadline._end

    def end_while_it_drips(deadline: Deadline) -> None:
        begun.wait(PATIENCE_S)
        end(deadline)

    monkeypatch.setattr(Deadline, "_end", end_while_it_drips)
    return begun


_PATIENCE_MS = int(PATIENCE_S * 1000)
LOOPBACK = AddressRules(networks=networks(["127.0.0.0/8"]))


def call(value: dict[str, Any], **more: Any) -> SystemCall:
    return SystemCall(
        task_id="t", workflow_id="w", ref="r", task_type="HTTP", definition="d", input=value, **more
    )


def ask(
    value: dict[str, Any],
    rules: AddressRules = LOOPBACK,
    *,
    asynchronous: bool = False,
    **limits: int,
) -> SystemResult:
    """Carry out an HTTP task of this input; unless something is said, a slow machine has time."""
    patient = {"connect_ms": _PATIENCE_MS, "read_ms": _PATIENCE_MS}
    task = HttpTask(rules, HttpLimits(**patient | limits))
    return task.execute(call(value, async_complete=asynchronous))


def response_of(result: SystemResult) -> Any:
    return result.output["response"]
