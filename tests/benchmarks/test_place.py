"""What is measured can be put together, by each program that measures; nothing here measures."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.place import NAMESPACE, ports_at
from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.adapters.redis.wakeups import RedisWakeups
from conductor_py.engine.port_set import Ports

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAMS = sorted(set(re.findall(r"benchmarks/\w+\.py", (_ROOT / "Makefile").read_text())))


def test_the_engine_that_is_measured_has_every_port_that_an_engine_needs(tmp_path: Path) -> None:
    connection, namespace = Connection(f"unix://{tmp_path}/nobody"), Namespace(NAMESPACE, 1)
    wakeups = RedisWakeups(connection, namespace)

    assert isinstance(ports_at(Scripts(connection, namespace), wakeups, tmp_path), Ports)

    wakeups.close()
    connection.close()


@pytest.mark.parametrize("program", _PROGRAMS)
def test_a_program_that_measures_finds_all_that_it_imports(program: str) -> None:
    """Its folder is what Python looks into first: a module there can hide one of the library."""
    paths = "sys.path[0] = 'benchmarks'; sys.path.append('.')"  # as a program begins, and goes on
    code = f"import runpy, sys; {paths}; runpy.run_path({program!r})"
    begun = subprocess.run(
        [sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=False
    )

    assert begun.returncode == 0, begun.stderr
