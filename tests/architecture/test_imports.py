"""Importing does nothing: no connection, file, thread, environment or application."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.import_graph import import_graph, in_circles
from tests.architecture.tree import ROOT, Module, package_modules

pytestmark = pytest.mark.xdist_group("sources")  # which are read once

_PROBE = Path(__file__).with_name("import_probe.py")


def probe(names: list[str], *options: str, root: Path | None = None) -> list[str]:
    roots = () if root is None else (root,)
    done = subprocess.run(
        [sys.executable, str(_PROBE), *options, *names],
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


@pytest.mark.timeout(150)
def test_importing_any_module_does_nothing():
    modules = [m for m in package_modules() if not m.name.endswith("__main__")]
    assert modules
    assert probe([m.name for m in modules]) == []
    # For all the others it makes no difference who is imported first.
    assert probe(in_circles(import_graph(modules)), "--afresh") == []


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"p.a": "import p.b", "p.b": "from p import c", "p.c": ""}, []),
        (
            {"p.a": "import p.b", "p.b": "from p import c", "p.c": "from p.a import x"},
            ["a", "b", "c"],
        ),
        ({"p.a": "import p.b", "p.b": "def f():\n    import p.a"}, []),
        ({"p.a": "import p.b", "p.b": "if TYPE_CHECKING:\n    import p.a"}, []),
        ({"p.a": "import p.b", "p.b": "try:\n    import p.a\nexcept OSError: pass"}, ["a", "b"]),
        ({"p": "from p.a import x", "p.a": "x = 1"}, []),
        ({"p": "from p.a import x\ny = 1", "p.a": "from p import y"}, ["p", "a"]),
        ({"p": "import q.r", "q": "import p", "q.r": ""}, ["p", "q"]),
    ],
)
def test_who_stands_in_a_circle(sources, expected):
    modules = [Module(Path(), name, text, ast.parse(text)) for name, text in sources.items()]
    assert [name.rpartition(".")[2] for name in in_circles(import_graph(modules))] == expected


def test_the_probe_finds_a_circle_that_breaks_where_it_is_entered(tmp_path):
    package = tmp_path / "conductor_py"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from conductor_py import two\nx = 1\n")
    (package / "two.py").write_text("from conductor_py.one import x\n")
    names = ["conductor_py.two", "conductor_py.one"]
    (fault,) = probe(names, "--afresh", root=tmp_path)
    assert "importing conductor_py.one" in fault
    assert "circular import" in fault


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
    faults = "\n".join(probe(["conductor_py.bad"], root=tmp_path))
    assert "reads $HOME" in faults
    assert "to write" in faults
    assert "socket.connect" in faults
    assert "ValueError: no" in faults
