"""How much memory there is: the machine's, or what a control group leaves of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor_py.processes.memory import memory_bytes

_MB = 1 << 20


def _file(root: Path, name: str, text: str) -> None:
    place = root / "sys/fs/cgroup" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    return tmp_path


def test_without_a_control_group_it_is_the_machine_s(system: Path) -> None:
    assert memory_bytes(system) == memory_bytes(system / "nowhere") > 16 * _MB


def test_the_tightest_group_above_counts(system: Path) -> None:
    (system / "proc/self/cgroup").write_text("0::/a/b\n")
    _file(system, "a/b/memory.max", "max\n")
    _file(system, "a/memory.max", f"{3 * _MB}\n")
    _file(system, "memory.max", f"{4 * _MB}\n")
    assert memory_bytes(system) == 3 * _MB


def test_a_container_sees_its_own_bound_at_the_top(system: Path) -> None:
    (system / "proc/self/cgroup").write_text("0::/system.slice/elsewhere.scope\n")
    _file(system, "memory.max", f"{5 * _MB}\n")
    assert memory_bytes(system) == 5 * _MB


def test_the_first_version_of_control_groups_has_a_place_for_memory(system: Path) -> None:
    (system / "proc/self/cgroup").write_text("5:cpu:/x\n9:memory,other:/docker/x\n")
    _file(system, "memory/docker/x/memory.limit_in_bytes", f"{6 * _MB}\n")
    assert memory_bytes(system) == 6 * _MB
