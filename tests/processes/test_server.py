"""What can be wrong is found before anything of a server runs."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import conductor_py.processes.server as servers
from conductor_py.config import load
from conductor_py.errors import ConfigurationError


def test_a_port_that_is_taken_is_told_of_before_the_store_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_PORT_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        data = tmp_path / "data"
        settings = load(
            flags={"conductor.server.port": str(port), "conductor.data.directory": str(data)}
        )
        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port} cannot be listened on"):
            servers.run_server(settings, print)
    assert not data.exists()
