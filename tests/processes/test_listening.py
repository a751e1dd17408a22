"""Whether an address can be listened on."""

import socket

import pytest

from conductor_py.errors import ConfigurationError
from conductor_py.processes import listening
from conductor_py.processes.listening import await_port
from tests.services.ports import free_port
from tests.waiting import PATIENCE_S


def test_a_port_that_somebody_listens_on_is_refused_by_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port} cannot be listened on"):
            await_port("127.0.0.1", port)


def test_a_port_that_becomes_free_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    port, bind = free_port(), listening._bind
    other = socket.create_server(("127.0.0.1", port))

    def refused_once(host: str, port: int) -> None:
        try:
            bind(host, port)
        except OSError:
            other.close()
            raise

    monkeypatch.setattr(listening, "_bind", refused_once)
    await_port("127.0.0.1", port, timeout_s=PATIENCE_S)

    assert other.fileno() == -1


def test_a_port_whose_last_connection_closed_a_moment_ago_is_free() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as server:
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()  # the side that closes first keeps the address busy for a while
        client.close()

    await_port("127.0.0.1", port)


def test_a_host_that_is_not_here_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be listened on"):
        await_port("192.0.2.1", 0)
