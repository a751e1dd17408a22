"""How much a piece of work does, counted in lines of Python: the same on every machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_of(work: Callable[[], object]) -> int:
    """How many lines of Python this thread runs for `work`, each as often as it does.

    What is done in C, a copy of a list or a search in a text, counts as its line alone: where that
    may be what grows, a test belongs to the target `timing`.
    """
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
