"""Whether an address can be listened on: asked before anything starts, so that the answer is one
sentence.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Final

from conductor_py.errors import ConfigurationError

_LOOK_S: Final = 0.05


def await_port(host: str, port: int, *, timeout_s: float = 0.0) -> None:
    """Wait until the port is free; ConfigurationError when it is not within ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            _bind(host, port)
        except OSError as error:
            if time.monotonic() >= deadline:
                shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
                raise ConfigurationError(
                    f"{shown} cannot be listened on: {error.strerror or error}; give another "
                    "address with --host and --port"
                ) from error
        else:
            return
        threading.Event().wait(_LOOK_S)


def _bind(host: str, port: int) -> None:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        # A connection that was closed a moment ago does not count; a listener does.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
