"""Whether an address can be listened on."""

import socket
import threading

import pytest

from conductor_py.errors import ConfigurationError
from conductor_py.processes.listening import await_port


def test_a_port_that_somebody_listens_on_is_refused_by_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port} cannot be listened on"):
            await_port("127.0.0.1", port)


def test_a_port_that_becomes_free_is_waited_for() -> None:
    other = socket.create_server(("127.0.0.1", 0))
    port = other.getsockname()[1]
    closing = threading.Timer(0.2, other.close)
    closing.start()

    await_port("127.0.0.1", port, timeout_s=5.0)

    closing.join()
    assert other.fileno() == -1


def test_a_port_whose_last_connection_closed_a_moment_ago_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()  # the side that closes first keeps the address busy for a while
        client.close()

    await_port("127.0.0.1", port)


def test_a_host_that_is_not_here_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be listened on"):
        await_port("192.0.2.1", 0)
