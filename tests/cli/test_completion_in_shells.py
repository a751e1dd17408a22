"""The completion of commands and names, typed into the shells that it is for."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer
from tests.services.absence import absent
from tests.services.cache import Unobtainable
from tests.services.shells import Shell, shell
from tests.waiting import until

pytestmark = [pytest.mark.thorough(target="versions"), pytest.mark.service]


class _Terminal:
    """A shell at a terminal: what is typed into it, and what has been seen on it."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._seen = b""

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def seen(self) -> str:
        """Everything so far."""
        with suppress(OSError):  # nothing yet, or nothing any more
            while read := os.read(self._terminal, 65_536):
                self._seen += read
        return self._seen.decode(errors="replace")


@contextmanager
def _at_a_terminal(chosen: Shell, env: dict[str, str]) -> Iterator[_Terminal]:
    mine, its = pty.openpty()
    os.set_blocking(mine, False)
    process = subprocess.Popen(
        ("setsid", "--ctty", *chosen.command),
        stdin=its,
        stdout=its,
        stderr=its,
        env=env | chosen.env,
    )
    os.close(its)
    try:
        yield _Terminal(mine)
    finally:
        process.kill()
        process.wait()
        os.close(mine)


@pytest.fixture(params=["bash", "zsh", "fish"])
def terminal(
    request: pytest.FixtureRequest, run: Run, stub: StubServer, tmp_path: Path
) -> Iterator[_Terminal]:
    """A shell that has read its script, as the page says one does; a server is there."""
    try:
        chosen = shell(request.param)
    except Unobtainable as error:
        absent(f"{request.param} cannot be had: {error}")
    script = tmp_path / "completion"
    script.write_text(run("completion", request.param).out)
    stub.on("GET", "/api/metadata/workflow", Reply(200, [{"name": "orders"}]))
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {
        "PATH": programs,
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "CONDUCTOR_SERVER_URL": stub.url,
    }
    with _at_a_terminal(chosen, env) as made:
        made.type(chosen.setting_up.format(script=script) + "; echo it is re''ady\n")
        until(lambda: "it is ready" in made.seen(), what="the shell's prompt")
        yield made


def test_a_command_is_completed(terminal: _Terminal) -> None:
    terminal.type("conductor-py workf\t --help\n")
    until(lambda: "Usage: conductor-py workflow [OPTIONS]" in terminal.seen())


def test_a_name_that_the_server_knows_is_completed(terminal: _Terminal, stub: StubServer) -> None:
    stub.on("GET", "/api/metadata/workflow/orders", Reply(200, {"name": "orders"}))
    terminal.type("conductor-py definition get or\t\n")
    until(lambda: stub.seen("GET", "/api/metadata/workflow/orders"))
