"""How long a server takes from its command until it says that it is healthy."""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import suppress

from benchmarks.clients import Http
from benchmarks.figures import Figure
from benchmarks.server_part import Begun, begun

_PART = "A start"
_LONGEST_S = 60.0
_LOOK_S = 0.005
_WANTED_S = 1.0


def measure_starts(starts: int) -> list[Figure]:
    """Measure so many, each on an empty data directory, after one that compiles what is new; and
    one that has to compile everything, as where it was installed without that.
    """
    seconds = starts_s(starts)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        uncompiled = _until_ready_s(PYTHONPYCACHEPREFIX=folder)
    title = f"from the command to a healthy answer of `/health`, {{}} of {starts}"
    return [
        _figure("start_ready", title.format("median"), statistics.median(seconds), _WANTED_S),
        _figure("start_quickest", title.format("the quickest"), min(seconds)),
        _figure("start_uncompiled", "the same, when no module is compiled yet", uncompiled),
    ]


def starts_s(starts: int) -> list[float]:
    """Start so many, one after the other, and one before; how long each was not ready."""
    return [_until_ready_s() for _ in range(starts + 1)][1:]


def _figure(key: str, title: str, value: float, target: float | None = None) -> Figure:
    return Figure(key=key, part=_PART, title=title, value=value, unit="s", target=target)


def _until_ready_s(**settings: str) -> float:
    began = time.monotonic()
    with begun(**settings) as at:
        while not _is_healthy(at):
            if at.process.poll() is not None or time.monotonic() > began + _LONGEST_S:
                raise RuntimeError(f"the server does not start:\n{at.said}")
            time.sleep(_LOOK_S)
        return time.monotonic() - began


def _is_healthy(at: Begun) -> bool:
    with suppress(OSError), Http(at.port) as http:
        return http.ask("GET", "/health")[0] == 200
    return False
