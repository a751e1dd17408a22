"""One web server before the least of applications: ``web_server_child.py NAME PORT [THREADS]``.

Each as an API process would run it: one process, HTTP/1.1 that is kept alive, as many threads as
there may be requests at once. A long poll waits, and finds nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

_THREADS = int(sys.argv[3]) if len(sys.argv) > 3 else 16
_HOST = "127.0.0.1"
_BODY = b'{"status":"IN_PROGRESS","outputData":{"text":"%s"}}' % (b"x" * 150)
_HEAD = [("Content-Type", "application/json"), ("Content-Length", str(len(_BODY)))]


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Read a request and answer it."""
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    if wait_ms := parse_qs(environ.get("QUERY_STRING", "")).get("timeout"):
        time.sleep(int(wait_ms[0]) / 1000)
    start_response("200 OK", _HEAD)
    return [_BODY]


def _granian(port: int) -> None:
    from granian.constants import HTTPModes, Interfaces
    from granian.log import LogLevels
    from granian.server import Server

    Server(
        target="unused",
        address=_HOST,
        port=port,
        interface=Interfaces.WSGI,
        blocking_threads=_THREADS,
        http=HTTPModes.http1,
        log_level=LogLevels.error,
        websockets=False,
    ).serve(target_loader=_loaded, wrap_loader=False)


def _loaded() -> Callable[..., Any]:
    return application


def _waitress(port: int) -> None:
    import waitress

    waitress.serve(application, host=_HOST, port=port, threads=_THREADS, _quiet=True)


def _cheroot(port: int) -> None:
    from cheroot import wsgi

    wsgi.Server((_HOST, port), application, numthreads=_THREADS).start()


def _gunicorn(port: int) -> None:
    from gunicorn.app.base import BaseApplication

    class Application(BaseApplication):
        def load_config(self) -> None:
            given = {"worker_class": "gthread", "threads": _THREADS, "keepalive": 75}
            for name, value in (given | {"bind": f"{_HOST}:{port}"}).items():
                self.cfg.set(name, value)

        def load(self) -> Callable[..., Any]:
            return application

    Application().run()


SERVERS = {
    "granian": _granian,
    "waitress": _waitress,
    "cheroot": _cheroot,
    "gunicorn": _gunicorn,
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](int(sys.argv[2]))
