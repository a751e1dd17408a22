"""The server of the documentation's examples, as a user starts one."""

import sys
from collections.abc import Iterator

import pytest

from tests.services.ports import free_port
from tests.services.processes import Service, answers


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The root of a server that the public command started, embedded Redis and all."""
    port = free_port()
    with Service("server") as server:
        command = [sys.executable, "-m", "conductor_py.cli", "server", "--port", str(port)]
        server.start([*command, "--data", str(server.folder / "data")])
        server.await_ready(lambda: answers(port))
        yield f"http://127.0.0.1:{port}"
