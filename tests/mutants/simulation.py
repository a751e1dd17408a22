"""The simulation as a detector of its own: what does it notice without any other test?"""

from __future__ import annotations

import re
import sys
import time
from typing import Final

from tests.mutants.detector import Kind, Verdict, run
from tests.mutants.tree import Copy

SEEDS: Final = 120
_LIMIT_S: Final = 180
_FAILED: Final = re.compile(r"^FAILED seed (\d+): ([^:]+): (.*)$", re.MULTILINE)
_SUMMARY: Final = 300


def simulate(copy: Copy, seeds: int) -> Verdict:
    """Run the first worlds of the simulation, until one fails."""
    options = ("--seeds", str(seeds), "--from", "0", "--fail-fast", "--no-shrink", "--jobs", "1")
    command = (sys.executable, "-m", "conductor_py.testing.simulation", *options)
    began = time.monotonic()
    ended = run(copy, command, limit_s=_LIMIT_S)
    seconds = time.monotonic() - began
    if ended is None:
        return Verdict(kind=Kind.HUNG, seconds=seconds, error=f"no end within {_LIMIT_S} s")
    found = _FAILED.search(ended.output)
    if found is not None:
        what = f"seed {found[1]}: {found[2]}"
        return Verdict(kind=Kind.CAUGHT, seconds=seconds, test=what, error=found[3])
    kind = Kind.BROKEN if ended.code else Kind.GREEN
    return Verdict(kind=kind, seconds=seconds, error=ended.output[-_SUMMARY:] if ended.code else "")
