"""What arms a fault: which pass it is, of which process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_REACH = "from conductor_workers.pipelines import faults; faults.reach('F3')"


def _reached(mark: Path) -> bool:
    """Reach the point in a process of its own; say whether that was the pass which is to fail."""
    environment = {
        **os.environ,
        "CONDUCTOR_PY_FAULT": "F3#2:raise",
        "CONDUCTOR_PY_FAULT_MARK": str(mark),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    ended = subprocess.run(
        [sys.executable, "-c", _REACH], env=environment, capture_output=True, text=True, check=False
    )
    assert not ended.returncode or "InjectedFault" in ended.stderr, ended.stderr
    return ended.returncode != 0


def test_the_passes_of_all_processes_count_together_and_one_of_them_fails(tmp_path: Path) -> None:
    mark = tmp_path / "mark-1"
    assert [_reached(mark) for _ in range(2)] == [False, True]
    assert mark.exists()
    assert not _reached(mark), "a fault happens once"
