"""A script that has broken out of its engine: what the kernel still refuses its process."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor_py.adapters.quickjs import QuickJsScripts, jail, pool
from conductor_py.adapters.quickjs.pool import Child
from conductor_py.ports.scripts import Evaluation, Failure, Value

_MIB = 1 << 20
#: Run in a process that has locked itself: each attempt, and what came of it.
_BROKEN_OUT = """
import importlib.util, json, os, socket, sys
spec = importlib.util.spec_from_file_location("jail", sys.argv[1])
jail = importlib.util.module_from_spec(spec); spec.loader.exec_module(jail)
import ctypes, subprocess, _posixsubprocess
ready = socket.socketpair()
folder = os.open("/", os.O_PATH)
locks = jail.lock() if sys.argv[2] == "all" else [jail._landlock, jail._seccomp][
    ["landlock", "seccomp"].index(sys.argv[2])](ctypes.CDLL(None, use_errno=True))
def tried(attempt):
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    return "done"
def executed():
    child = os.fork()
    if child == 0:
        try:
            os.execv("/bin/true", ["true"])
        except OSError:
            os._exit(77)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77:
        raise PermissionError
def in_a_fork(attempt):
    child = os.fork()
    if child == 0:
        os._exit(77 if tried(attempt) != "done" else 0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77:
        raise PermissionError
read = lambda: open("/etc/passwd").close()
print(json.dumps({"locks": locks, **{name: tried(attempt) for name, attempt in {
    "read": read,
    "read by a folder": lambda: os.close(os.open("etc/passwd", os.O_RDONLY, dir_fd=folder)),
    "write": lambda: open(sys.argv[3], "w").close(),
    "list": lambda: os.listdir("/etc"),
    "remove": lambda: os.unlink(sys.argv[4]),
    "socket": lambda: socket.socket(),
    "local socket": lambda: socket.socket(socket.AF_UNIX),
    "exec": executed,
    "fork that reads": lambda: in_a_fork(read),
    "talk": lambda: ready[0].send(b"x") and ready[1].recv(1),
}.items()}}))
"""
_REFUSED_BY_ALL = {
    *("read", "read by a folder", "write", "list", "remove", "socket", "local socket", "exec"),
    "fork that reads",
}


def _broken_out(tmp_path: Path, locks: str) -> dict[str, object]:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    run = subprocess.run(
        [
            *(sys.executable, "-I", "-S", "-c", _BROKEN_OUT),
            *(jail.__file__, locks, str(tmp_path / "made"), str(kept)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(run.stdout)
    return found


def test_a_script_that_has_broken_out_reads_no_file_opens_no_socket_and_runs_nothing(
    tmp_path: Path,
) -> None:
    found = _broken_out(tmp_path, "all")
    held = found.pop("locks")
    if held != ["landlock", "seccomp"]:
        pytest.skip(f"this kernel has of landlock and seccomp only {held}")
    refused = {name for name, came in found.items() if came == "PermissionError"}
    assert refused == _REFUSED_BY_ALL, found
    assert found["talk"] == "done"
    assert (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("lock", "refused"),
    [
        ("landlock", {"read", "read by a folder", "write", "list", "remove", "exec"}),
        ("seccomp", _REFUSED_BY_ALL),
    ],
)
def test_each_lock_of_the_kernel_holds_by_itself(
    tmp_path: Path, lock: str, refused: set[str]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("without no_new_privs, which is for all locks, only root locks itself")
    found = _broken_out(tmp_path, lock)
    if not found.pop("locks"):
        pytest.skip(f"this kernel has no {lock}")
    assert refused <= {name for name, came in found.items() if came == "PermissionError"}, found


@pytest.fixture
def child() -> Iterator[Child]:
    made = Child(memory_bytes=64 * _MIB, result_bytes=_MIB)
    made.wait_ready()
    yield made
    made.kill()


def test_script_processes_are_locked_before_they_see_a_program(child: Child) -> None:
    if not child.locks:
        pytest.skip("this kernel has neither landlock nor seccomp")
    runners = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    assert len(runners) == 1
    for process in (child.pid, int(runners[0])):
        status = Path(f"/proc/{process}/status").read_text().splitlines()
        said = dict(line.split(":\t", 1) for line in status if ":\t" in line)
        assert said["NoNewPrivs"] == "1"
        assert ("seccomp" in child.locks) == (said["Seccomp"] == "2")


def test_server_says_once_that_scripts_run_without_a_lock(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool, "_LOCKS", frozenset({"landlock", "of another kernel"}))
    pool._tell_of_missing.cache_clear()
    with caplog.at_level(logging.WARNING, logger=pool.__name__):
        for _ in range(2):
            scripts = QuickJsScripts(workers=1)
            request = Evaluation(evaluator="javascript", expression="1 + 1", input={})
            assert scripts.evaluate([request]) == (Value(value=2),)
            scripts.close()
    said = [record for record in caplog.records if "of another kernel" in record.__dict__["locks"]]
    assert len(said) == 1


@pytest.mark.parametrize(
    "program",
    [
        'import "x" as x; 1',
        'import "../../../etc/passwd" as $x; 1',
        'include "x"; 1',
        'import "passwd" as $x {search: "/etc"}; $x',
    ],
)
def test_a_jq_program_imports_no_file(program: str) -> None:
    scripts = QuickJsScripts(workers=1)
    try:
        (found,) = scripts.evaluate([Evaluation(evaluator="jq", expression=program, input={})])
    finally:
        scripts.close()
    assert isinstance(found, Failure)
    assert found.kind == "error"


def test_a_jq_program_sees_nothing_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDUCTOR_SECRET_TOKEN", "hidden")
    program = '[(env, $ENV | keys - ["LC_CTYPE"]), input_filename, ($__loc__ | .file)]'
    scripts = QuickJsScripts(workers=1)
    try:
        found = scripts.evaluate([Evaluation(evaluator="jq", expression=program, input={})])
    finally:
        scripts.close()
    assert found == (Value(value=[[[], [], None, "<top-level>"]]),)
