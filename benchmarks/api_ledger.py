"""Where the CPU of the API goes for a one-task execution: Flask, engine, Redis client and so on.

The application of a server and its engine, in this process, over an embedded Redis; this program is
its web server and its client. A timer of the CPU time that this process uses looks now and then
which line is at work, so waiting is not seen, and what is seen costs what it costs without. What is
nobody's own (the standard library, the model) counts for who called it.
"""

from __future__ import annotations

import io
import json
import logging
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from benchmarks.clients import DATA
from conductor_py.config import load
from conductor_py.processes.embedded_redis import EmbeddedRedis
from conductor_py.wiring import build_admission, build_application, build_engine, build_metrics

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

_EVERY_S: Final = 0.001
_CLIENT: Final = "this program"
PARTS: Final = (
    ("benchmarks", _CLIENT),
    ("conductor_py.adapters.redis", "Redis: our adapter"),
    ("redis", "Redis: the client library"),
    ("conductor_py.decider", "deciding"),
    ("conductor_py.codec", "reading and writing JSON and what is stored"),
    ("conductor_py.wire", "reading and writing JSON and what is stored"),
    ("conductor_py.engine", "engine"),
    ("conductor_py.api", "API: admission, route, views"),
    ("flask", "Flask"),
    ("werkzeug", "Flask"),
    ("prometheus_client", "metrics"),
)
_STEP: Final = {"name": "step", "taskReferenceName": "t0", "type": "SIMPLE"}
_DEFINITION: Final = {
    "name": "one",
    "version": 1,
    "ownerEmail": "bench@example.com",
    "tasks": [{**_STEP, "inputParameters": {"data": "${workflow.input.data}"}}],
    "outputParameters": {"done": "${t0.output.data}"},
}


def measure_api(executions: int) -> dict[str, float]:
    """Seconds of CPU of each part for so many executions, each a start, a poll and a result."""
    with _application() as application:
        ask = _Asking(application)
        ask("PUT", "/metadata/workflow", [_DEFINITION])
        _run(ask, max(1, executions // 10))
        with _looks() as seen:
            began = time.thread_time()
            _run(ask, executions)
            spent = time.thread_time() - began
    looks = max(1, sum(seen.values()))
    return {part: spent * count / looks for part, count in seen.items() if part != _CLIENT}


def _run(ask: _Asking, executions: int) -> None:
    for _ in range(executions):
        execution = ask("POST", "/workflow", {"name": "one", "version": 1, "input": {"data": DATA}})
        found = json.loads(ask("GET", "/tasks/poll/batch/step", query="count=1&timeout=0"))
        for task in found:
            result = {
                "taskId": task["taskId"],
                "workflowInstanceId": task["workflowInstanceId"],
                "status": "COMPLETED",
                "workerId": "bench",
                "outputData": {"data": DATA},
            }
            ask("POST", "/tasks", result)
        if not found:
            raise RuntimeError(f"the task of {execution!r} never came")


class _Asking:
    """Calls an application as a web server does."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, method: str, path: str, body: object = None, query: str = "") -> bytes:
        content = b"" if body is None else json.dumps(body).encode()
        status: list[str] = []
        answer = self._application(
            {
                "REQUEST_METHOD": method,
                "SCRIPT_NAME": "",
                "PATH_INFO": f"/api{path}",
                "QUERY_STRING": query,
                "CONTENT_TYPE": "application/json",
                "CONTENT_LENGTH": str(len(content)),
                "HTTP_HOST": "localhost",
                "REMOTE_ADDR": "127.0.0.1",
                "SERVER_NAME": "localhost",
                "SERVER_PORT": "80",
                "SERVER_PROTOCOL": "HTTP/1.1",
                "wsgi.version": (1, 0),
                "wsgi.url_scheme": "http",
                "wsgi.input": io.BytesIO(content),
                "wsgi.errors": io.StringIO(),
                "wsgi.multithread": True,
                "wsgi.multiprocess": False,
                "wsgi.run_once": False,
            },
            lambda line, *_: status.append(line),  # type: ignore[arg-type]
        )
        read = b"".join(answer)
        if hasattr(answer, "close"):
            answer.close()
        if not status[0].startswith("2"):
            raise RuntimeError(f"{method} {path}: {status[0]} {read[:200]!r}")
        return read


@contextmanager
def _application() -> Iterator[WSGIApplication]:
    """Have what the API of a server consists of; effects stay in the outbox."""
    logging.getLogger("conductor_py").addHandler(logging.NullHandler())  # its Redis ends before it
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as data,
        EmbeddedRedis(Path(data) / "redis") as store,
    ):
        flags = {
            "conductor.db.type": "redis_standalone",
            "conductor.redis.socket": str(store.socket),
            "conductor.data.directory": data,
        }
        settings = load(environment={}, flags=flags)
        metrics, admission = build_metrics(settings), build_admission(settings)
        engine = build_engine(settings, server="bench", metrics=metrics, admission=admission)
        engine.shards.keep()
        given: dict[str, Any] = {"metrics": metrics, "admission": admission}
        yield build_application(
            settings, engine, stop=threading.Event(), instance="bench", **given
        ).wsgi_app


@contextmanager
def _looks() -> Iterator[Mapping[str, int]]:
    """Count which part is at work, at each tick of the CPU time used."""
    seen: Counter[str] = Counter()

    def look(_number: int, frame: FrameType | None) -> None:
        seen[part_of(frame)] += 1

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
    try:
        yield seen
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def part_of(frame: FrameType | None) -> str:
    """The part whose line is at work, or has called what is."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        for name, part in PARTS:
            if module == name or module.startswith(f"{name}."):
                return part
        frame = frame.f_back
    return "other"
