"""Which of the files that a pattern finds are data: what is committed, and nothing that is hidden.

A step of a path that begins with ``.`` or ``_`` hides all below it: what others stage lies there.
What lies in ``data`` beside ``_manifests`` counts only when a manifest names it, also for a pattern
that begins below ``data``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from conductor_workers.manifest import MANIFESTS, Place, visible_files

#: Where files lie that count when a manifest names them.
DATA: Final = "data"
_WILD: Final = frozenset("*?[")


def fixed_part(pattern: str) -> str:
    """Return the folder that a pattern names literally; hidden steps in it are meant."""
    steps = pattern.split("/")
    wild = next((at for at, step in enumerate(steps) if _WILD & set(step)), len(steps) - 1)
    return "/".join(steps[:wild])


class ListedTooEarly(Exception):
    """A manifest names what was not there when the names were listed."""


def committed(
    names: Iterable[str],
    at: Callable[[str], Place],
    *,
    base: str = "",
    wanted: Callable[[str], bool] = lambda _name: False,
) -> list[str]:
    """Keep the names that are data; ``at`` gives the place of a folder of theirs, and ``base`` is
    the folder whose own steps hide nothing.

    Raises ``ListedTooEarly`` when a manifest shows a name that is ``wanted`` and not among these.
    """
    listed = list(names)
    seen = [name for name in listed if not _hidden(name.removeprefix(f"{base}/" if base else ""))]
    roots = {root for name in seen for root in _above(name, DATA)}
    roots |= {root for name in listed for root in _above(name, MANIFESTS)}
    undecided: set[str] = set()
    for root in sorted(roots):
        place = at(root)
        if place.names(MANIFESTS):
            shown = {_joined(root, name) for name in visible_files(place)}
            below = _joined(root, f"{DATA}/")
            undecided.update(name for name in seen if name.startswith(below) and name not in shown)
            if unseen := [name for name in shown.difference(listed) if wanted(name)]:
                raise ListedTooEarly(min(unseen))
    return [name for name in seen if name not in undecided]


def _hidden(name: str) -> bool:
    return any(step.startswith((".", "_")) for step in name.split("/"))


def _above(name: str, folder: str) -> Iterable[str]:
    """Return what stands above each step of that name."""
    steps = name.split("/")[:-1]
    return ("/".join(steps[:at]) for at, step in enumerate(steps) if step == folder)


def _joined(root: str, name: str) -> str:
    return f"{root}/{name}" if root else name
