"""Whether an address can be listened on."""

import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from conductor_py.config import Settings
from conductor_py.config.server import Server
from conductor_py.errors import ConfigurationError
from conductor_py.processes import listening
from conductor_py.processes.api import run_api
from conductor_py.processes.listening import await_port, refuse_strangers
from conductor_py.processes.server import run_server
from tests.services.ports import free_port
from tests.waiting import PATIENCE_S


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1"])
def test_an_address_that_strangers_reach_is_not_listened_on_without_a_word(host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"no authentication.*--allow-anonymous"):
        refuse_strangers(Server(host=host))
    refuse_strangers(Server(host=host, allow_anonymous=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_this_machine_alone_needs_no_word(host: str) -> None:
    refuse_strangers(Server(host=host))


def test_a_name_that_leads_out_with_one_of_its_addresses_needs_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(0, 0, 0, "", (address, 0)) for address in ("127.0.0.1", "192.0.2.1")]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    with pytest.raises(ConfigurationError, match="other machines"):
        refuse_strangers(Server(host="both.example"))


@pytest.mark.parametrize(
    "run", [partial(run_server, say=print), run_api], ids=["server", "an API node"]
)
def test_nothing_starts_that_strangers_would_reach(
    run: Callable[[Settings], int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="--allow-anonymous"):
        run(Settings(server=Server(host="0.0.0.0")))
    assert not list(tmp_path.iterdir())


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
