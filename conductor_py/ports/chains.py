"""Chains: how many executions one root has set going, counted where they come into being.

A root is an execution, by id, of any partition. Each partition counts what it creates itself, and
begins anew an hour after the first.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from conductor_py.records import dataclass

CHAIN_KEPT_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainUse:
    """What one start or commit creates under a root, and how many there may be: executions that
    are no sub-workflows (``starts``), and sub-workflows (``nested``).

    Counted in the same atomic step, or refused whole (CHAIN_FULL); a repeat counts nothing.
    """

    root: str
    starts: int
    nested: int
    most_starts: int
    most_nested: int


@dataclass(frozen=True, slots=True)
class ChainRoom:
    """How many more may be created under a root."""

    starts: int
    nested: int


class Wish(Enum):
    """Whose wish a new execution is: what a store takes that is full, or nearly.

    ``NEW`` is somebody's outside, ``OWN`` that of executions, which leave the last fifth to others.
    Something of an execution waits for one that is ``WANTED``: it may use the reserve.
    """

    NEW = "NEW"
    OWN = "OWN"
    WANTED = "WANTED"
