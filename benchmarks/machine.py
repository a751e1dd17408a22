"""What /proc says: the machine, and the cost of a process with all below it (Linux only)."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")
_OURS = "conductor_py.cli"
_SCRIPTS = "script processes"


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


def cost_by_thread(root: int) -> dict[int, tuple[str, float, int]]:
    """The threads of a process and of all that descend from it: the name of the process of each,
    the CPU that the thread has used in seconds, and how often it was given one.
    """
    found: dict[int, tuple[str, float, int]] = {}
    for pid, each in _family(root).items():
        for place in _PROC.glob(f"{pid}/task/*"):
            with suppress(OSError):  # it ended meanwhile
                used_ns, _, turns = map(int, (place / "schedstat").read_text().split())
                name = _SCRIPTS if each.is_script else each.name
                found[int(place.name)] = name, used_ns / 1e9, turns
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Megabytes: what is resident now, the most since ``forget_peaks``, and what is resident where
    pages that several processes share count once.
    """

    resident: float = 0.0
    peak: float = 0.0
    shared_once: float = 0.0

    def __add__(self, other: Memory) -> Memory:
        return Memory(
            resident=self.resident + other.resident,
            peak=self.peak + other.peak,
            shared_once=self.shared_once + other.shared_once,
        )


def memory_by_role(root: int) -> dict[str, Memory]:
    """The memory of a process, called ``parent``, and of all that descend from it, by role."""
    found: dict[str, Memory] = {}
    for pid, each in _family(root).items():
        with suppress(OSError, LookupError):  # it ended meanwhile
            role = "parent" if pid == root else each.role
            status, pages = ((_PROC / f"{pid}" / file) for file in ("status", "smaps_rollup"))
            found[role] = found.get(role, Memory()) + Memory(
                resident=_mb(status, "VmRSS"),
                peak=_mb(status, "VmHWM"),
                shared_once=_mb(pages, "Pss"),
            )
    return found


def forget_peaks(root: int) -> None:
    """Begin new peaks of a process and of all that descend from it."""
    for pid in _family(root):
        with suppress(OSError):
            (_PROC / f"{pid}" / "clear_refs").write_text("5")


def script_processes_mb(root: int) -> float:
    """Memory in use now by the script processes below a process, and all they have started."""
    return sum(each.resident_mb for each in _family(root).values() if each.is_script)


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    parent: int
    resident_mb: float
    words: tuple[str, ...]

    @property
    def is_script(self) -> bool:
        return any(word.endswith("quickjs/child.py") for word in self.words)

    @property
    def role(self) -> str:
        """The command of ours that it is or was forked from, else the name of its program."""
        if self.is_script:
            return _SCRIPTS
        at = self.words.index(_OURS) + 1 if _OURS in self.words else len(self.words)
        return next(iter(self.words[at:]), self.name)


def _family(root: int) -> dict[int, _Process]:
    """A process and all that descend from it."""
    found: dict[int, _Process] = {}
    for place in _PROC.glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text()
            words = tuple((place / "cmdline").read_text(errors="replace").split("\0"))
        except OSError:  # it ended meanwhile
            continue
        name, _, rest = stat.partition("(")[2].rpartition(") ")
        fields = rest.split()
        resident_mb = int(fields[21]) * _PAGE_BYTES / 1e6
        found[int(place.name)] = _Process(name, int(fields[1]), resident_mb, words)
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
    return _mb(_PROC / "self/status", "VmHWM")


def forget_peak() -> None:
    """Begin a new peak at what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def busy_ms() -> float:
    """CPU that everything on the machine has used since it started, waiting for disks aside."""
    ticks = [int(each) for each in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _wait, interrupts, soft, *_ = ticks
    return (user + nice + system + interrupts + soft) * 1000 / _TICKS_PER_S


def own_version() -> str:
    """This program as it is now: its version and its commit. Measurements begin with it."""
    changed = _git("status", "--porcelain", "--", "conductor_py", "workers", "benchmarks")
    commit = _git("rev-parse", "--short", "HEAD") or "no commit"
    return f"conductor-py {version('conductor-py')} ({commit}{' with changes' * bool(changed)})"


def _git(*words: str) -> str:
    place = Path(__file__).parents[1]
    if (git := shutil.which("git")) is None:
        return ""
    said = subprocess.run(
        (git, "-C", str(place), *words), capture_output=True, text=True, check=False
    )
    return said.stdout.strip()


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


def _mb(file: Path, name: str) -> float:
    for line in file.read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024 / 1e6
    raise LookupError(name)
