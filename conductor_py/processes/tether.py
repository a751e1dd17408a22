"""Ties a process to the life of the one that starts it, also when that one is killed with -9.

``tethered`` turns a command into one that runs this file first. On Linux it asks the kernel for a
SIGTERM at the death of its parent and then becomes the command. The kernel sends that signal when
the *thread* that started the process ends, so start it from one that stays. Elsewhere this program
stays beside the command, looks every moment whether its parent is still there, passes signals on
and ends as the command ends.

Run by path, isolated and without site packages: standard library only, nothing of this package.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Final

_SET_PARENT_DEATH_SIGNAL: Final = 1
_LOOK_S: Final = 0.2
_GRACE_S: Final = 10.0


def tethered(command: Sequence[str], *, mode: str | None = None) -> tuple[str, ...]:
    """Return the command that runs ``command`` until this process ends.

    ``mode`` is ``kernel`` or ``watch``; left out, the best that the system has.
    """
    chosen = mode or ("kernel" if sys.platform == "linux" else "watch")
    launcher = (sys.executable, "-I", "-S", __file__)
    return (*launcher, chosen, str(os.getpid()), *command)


def _become(parent: int, command: Sequence[str]) -> None:
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:
        return  # it died before the kernel was asked
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)  # the interpreter ignores them; others should not
    try:
        os.execvp(command[0], list(command))  # noqa: S606 - a list of arguments, no shell
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def _watch(parent: int, command: Sequence[str]) -> int:
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if process is None:
            early.append(number)
        else:
            process.send_signal(number)

    # Before the command runs: a signal in between would end this program, and leave the command.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, pass_on)
    try:
        process = subprocess.Popen(command, close_fds=False)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")
    for noted in early:
        process.send_signal(noted)
    while os.getppid() == parent:
        try:
            return process.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            continue
    process.terminate()
    try:
        return process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def main() -> int:
    """Run the command of the arguments; return its exit code, 128 + n when signal n ended it."""
    mode, parent, *command = sys.argv[1:]
    if mode == "kernel":
        _become(int(parent), command)
        return 0
    code = _watch(int(parent), command)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
