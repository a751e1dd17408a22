"""The tutorials of data pipelines are pasted into a shell, block by block, and print what they say.

The server is the one of all examples, so the command that starts one is left out.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Block, page
from tests.services.processes import die_with_parent

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="docs"), pytest.mark.timeout(500)]

_SESSION_S = 450
_MARK = "=== next block ==="
#: A worker in the background ends with the shell, however that ends in good order.
_BEGIN = "set -eu\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"


def test_flights_are_loaded_once_although_the_worker_is_killed(
    server_url: str, postgresql_server: str, tmp_path: Path
) -> None:
    _follow("pipeline", server_url, tmp_path, CONDUCTOR_SECRET_WAREHOUSE=postgresql_server)


def test_a_watched_folder_is_left_with_a_savepoint_and_gone_on_with(
    server_url: str, tmp_path: Path
) -> None:
    _follow("watched-folder", server_url, tmp_path)


def _follow(name: str, server_url: str, folder: Path, **environment: str) -> None:
    blocks = [
        block
        for block in page(f"docs/tutorials/{name}.md").blocks("sh")
        if block.text.strip() != "conductor-py server"
    ]
    printed = _pasted(blocks, folder, {"CONDUCTOR_SERVER_URL": f"{server_url}/api", **environment})
    for block, output in zip(blocks, printed, strict=True):
        if block.prints is not None:
            assert output.strip() == block.prints.strip()


def _pasted(blocks: list[Block], folder: Path, environment: dict[str, str]) -> list[str]:
    """Run the blocks in one shell; return what each of them printed."""
    script = folder / "pasted.sh"
    script.write_text(_BEGIN + "\n".join(f"echo '{_MARK}'\n{each.text}" for each in blocks))
    work = folder / "work place"  # a path may have a space
    work.mkdir()
    log = folder / "printed"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with log.open("w") as printed:
        shell = subprocess.Popen(
            ["bash", str(script)],
            cwd=work,
            env={**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1", **environment},
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, libc already loaded
        )
        try:
            _, said = shell.communicate(timeout=_SESSION_S)
        finally:
            _end(shell.pid)
    logs = "\n".join(f"{each.name}:\n{each.read_text()[-1500:]}" for each in work.glob("*.log"))
    assert shell.returncode == 0, f"{log.read_text()[-1500:]}\n{said[-1500:]}\n{logs}"
    return re.split(rf"^{_MARK}\n", log.read_text(), flags=re.MULTILINE)[1:]


def _end(session: int) -> None:
    """End what a shell has left behind, a worker say."""
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        return
