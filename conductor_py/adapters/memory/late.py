"""When what was due was not done in time, in memory: the twin of ``lua/include/late.lua``."""

from __future__ import annotations

from typing import Final

from conductor_py.adapters.memory.ordered import ScoreSet
from conductor_py.adapters.memory.space import Partition

_LATE_MS: Final = 1_000
_KEPT_MS: Final = 3_600_000


def note_late_head(partition: Partition, due: ScoreSet, now: int) -> None:
    """Note a span when the first of a set has been due for a second; spans that meet are one."""
    head = due.first()
    if head is None or now - head[0] < _LATE_MS:
        return
    apart = [span for span in partition.late if now - _KEPT_MS < span[1] < head[0]]
    met = [span for span in partition.late if span[1] >= head[0]]
    partition.late = [*apart, (min([head[0], *(began for began, _ in met)]), now)]
