"""Which of the files that a pattern finds are data: what is committed, and nothing that is hidden.

A step of a path that begins with ``.`` or ``_`` hides all below it: what others stage lies there.
What lies in ``data`` beside ``_manifests`` counts only when a manifest names it, also for a pattern
that begins below ``data``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from conductor_workers.manifest import MANIFESTS, OUTPUT_LOG, Place, visible_by_folder

#: Where files lie that count when a manifest names them.
DATA: Final = "data"
_WILD: Final = frozenset("*?[")


def fixed_part(pattern: str) -> str:
    """Return the folder that a pattern names literally; hidden steps in it are meant."""
    steps = pattern.split("/")
    wild = next((at for at, step in enumerate(steps) if _WILD & set(step)), len(steps) - 1)
    return "/".join(steps[:wild])


class ListedTooEarly(Exception):
    """The place was replaced as a whole since the names were listed."""


def committed(
    names: Iterable[str],
    at: Callable[[str], Place],
    *,
    base: str = "",
    wanted: Callable[[str], bool] = lambda _name: False,
    places: Iterable[str] = (),
) -> list[str]:
    """Keep the names that are data; ``at`` gives the place of a folder of theirs, and ``base`` is
    the folder whose own steps hide nothing. ``places`` are looked at though none lies there.

    Raises ``ListedTooEarly`` when the newest output of a task shows a name that is ``wanted`` and
    not among these. Of a data pipeline that adds epochs meanwhile a moment's less is no mixture.
    """
    listed = list(names)
    seen = [name for name in listed if not _hidden(name.removeprefix(f"{base}/" if base else ""))]
    roots = {root for name in seen for root in _roots(name)}.union(places)
    undecided: set[str] = set()
    for root in sorted(roots):
        place = at(root)
        if place.names(MANIFESTS):
            by_folder = visible_by_folder(place)
            shown = {_joined(root, name) for names in by_folder.values() for name in names}
            below = _joined(root, f"{DATA}/")
            undecided.update(name for name in seen if name.startswith(below) and name not in shown)
            whole = {_joined(root, name) for name in by_folder.get(OUTPUT_LOG, ())}
            if unseen := [name for name in whole.difference(listed) if wanted(name)]:
                raise ListedTooEarly(min(unseen))
    return [name for name in seen if name not in undecided]


def _hidden(name: str) -> bool:
    # As Spark has it, so that a column of partitions may begin so.
    return any(
        step.startswith(".") or (step.startswith("_") and "=" not in step)
        for step in name.split("/")
    )


def _roots(name: str) -> Iterable[str]:
    steps = name.split("/")[:-1]
    return ("/".join(steps[:at]) for at, step in enumerate(steps) if step == DATA)


def _joined(root: str, name: str) -> str:
    return f"{root}/{name}" if root else name
