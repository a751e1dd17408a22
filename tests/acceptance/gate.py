"""A gate before Redis: it holds back one command, and its sender is in the middle of its work."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

from tests.waiting import PATIENCE_S

_CHUNK: Final = 1 << 16


class Gate:
    """What passes is handed on; from `shut` on the first request with that word waits for `open`.

    A request is looked at as it is read: what is longer than one read may pass with its word cut.
    """

    def __init__(self, url: str, port: int) -> None:
        self.url = f"redis://127.0.0.1:{port}/0"
        self.held = threading.Event()
        self._url = url
        self._word: bytes | None = None
        self._released = threading.Event()

    def shut(self, word: str) -> None:
        """Hold the next request that has `word` in it."""
        self._word = word.encode()

    def open(self) -> None:
        """Hand on what is held, and everything from now on."""
        self._word = None
        self._released.set()

    def forward(self, client: socket.socket) -> None:
        """Carry one connection until either end closes it."""
        with closing(_connected(self._url)) as target:
            replies = threading.Thread(target=_copied, args=(target, client), daemon=True)
            replies.start()
            with suppress(OSError):
                while chunk := client.recv(_CHUNK):
                    if self._word is not None and self._word in chunk:
                        self._word = None
                        self.held.set()
                        self._released.wait(2 * PATIENCE_S)
                    target.sendall(chunk)


def _connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    if parts.scheme == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(parts.path)
        return connection
    return socket.create_connection((parts.hostname or "", parts.port or 6379))


def _copied(source: socket.socket, to: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            to.sendall(chunk)
    with suppress(OSError):
        to.shutdown(socket.SHUT_RDWR)


@contextmanager
def gate_before(url: str) -> Iterator[Gate]:
    """A gate before the Redis at `url`, open at first."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            gate.forward(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        gate = Gate(url, server.server_address[1])
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield gate
        finally:
            gate.open()
            server.shutdown()
