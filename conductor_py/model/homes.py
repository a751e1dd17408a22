"""Homes: under which name the timers of an execution stand.

A shard has two, swept in turn: what executions set going, however much it is, does not stand in
front of what was started from outside.
"""

from __future__ import annotations

from typing import Final

from conductor_py.model.chains import Chain

_CHAINS: Final = ":chains"


def home_in(shard: str, chain: Chain) -> str:
    """The home, in a shard, of an execution that stands so in a chain."""
    return f"{shard}{_CHAINS}" if chain.root else shard


def shard_of(home: str) -> str:
    """The shard of a home."""
    return home.removesuffix(_CHAINS)


def homes_of(shard: str) -> tuple[str, str]:
    """Both homes of a shard: that of what was started from outside comes first."""
    return shard, f"{shard}{_CHAINS}"


def is_of_chains(home: str) -> bool:
    """Whether it is where what executions set going is at home."""
    return home.endswith(_CHAINS)
