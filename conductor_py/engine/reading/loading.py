"""Fields of an execution in as many reads as their sizes take.

A read of the store leaves out what is more than ``READ_BYTES`` together. What was left out must not
be taken for what is absent: a task would be shown without the output that it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final

from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import ExecutionStore, Fields
from conductor_py.records import dataclass

KINDS: Final = "aciop"
"""The kinds of the fields of an attempt (``ports.store``)."""
_TRIES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some attempts, and those of their fields that there are, as of one version."""

    version: int
    seqs: Sequence[int]
    fields: Mapping[str, bytes]


def load_all(
    store: ExecutionStore, execution: ExecutionId, names: Sequence[str]
) -> tuple[int, dict[str, bytes]] | None:
    """Read these fields, by name, those that there are, as of one version; ``None``: it is gone.

    Raises ``StoreUnavailable`` when they take several reads and it changes between them, always.
    """
    for _ in range(_TRIES):
        found = store.load(execution, names)
        if found is None:
            return None
        version, fields = found[0], dict(found[1])
        while left := [name for name in names if name not in fields]:
            found = store.load(execution, left)
            if found is None:
                return None
            if found[0] != version:
                break
            fields |= found[1]
        else:
            return version, {name: value for name, value in fields.items() if value is not None}
    raise StoreUnavailable(f"Workflow {execution} changes while it is read; try again.")


def load_tasks(
    store: ExecutionStore,
    execution: ExecutionId,
    seqs: Sequence[int],
    *,
    kinds: str = KINDS,
    also: Sequence[str] = (),
) -> Iterator[Piece]:
    """Read fields of attempts, in order, as many attempts at a time as a read brings whole; each
    piece has the fields ``also``, too. Pieces may be of different versions, and there are no more
    of them once the execution is gone.
    """
    while seqs:
        found = store.load(execution, [*also, *_names(seqs, kinds)])
        some = _brought(found[1], seqs, kinds) if found is not None else ()
        if found is not None and not (some and found[1].keys() >= set(also)):
            # What one attempt has is more than a read brings.
            some = seqs[:1]
            found = load_all(store, execution, [*also, *_names(some, kinds)])
        if found is None:
            return
        version, fields = found
        wanted = [*also, *_names(some, kinds)]
        there = {n: value for n in wanted if (value := fields.get(n)) is not None}
        yield Piece(version=version, seqs=some, fields=there)
        seqs = seqs[len(some) :]


def _names(seqs: Sequence[int], kinds: str) -> list[str]:
    return [f"{kind}:{seq}" for seq in seqs for kind in kinds]


def _brought(fields: Fields, seqs: Sequence[int], kinds: str) -> Sequence[int]:
    """Those in front of which nothing was left out."""
    return list(takewhile(lambda seq: fields.keys() >= set(_names([seq], kinds)), seqs))
