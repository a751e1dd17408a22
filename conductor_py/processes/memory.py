"""How much memory this process may use: the machine's, or what its control groups leave of it."""

from __future__ import annotations

import os
from pathlib import Path


def memory_bytes(root: Path = Path("/")) -> int:
    """Tell how much there is, in bytes; 0 when the system does not say. ``root`` is where ``proc``
    and ``sys`` are.
    """
    bounds = [_physical_bytes(), *_control_groups(root)]
    return min((each for each in bounds if each), default=0)


def _physical_bytes() -> int:
    try:
        return max(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), 0)
    except (ValueError, OSError):  # this system does not know one of the names
        return 0


def _control_groups(root: Path) -> list[int]:
    """The bounds of this process's group and those above it; what they do not bound is none."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in groups:
        _, controllers, group = line.split(":", 2)
        mounted, bound = root / "sys/fs/cgroup", "memory.max"
        if "memory" in controllers.split(","):
            mounted, bound = mounted / "memory", "memory.limit_in_bytes"
        elif controllers:
            continue
        own = mounted / group.strip("/")
        # A container sees its own group as the root of them all, whatever the name above says.
        for place in (own, *own.parents):
            found.append(_bound(place / bound))
            if place == mounted:
                break
    return found


def _bound(path: Path) -> int:
    try:
        said = path.read_text().strip()
    except OSError:
        return 0
    return int(said) if said.isdecimal() else 0
