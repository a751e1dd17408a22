"""Tasks of one version of an execution, read some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from conductor_py.engine.reading.loading import KINDS, load_tasks
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.reader import ExecutionChanged
from conductor_py.ports.store import ExecutionStore

_READ_BYTES: Final = 4 << 20

TaskPiece: TypeAlias = tuple[int, Mapping[str, bytes]]
"""The number of a task, and fields among which are its own."""


class TaskPieces:
    """Reads them. ``ExecutionChanged``: the execution has another version, or is gone."""

    def __init__(self, store: ExecutionStore, *, most: int) -> None:
        """Read at most so many at once."""
        self._store = store
        self._most = most

    def several(
        self,
        execution: ExecutionId,
        version: int,
        first: int,
        end: int,
        *,
        kinds: str = KINDS,
    ) -> Iterator[TaskPiece]:
        """Go through tasks in order, as many read at once as are not too many bytes."""
        together = self._most // 10
        while first < end:
            size, some = 0, range(first, min(first + together, end))
            for piece in self.read(execution, version, some, kinds=kinds):
                size += size_of(piece, kinds)
                yield piece
            first = some.stop
            fitting = together * _READ_BYTES // max(size, 1)
            together = max(1, min(self._most, fitting))

    def read(
        self,
        execution: ExecutionId,
        version: int,
        seqs: Sequence[int],
        *,
        kinds: str = KINDS,
    ) -> Iterator[TaskPiece]:
        """Read those of these numbers that there are."""
        brought = 0
        for piece in load_tasks(self._store, execution, seqs, kinds=kinds):
            if piece.version != version:
                raise ExecutionChanged
            for seq in piece.seqs:
                if f"a:{seq}" in piece.fields:
                    yield seq, piece.fields
            brought += len(piece.seqs)
        if brought < len(seqs):
            raise ExecutionChanged


def size_of(piece: TaskPiece, kinds: str = KINDS) -> int:
    """How many bytes a task is as it is stored."""
    seq, fields = piece
    return sum(len(fields.get(f"{kind}:{seq}", b"")) for kind in kinds)
