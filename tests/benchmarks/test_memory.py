"""Memory is told by process, and what grows is beyond what is wanted; nothing here measures."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from benchmarks.machine import Memory, memory_by_role
from benchmarks.memory_part import Mark, figures_of, table
from tests.waiting import until

_CHILD = "[sys.executable, '-c', 'input()', '-m', 'conductor_py.cli', 'effects']"
_PARENT = f"import subprocess, sys; subprocess.run({_CHILD})"


@pytest.fixture
def parent() -> Iterator[int]:
    """A process with one below it that looks like a command of ours; both end with their input."""
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.communicate(b"\n")


def test_processes_are_told_apart_by_the_command_that_they_run(parent: int) -> None:
    assert until(lambda: set(memory_by_role(parent)) == {"parent", "effects"})
    for each in memory_by_role(parent).values():
        assert 0 < each.shared_once <= each.resident <= each.peak


def _mark(executions: int, server: float, store: float) -> Mark:
    each = {"server": server, "valkey-server": store}
    return Mark(
        executions,
        {
            role: Memory(resident=mb, peak=mb + 1, shared_once=mb - 1)
            for role, mb in each.items()
            if mb
        },
    )


@pytest.mark.parametrize(
    ("after", "on_target"),
    [
        ((100.0, 50.0, 100.0, 50.0), [True, True]),
        ((100.0, 51.0, 100.0, 50.0), [False, True]),
        ((100.0, 30.0, 106.0, 30.0), [True, False]),
    ],
)
def test_memory_beyond_what_is_wanted_and_memory_that_grows_are_missed(
    after: tuple[float, float, float, float], on_target: list[bool]
) -> None:
    once, again, twice, at_last = after
    marks = [_mark(0, 60, 8), _mark(10, once, again), _mark(20, twice, at_last)]

    assert [figure.is_on_target for figure in figures_of(marks)] == on_target


def test_the_table_has_a_row_for_each_process_and_the_sum_of_all() -> None:
    rows = list(table([_mark(0, 60, 0), _mark(10, 100, 30), _mark(20, 101, 31)]))

    assert rows[0] == "| MB resident | at the start | after 10 (peak) | after 20 (peak) |"
    assert rows[2:] == [
        "| server | 60.0 | 100.0 (101.0) | 101.0 (102.0) |",
        "| valkey-server | 0.0 | 30.0 (31.0) | 31.0 (32.0) |",
        "| **all** | 60.0 | 130.0 (132.0) | 132.0 (134.0) |",
        "| **all**, pages that they share counted once | 59.0 | 128.0 | 130.0 |",
    ]
