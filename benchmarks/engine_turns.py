"""Engines of several trees, without HTTP, which take turns under the same load.

Each is a process over a Redis of its own, as in ``engine_part``, and works when it reads a line;
meanwhile the others wait. Why in turns: see ``turns``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT))

from benchmarks.turns import Turn, take_turns  # noqa: E402 - found where this file is

_PART: Final = "Engines in turns"
#: Key, title and unit.
_FIGURES: Final = (
    ("engine_turn_one", "one-task workflows, 1 client", "/s"),
    ("engine_turn_one_cpu", "CPU of this process for one execution, 1 client", "ms"),
    ("engine_turn_eight", "one-task workflows, 8 clients (threads)", "/s"),
    ("engine_turn_eight_cpu", "CPU of this process for one execution, 8 clients", "ms"),
    ("engine_turn_fork_10", "time of a branch of a FORK of 10", "ms"),
    ("engine_turn_fork_10_moved", "bytes sent to and from Redis for it", "B"),
    ("engine_turn_fork_1000", "time of a branch of a FORK of 1,000", "ms"),
    ("engine_turn_fork_1000_moved", "bytes sent to and from Redis for it", "B"),
)
#: Of one turn, by one client and by eight.
_SECONDS: Final = 1.5
_BRANCHES: Final = 500

Child = subprocess.Popen[str]


def measure_engine_turns(trees: Sequence[Path], turns: int) -> list[list[Turn]]:
    """Return the turns of each tree's engine, each turn as figures by key."""
    with ExitStack() as running:
        engines = [running.enter_context(_engine(tree)) for tree in trees]
        return take_turns([partial(_turn, engine) for engine in engines], turns)


@contextmanager
def _engine(tree: Path) -> Iterator[Child]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        # Only the engine is that tree's: the load is ours.
        (Path(directory) / "conductor_py").symlink_to(tree / "conductor_py")
        with subprocess.Popen(
            (sys.executable, __file__),
            cwd=directory,
            env={**os.environ, "PYTHONPATH": directory},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            yield child
            assert child.stdin is not None
            child.stdin.close()


def _turn(child: Child) -> Turn:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("turn\n")
    child.stdin.flush()
    values: list[float] = json.loads(child.stdout.readline())
    return {
        key: {"part": _PART, "title": title, "unit": unit, "value": value}
        for (key, title, unit), value in zip(_FIGURES, values, strict=True)
    }


def _serve() -> None:
    """Work for a while at each line that is read; print the figures."""
    from benchmarks.engine_part import in_turn  # noqa: PLC0415 - the child's engine, not ours
    from benchmarks.fork_part import cost_of_branch  # noqa: PLC0415
    from benchmarks.place import place  # noqa: PLC0415

    with place() as at:
        for _ in sys.stdin:
            values = in_turn(at, _SECONDS)
            for width in (10, 1000):
                branch = cost_of_branch(at, width, _BRANCHES)
                values += (branch.ms, branch.moved)
            print(json.dumps(values), flush=True)


if __name__ == "__main__":
    _serve()
