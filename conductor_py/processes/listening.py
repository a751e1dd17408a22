"""Whether an address can and may be listened on: asked before anything starts, so that the
answer is one sentence.
"""

from __future__ import annotations

import socket
import threading
import time
from ipaddress import ip_address
from typing import Final

from conductor_py.config.server import Server
from conductor_py.errors import ConfigurationError

_LOOK_S: Final = 0.05


def refuse_strangers(server: Server) -> None:
    """Raise ConfigurationError when others than this machine would reach the server, and nothing
    says that this is meant.
    """
    if server.allow_anonymous or _is_of_this_machine(server.host):
        return
    raise ConfigurationError(
        f"{server.host} can be reached from other machines, and there is no authentication: "
        "whoever reaches it may run workflows and read and remove everything. Listen on 127.0.0.1 "
        "behind a proxy that asks who it is; or, where the network keeps strangers out, say "
        "--allow-anonymous (conductor.server.allowAnonymous=true)"
    )


def _is_of_this_machine(host: str) -> bool:
    """Whether only this machine reaches it; true of a name that nobody knows, which fails later."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return True
    return all(ip_address(str(each[4][0]).partition("%")[0]).is_loopback for each in found)


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
