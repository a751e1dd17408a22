"""What its parent is told of an execution that is dropped, as nobody can read what is stored."""

from __future__ import annotations

import re
from typing import Final

from conductor_py.engine.decisions.abroad import posted
from conductor_py.model.event import ChildEnded
from conductor_py.model.ids import ExecutionId, is_execution_id, partition_of
from conductor_py.model.status import WorkflowStatus
from conductor_py.ports.store import Effect

_REASON: Final = "What was stored of it could not be read; an operator has dropped it"
_PARENT: Final = re.compile(rb'"parent":\s*"([0-9a-f-]+)"')
_SEQ: Final = re.compile(rb'"pseq":\s*([0-9]{1,15})')
_GENERATION: Final = re.compile(rb'"gen":\s*([0-9]{1,15})')


def farewell(execution: ExecutionId, header: bytes, partitions: int) -> Effect | None:
    """Make the effect that tells the parent; ``None`` when the header names none of this
    deployment. A header may be damaged: it is read as it is spelled, as the scripts do.
    """
    parent = _found(_PARENT, header)
    seq = _found(_SEQ, header)
    if not (is_execution_id(parent) and partition_of(ExecutionId(parent)) < partitions and seq):
        return None
    ended = ChildEnded(
        seq=int(seq),
        child=execution,
        child_generation=int(_found(_GENERATION, header) or "0"),
        status=WorkflowStatus.TERMINATED,
        reason=_REASON,
        output={},
    )
    return posted(execution, parent, ended, "dropped")


def _found(name: re.Pattern[bytes], header: bytes) -> str:
    """What stands under a name; empty: nothing that can be read."""
    found = name.search(header)
    return found[1].decode() if found else ""
