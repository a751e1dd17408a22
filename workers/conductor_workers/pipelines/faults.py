"""Named points in a round where a test may let the worker fail.

Nothing happens unless ``CONDUCTOR_PY_FAULT`` is set when the process is armed; it is
``point[#pass]:action``: at the ``pass``-th time (1) that ``point`` is reached, ``kill`` the process
that owns the job, ``raise`` an error, or ``hold``: stand still there until somebody who watches has
done what he wanted. ``CONDUCTOR_PY_FAULT_MARK`` names a file that is made first, so that a fault
happens once; with it the passes of all processes count together, those that run tasks among them,
however many they are. What is held goes on when there is a file of that name with the suffix
``.released``.

The points: F1 before and F2 after the assignment is noted, F3 inside a task, F4 between two sinks,
F5 after the job, F6 before and F7 after the commit is sent, F8 before, F9 in the middle and F11
after the publication, F10 inside a database's transaction, F12 before the end is written, F13 in a
discovery page, F14 while keyed state is written or in a batch of a streaming query, F15 after a
publication, before the engine is told of it.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import threading
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from conductor_py.records import dataclass

ARMED_BY: Final = "CONDUCTOR_PY_FAULT"
_HOST: Final = "CONDUCTOR_PY_FAULT_HOST"
_FORM: Final = re.compile(r"(?P<point>[A-Za-z]\w*)(#(?P<nth>\d+))?:(?P<action>kill|raise|hold)")
_LOOK_EVERY_S: Final = 0.01


class InjectedFault(Exception):
    """A test wanted this point to fail."""


@dataclass(slots=True)
class _Fault:
    point: str
    action: str
    nth: int
    mark: Path | None
    host: int
    passes: int = 0


def reach(point: str) -> None:
    """Say that this point is reached; does nothing in production."""
    fault = _armed_fault()
    if fault is not None and fault.point == point:
        _fail(fault)


def _fail(fault: _Fault) -> None:
    with _lock:
        if _passes(fault) != fault.nth:
            return
    if fault.mark is not None:
        fault.mark.touch()
    if fault.action == "raise":
        raise InjectedFault(f"the point {fault.point} was told to fail")
    if fault.action == "kill":
        os.kill(fault.host, signal.SIGKILL)
    elif fault.mark is not None:
        released = fault.mark.with_suffix(".released")
        while not released.exists():
            time.sleep(_LOOK_EVERY_S)


def _passes(fault: _Fault) -> int:
    """Count this pass; return how many there were."""
    if fault.mark is None:
        fault.passes += 1
        return fault.passes
    with fault.mark.with_suffix(".passes").open("ab") as counted:
        fcntl.flock(counted, fcntl.LOCK_EX)
        counted.write(b".")
        counted.flush()
        return counted.tell()


def arm() -> None:
    """Look whether a fault is wanted of this process; before it starts those that run its tasks,
    which inherit who owns the job.
    """
    _armed_fault()


@cache
def _armed_fault() -> _Fault | None:
    return _armed(os.environ)


def _armed(environment: Mapping[str, str]) -> _Fault | None:
    text = environment.get(ARMED_BY)
    if not text:
        return None
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"{ARMED_BY} must look like F8#1:kill, not {text!r}")
    mark = environment.get(f"{ARMED_BY}_MARK")
    if form["action"] == "hold" and not mark:
        raise ValueError(f"{ARMED_BY}_MARK must name a file: who would know that it is held?")
    # Tasks run in other processes: they are told which one owns the job.
    host = int(os.environ.setdefault(_HOST, str(os.getpid())))
    return _Fault(
        point=form["point"],
        action=form["action"],
        nth=int(form["nth"] or 1),
        mark=Path(mark) if mark else None,
        host=host,
    )


_lock: Final = threading.Lock()
