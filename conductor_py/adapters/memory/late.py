"""When what was due was not done in time, in memory: the twin of ``lua/include/late.lua``."""

from __future__ import annotations

from typing import Final

from conductor_py.adapters.memory.space import Partition

EFFECTS: Final = "~effects"
_LATE_MS: Final = 1_000
_KEPT_MS: Final = 3_600_000


def note_late(partition: Partition, what: str, since: int, now: int) -> None:
    """Note a span of a second or more; spans that meet are one."""
    if now - since < _LATE_MS:
        return
    spans = partition.late.get(what, ())
    apart = [span for span in spans if now - _KEPT_MS < span[1] < since]
    met = [began for began, ended in spans if ended >= since]
    partition.late[what] = (*apart, (min([since, *met]), now))
