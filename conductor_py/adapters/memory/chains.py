"""What roots have set going, in memory: the twin of ``lua/include/chain.lua``."""

from __future__ import annotations

from conductor_py.adapters.memory.space import Partition
from conductor_py.ports.chains import CHAIN_KEPT_MS, ChainRoom, ChainUse


def lacking_room(partition: Partition, use: ChainUse | None, now: int) -> ChainRoom | None:
    """``None`` when all of them may be created; else how many of each may."""
    if use is None:
        return None
    starts, nested = _has(partition, use.root, now)
    room, room_nested = use.most_starts - starts, use.most_nested - nested
    if use.starts <= room and use.nested <= room_nested:
        return None
    return ChainRoom(max(room, 0), max(room_nested, 0))


def count_chain(partition: Partition, use: ChainUse | None, now: int) -> None:
    """Count what is created; an hour after the first it is counted anew."""
    if use is None:
        return
    chains = partition.chains
    while (first := next(iter(chains), None)) is not None and chains[first][2] <= now:
        del chains[first]
    starts, nested, until = chains.get(use.root, (0, 0, now + CHAIN_KEPT_MS))
    chains[use.root] = (starts + use.starts, nested + use.nested, until)


def _has(partition: Partition, root: str, now: int) -> tuple[int, int]:
    starts, nested, until = partition.chains.get(root, (0, 0, 0))
    return (starts, nested) if until > now else (0, 0)
