"""A peer's own Python environment, a program in it, and the turn of what that program drives."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine import cost_of
from benchmarks.peers.peer import Figures
from benchmarks.server_part import await_idle
from tests.services.cache import Unobtainable, fetched, run
from tests.services.processes import die_with_parent

_ROOT = Path(__file__).resolve().parents[2]
_END_S = 30.0


def environment(*packages: str) -> Path:
    """The folder of programs of an environment that has these packages; ``Unobtainable``.

    What is a script in it is run by ``python -m``: it was written before its folder had its name.
    """

    def build(folder: Path) -> None:
        venv.create(folder / "env", with_pip=True)
        pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(str(folder / "env/bin/python"), *pip, *packages, cwd=folder)

    return fetched(f"peer-{'-'.join(packages).replace('==', '-')}", build) / "env/bin"


class Child:
    """A program that answers each number of executions with how they went."""

    def __init__(self, process: subprocess.Popen[str], name: str) -> None:
        self._process = process
        self._name = name
        self.pid = process.pid
        self.version: str = self._answer()["version"]

    def run(self, executions: int) -> float:
        """Run so many; return the seconds it took. Every one must end with what it was given."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{executions}\n")
        self._process.stdin.flush()
        answer = self._answer()
        if answer["right"] != executions:
            raise RuntimeError(f"{self._name}: {answer['right']} of {executions} ended right")
        return float(answer["seconds"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise Unobtainable(f"{self._name} ended instead of answering; see above")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def child(programs: Path, module: str, *arguments: str) -> Iterator[Child]:
    """Run a module of this package by the Python of another environment."""
    with subprocess.Popen(
        (str(programs / "python"), "-m", f"benchmarks.peers.{module}", *arguments),
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, libc already loaded
    ) as process:
        try:
            yield Child(process, module)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def turn(
    at: Child, executions: int, *, pids: tuple[int, ...], beside: tuple[int, ...] = ()
) -> Figures:
    """Run so many executions; ``beside`` are processes of workers that are counted apart."""
    before, hands = cost_of(*pids).cpu_ms, cost_of(*beside).cpu_ms
    seconds = at.run(executions)
    await_idle(*pids)
    figures = {
        "eight_rate": executions / seconds,
        "eight_cpu": (cost_of(*pids).cpu_ms - before) / executions,
    }
    if beside:
        figures["worker_cpu"] = (cost_of(*beside).cpu_ms - hands) / executions
    return figures


def turn_of(
    at: Child, executions: int, *, pids: tuple[int, ...], beside: tuple[int, ...] = ()
) -> partial[Figures]:
    """Its turn, after one that warms it up."""
    turn(at, executions, pids=pids, beside=beside)
    return partial(turn, at, executions, pids=pids, beside=beside)
