"""An engine in memory behind real HTTP, for as long as a test wants it: for SDKs in any language,
for the command line and for a browser.

After each request the engine does what the background processes would do for the time that the fake
clock shows. Time passes when the test says so, also while it serves.
"""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from conductor_py.decider.expressions.expressions import check

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from conductor_py.adapters.memory.space import MemorySpace
    from conductor_py.engine import Engine

_HOST: Final = "127.0.0.1"
_LOOK_S: Final = 0.05


@contextmanager
def served(engine: Engine, space: MemorySpace, settle: Callable[[], None]) -> Iterator[str]:
    """Serve HTTP and the user interface on a port of the system's choice; gives the API's URL.

    ``settle`` is called after each request. At the end of the block no request is under way, and
    the port is free.
    """
    stop = threading.Event()
    server = _Server(_settled(_application(engine, stop), settle))
    thread = threading.Thread(
        target=server.serve_forever, args=(_LOOK_S,), name="conductor-test-server"
    )
    thread.start()
    try:
        yield f"http://{_HOST}:{server.server_port}/api"
    finally:
        stop.set()
        for topic in tuple(space.tickets):  # long polls look again, and see that it is over
            space.publish(topic)
        server.shutdown()
        thread.join()
        server.end()


def _application(engine: Engine, stop: threading.Event) -> WSGIApplication:
    # Flask is loaded by the tests that serve, and by no other.
    from conductor_py.api import create_app
    from conductor_py.ui import create_ui

    app = create_app(
        engine,
        check_expressions=check,
        check_script=engine.check_script,
        files=engine.files,
        stop=stop,
        instance="test",
    )
    app.register_blueprint(create_ui(engine))
    return app


def _settled(application: WSGIApplication, settle: Callable[[], None]) -> WSGIApplication:
    """Settle when the answer is made, and before its client has it."""
    lock = threading.Lock()

    def whole(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = application(environ, start_response)
        with lock:
            settle()
        return answer

    return whole


class _Handler(WSGIRequestHandler):
    """One request, of which no line is printed."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ANN401 - as it is declared there
        """Print nothing: a test says itself what went wrong."""


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    """A thread for each connection; the end waits for all of them."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, application: WSGIApplication) -> None:
        self._open: set[socket.socket] = set()
        super().__init__((_HOST, 0), _Handler)
        self.set_app(application)

    def server_bind(self) -> None:
        # That of HTTPServer asks for the name of the address, which may take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, int(self.server_address[1])
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Say nothing: a client that goes away is no error of the test."""

    def end(self) -> None:
        """Close the port; connections on which nobody asks anything end, the others are awaited."""
        for request in tuple(self._open):
            with suppress(OSError):
                request.shutdown(socket.SHUT_RD)
        self.server_close()
