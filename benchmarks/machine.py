"""What /proc says: the machine, and the cost of a process with all below it (Linux only)."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU spent since the processes began, and memory in use now."""

    cpu_ms: float
    resident_mb: float


def cost_of(*roots: int) -> Cost:
    """Sum up processes and all that descend from them, ended children included."""
    found: dict[int, tuple[int, float, float]] = {}
    for place in _PROC.glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text()
        except OSError:  # it ended meanwhile
            continue
        fields = stat[stat.rindex(")") + 2 :].split()
        ticks = sum(int(fields[at]) for at in (11, 12, 13, 14))
        found[int(place.name)] = (
            int(fields[1]),
            ticks * 1000 / _TICKS_PER_S,
            int(fields[21]) * _PAGE_BYTES / 1e6,
        )
    family = list(roots)
    for member in family:
        family += [pid for pid, (parent, _, _) in found.items() if parent == member]
    known = [found[pid] for pid in family if pid in found]
    return Cost(sum(cpu for _, cpu, _ in known), sum(resident for _, _, resident in known))


def cost_by_thread(root: int) -> dict[int, tuple[str, float]]:
    """The threads of a process and of all that descend from it: the name of the process of each,
    and the CPU that the thread has used in seconds.
    """
    found: dict[int, tuple[str, float]] = {}
    for pid, each in _family(root).items():
        for place in _PROC.glob(f"{pid}/task/*"):
            with suppress(OSError):  # it ended meanwhile
                used_ns = int((place / "schedstat").read_text().split()[0])
                name = "script processes" if each.is_script else each.name
                found[int(place.name)] = name, used_ns / 1e9
    return found


def script_processes_mb(root: int) -> float:
    """Memory in use now by the script processes below a process, and all they have started."""
    return sum(each.resident_mb for each in _family(root).values() if each.is_script)


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    parent: int
    resident_mb: float
    is_script: bool


def _family(root: int) -> dict[int, _Process]:
    """A process and all that descend from it."""
    found: dict[int, _Process] = {}
    for place in _PROC.glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text()
            is_script = b"quickjs/child.py" in (place / "cmdline").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        name, _, rest = stat.partition("(")[2].rpartition(") ")
        fields = rest.split()
        resident_mb = int(fields[21]) * _PAGE_BYTES / 1e6
        found[int(place.name)] = _Process(name, int(fields[1]), resident_mb, is_script)
    parents = {pid: each.parent for pid, each in found.items()}
    return {pid: each for pid, each in found.items() if root in _ancestors(pid, parents)}


def _ancestors(pid: int, parents: Mapping[int, int]) -> set[int]:
    found: set[int] = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found | {pid}


def peak_resident_mb() -> float:
    """The most memory that this process has had since ``forget_peak``."""
    return int(_status("VmHWM")) / 1000


def forget_peak() -> None:
    """Begin a new peak at what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def busy_ms() -> float:
    """CPU that everything on the machine has used since it started, waiting for disks aside."""
    ticks = [int(each) for each in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _wait, interrupts, soft, *_ = ticks
    return (user + nice + system + interrupts + soft) * 1000 / _TICKS_PER_S


def describe() -> str:
    """Name the machine: processor, cores, memory, system."""
    processor = next(
        (
            line.partition(":")[2].strip()
            for line in (_PROC / "cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    total = int((_PROC / "meminfo").read_text().split()[1]) / 1e6
    return (
        f"{processor}, {os.cpu_count()} cores, {total:.0f} GB, "
        f"{platform.system()} {platform.release()}"
    )


def _status(name: str) -> str:
    for line in (_PROC / "self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split()[1]
    raise LookupError(name)
