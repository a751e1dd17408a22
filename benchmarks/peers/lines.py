"""What a program of a peer's own environment and the run say to each other: numbers and JSON.

It has the standard library and nothing else: those environments know nothing of this project.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

#: As large as what executions of the other loads are given, and hand back.
DATA: Final = "x" * 200
AT_ONCE: Final = 8


def serve(package: str, run: Callable[[int], int]) -> None:
    """Name the version, then ``run`` as many executions as each line says, until input ends.

    ``run`` returns how many of them ended with what they were given.
    """
    _say({"version": version(package)})
    for line in sys.stdin:
        began = time.monotonic()
        right = run(int(line))
        _say({"seconds": time.monotonic() - began, "right": right})


def _say(what: dict[str, object]) -> None:
    print(json.dumps(what), flush=True)
