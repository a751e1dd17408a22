"""What a server keeps is for its user alone."""

import os
import stat
from pathlib import Path

import pytest

from tests.acceptance.deployment import Deployment
from tests.acceptance.stories import run_script
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]


def test_nobody_else_on_the_machine_reads_what_a_server_keeps(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    before = os.umask(0o022)
    try:
        server = deployment.server(*shape)
    finally:
        os.umask(before)
    data = deployment.folder / "server-data"
    run_script(server.client)
    until(lambda: (data / "search.sqlite3").exists() and list(data.glob("**/*.aof")))

    assert [str(path) for path in _open_to_others(data)] == []


def _open_to_others(folder: Path) -> list[Path]:
    found = [folder, *folder.rglob("*")]
    return [path for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077]
