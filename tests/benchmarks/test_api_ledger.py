"""Whose line is at work is told by the nearest module that is somebody's own."""

import sys
from importlib.util import find_spec
from types import FrameType, FunctionType
from typing import Any

import pytest

from benchmarks.api_ledger import PARTS, part_of


def _call() -> Any:
    return globals()["inner"]()


def _frame(*modules: str) -> FrameType:
    """The frame of the last of these modules, each of which was called by the one before."""
    inner: Any = sys._getframe
    for module in reversed(modules):
        within = {"__name__": module, "inner": inner}
        inner = FunctionType(_call.__code__, within)
    found: FrameType = inner()
    return found


@pytest.mark.parametrize(
    ("modules", "part"),
    [
        (
            ("flask.app", "conductor_py.engine.tasks.tasks", "conductor_py.decider.decide"),
            "deciding",
        ),
        (("conductor_py.api.tasks", "conductor_py.engine.tasks.tasks", "threading"), "engine"),
        (("conductor_py.adapters.redis.connection", "redis.connection", "socket"), "Redis: the"),
        (("conductor_py.engineering",), "this program"),
    ],
)
def test_a_line_counts_for_the_nearest_caller_with_a_part(
    modules: tuple[str, ...], part: str
) -> None:
    assert part_of(_frame("benchmarks.api_ledger", *modules)).startswith(part)


def test_what_nobody_has_called_is_other() -> None:
    assert part_of(None) == "other"


def test_every_part_is_a_module_that_there_is() -> None:
    assert [name for name, _ in PARTS if find_spec(name) is None] == []
