"""A gate before Redis: it holds back a command, and its sender is in the middle of its work."""

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
    """What passes is handed on; requests with a word wait from `shut` on until `open`.

    A request is looked at as it is read: what is longer than one read may pass with its word cut.
    Whoever sends again what was not answered in time waits again.
    """

    def __init__(self, url: str, port: int) -> None:
        self.url = f"redis://127.0.0.1:{port}/0"
        self.held = threading.Event()
        self._url = url
        self._word: bytes | None = None
        self._opened = threading.Event()

    def shut(self, word: str) -> None:
        """Hold the requests that have `word` in them."""
        self.held.clear()
        self._opened.clear()
        self._word = word.encode()

    def open(self) -> None:
        """Hand on what is held, and everything from now on."""
        self._word = None
        self._opened.set()

    def forward(self, client: socket.socket) -> None:
        """Carry one connection until either end closes it."""
        with closing(_connected(self._url)) as target:
            replies = threading.Thread(target=_copied, args=(target, client), daemon=True)
            replies.start()
            with suppress(OSError):
                while chunk := client.recv(_CHUNK):
                    word = self._word  # another thread may open
                    if word is not None and word in chunk:
                        self.held.set()
                        self._opened.wait(2 * PATIENCE_S)
                    target.sendall(chunk)
            with suppress(OSError):
                target.shutdown(socket.SHUT_RDWR)  # who reads from it does not hear of a close


def _connected(url: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(urlsplit(url).path)
    return connection


def _copied(source: socket.socket, to: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            to.sendall(chunk)
    with suppress(OSError):
        to.shutdown(socket.SHUT_RDWR)


@contextmanager
def gate_before(url: str) -> Iterator[Gate]:
    """A gate before the Redis at `url`, which names its socket; open at first."""

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
