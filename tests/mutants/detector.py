"""Running what may notice a bug, in a copy of the tree, with a limit of time."""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from tests.mutants.tree import Copy
from tests.mutants.verdict import ENVIRONMENT

LIMIT_S: Final = 200
#: More than the patience of a test, which tells better what is wrong than its end does.
_TEST_S: Final = 90
_SUMMARY: Final = 300
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None
_OPTIONS: Final = (
    *("-q", "-x", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:anyio"),
    *("-p", "no:schemathesis", "-p", "tests.mutants.verdict", "-m", ""),
    *("--hypothesis-seed=1", f"--timeout={_TEST_S}", "--tb=no", "--no-header"),
)


class Kind(Enum):
    """How a run ended. Only ``CAUGHT`` is worth anything."""

    CAUGHT = "caught"
    GREEN = "green"
    BROKEN = "broken"
    HUNG = "hung"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``test`` is what failed first; ``error`` with what; ``seconds`` it took."""

    kind: Kind
    seconds: float
    test: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended, and what it wrote."""

    code: int
    output: str


def _die_with_us() -> None:
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run_tests(copy: Copy, selections: Sequence[str], *, limit_s: float = LIMIT_S) -> Verdict:
    """Run what pytest is asked for, until the first failure."""
    words = [word for selection in selections for word in shlex.split(selection)]
    file = copy.folder / "verdict.json"
    file.unlink(missing_ok=True)
    command = (sys.executable, "-m", "pytest", *_OPTIONS, *words)
    began = time.monotonic()
    ended = run(copy, command, limit_s=limit_s, environment={ENVIRONMENT: str(file)})
    seconds = time.monotonic() - began
    if ended is None:
        return Verdict(kind=Kind.HUNG, seconds=seconds, error=f"no end within {limit_s:.0f} s")
    if not file.exists():
        return Verdict(kind=Kind.BROKEN, seconds=seconds, error=ended.output[-_SUMMARY:])
    found = json.loads(file.read_text())
    return Verdict(
        kind=Kind(found["kind"]),
        seconds=seconds,
        test=found.get("test", ""),
        error=found.get("error", ""),
    )


def run(
    copy: Copy,
    command: Sequence[str],
    *,
    limit_s: float,
    environment: dict[str, str] | None = None,
) -> Ended | None:
    """Run a command in a copy; ``None`` when it had to be killed."""
    log = Path(copy.folder / "log")
    with log.open("wb") as out:
        process = subprocess.Popen(
            list(command),
            cwd=copy.folder,
            env={**copy.environment(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_us,  # noqa: PLW1509 - one system call, libc already loaded
        )
        try:
            process.wait(limit_s)
        except BaseException as raised:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(raised, subprocess.TimeoutExpired):
                raise
            return None
    return Ended(process.returncode, log.read_text(errors="replace"))
