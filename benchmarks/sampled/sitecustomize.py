"""A sampler inside each Python process that finds this folder on its path: who used the CPU?

It looks at all threads a few hundred times a second and adds the CPU that each has used since to
the part (the thread) and the layer (the innermost package that is known) where it was found. The
sums go to a file of the process in the folder ``SAMPLES``, five times a second. What its own thread
uses is told, too: a profile costs something.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

_EVERY_S = 0.004
_WRITTEN_EVERY = 50
_FRAMEWORKS = {"flask": "Flask", "werkzeug": "Flask", "redis": "Redis client", "rq": "RQ"}
_DEEP = ("adapters",)
"""Packages of ours whose members are layers of their own."""


def layer_of(frame: FrameType | None) -> str:
    """Name the innermost package on the stack that says what is done."""
    while frame is not None:
        parts = frame.f_globals.get("__name__", "").split(".")
        if parts[0] in _FRAMEWORKS:
            return _FRAMEWORKS[parts[0]]
        if parts[0] == "conductor_py" and len(parts) > 1:
            return ".".join(parts[1:3] if parts[1] in _DEEP else parts[1:2])
        frame = frame.f_back
    return "Python"


def part_of(ident: int) -> str:
    """Name a thread; those that Python did not start serve HTTP."""
    named = {thread.ident: thread.name for thread in threading.enumerate()}
    name = named.get(ident, "http")
    return "http" if name.startswith("Dummy-") else name.rstrip("-0123456789")


def _sample(folder: Path) -> None:
    used: Counter[tuple[str, str]] = Counter()
    last: dict[int, float] = {}
    me = threading.get_ident()
    looks = 0
    while True:
        time.sleep(_EVERY_S)
        now: dict[int, float] = {}
        for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the only way to see them
            now[ident] = time.clock_gettime(time.pthread_getcpuclockid(ident))
            spent = now[ident] - last.get(ident, now[ident])
            if ident == me:
                used["the sampler", ""] += spent
            elif spent:
                used[part_of(ident), layer_of(frame)] += spent
        last = now
        looks += 1
        if looks % _WRITTEN_EVERY == 0:
            rows = [[*key, seconds] for key, seconds in used.items()]
            file = folder / f"{os.getpid()}.json"
            file.with_suffix(".new").write_text(json.dumps([time.process_time(), rows]))
            file.with_suffix(".new").replace(file)


def _begin() -> None:
    folder = Path(os.environ["SAMPLES"])
    threading.Thread(target=_sample, args=(folder,), name="sampler", daemon=True).start()


if "SAMPLES" in os.environ:
    os.register_at_fork(after_in_child=_begin)
    _begin()
