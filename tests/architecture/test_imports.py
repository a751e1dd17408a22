"""Importing does nothing: no connection, file, thread, environment or application."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, package_modules

_PROBE = Path(__file__).with_name("import_probe.py")


def probe(names: list[str], *roots: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(_PROBE), *names],
        env={
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": os.pathsep.join(map(str, (*roots, ROOT, ROOT / "workers"))),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_importing_any_module_does_nothing():
    names = [m.name for m in package_modules() if not m.name.endswith("__main__")]
    assert names
    assert probe(names) == []


def test_the_probe_sees_what_it_is_for(tmp_path):
    (tmp_path / "conductor_py").mkdir()
    (tmp_path / "conductor_py" / "__init__.py").write_text("")
    (tmp_path / "conductor_py" / "bad.py").write_text(
        "import os, socket, threading\n"
        "os.environ.get('HOME')\n"
        f"open({str(tmp_path / 'x')!r}, 'w').close()\n"
        "socket.socket().connect_ex(('127.0.0.1', 1))\n"
        "raise ValueError('no')\n"
    )
    faults = "\n".join(probe(["conductor_py.bad"], tmp_path))
    assert "reads $HOME" in faults
    assert "to write" in faults
    assert "socket.connect" in faults
    assert "ValueError: no" in faults
