"""Homes: under which name the timers of an execution stand.

A shard has two, swept in turn: what executions set going, however much it is, does not stand in
front of what was started from outside.
"""

from __future__ import annotations

from typing import Final

_CHAINS: Final = "~chains"
"""No name of a shard ends so: it may not have a tilde."""


def home_in(shard: str, *, counted: bool) -> str:
    """The home in a shard; ``counted``: of what counts under the root of a chain."""
    return f"{shard}{_CHAINS}" if counted else shard


def shard_of(home: str) -> str:
    """The shard of a home."""
    return home.removesuffix(_CHAINS)


def homes_of(shard: str) -> tuple[str, str]:
    """Both homes of a shard: that of what was started from outside comes first."""
    return shard, f"{shard}{_CHAINS}"


def is_of_chains(home: str) -> bool:
    """Whether it is where what executions set going is at home."""
    return home.endswith(_CHAINS)
