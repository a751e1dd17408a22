"""Restore: what brings an archived execution back into the store (``ExecutionReader.restore``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from conductor_py.model.ids import ExecutionId
from conductor_py.records import dataclass, field

LEAVES_AGAIN_MS: Final = 600_000
"""How long an execution that was brought back stays when nothing follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """An archived execution, which has ended, as it is to be in the store again.

    ``token`` is that of ``begin_restore``, called before the archive was read; ``version`` is that
    of the archive, ``claim`` the highest claim issued; ``effect`` is the id of the order to take it
    out again, due after ``LEAVES_AGAIN_MS``; it replaces one that waits.
    """

    execution: ExecutionId
    token: str
    version: int
    home: str
    status: str
    generation: int
    claim: int
    fields: Mapping[str, bytes]
    effect: str
    logs: Sequence[tuple[int, int, str]] = ()
    plans: tuple[str, ...] = ()
    checkpoints: Mapping[str, bytes] = field(default_factory=dict)
    """What its long tasks have kept."""
