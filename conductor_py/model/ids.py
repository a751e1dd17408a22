"""Identities: what an execution, an attempt and a partition are called, and how one is read out of
the other.

An execution id is UUID-shaped; its first three hexadecimal digits are the partition, the rest is
random or, for a child, derived from the task of its parent, so that siblings sort. A task id is
``<execution id>-<sequence number>``, so that a task is found without an index. No I/O and no
randomness here: random parts are handed in.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import NewType

from conductor_py.errors import NotFound

ExecutionId = NewType("ExecutionId", str)
TaskId = NewType("TaskId", str)

MAX_PARTITIONS = 4096
_EXECUTION_LENGTH = 36
_MAX_SEQ_DIGITS = 12
_SORTED_SEQS = 1 << 32
_HEX = frozenset("0123456789abcdef")


def execution_id(partition: int, entropy: str) -> ExecutionId:
    """Make an id in ``partition`` out of at least 29 hexadecimal digits of ``entropy``."""
    digits = f"{partition:03x}{entropy}"[:32]
    return ExecutionId(
        f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"
    )


def derived_execution_id(cause: str, partition: int) -> ExecutionId:
    """Make the id of what ``cause`` (such as a task id) starts: the same cause always gives the
    same id.
    """
    return execution_id(partition, hashlib.sha256(cause.encode()).hexdigest())


def child_id(parent: ExecutionId, seq: int) -> ExecutionId:
    """Make the id of what the attempt ``seq`` of an execution starts: the same attempt always gives
    the same id, and ids of one parent sort as its attempts do, so that children whose tasks are
    queued in the same millisecond begin in that order.
    """
    family = hashlib.sha256(parent.encode()).hexdigest()[:12]
    own = hashlib.sha256(task_id(parent, seq).encode()).hexdigest()
    return execution_id(partition_of(parent), f"{family}{seq % _SORTED_SEQS:08x}{own}")


def home_partition(name: str, partitions: int) -> int:
    """Tell in which partition something by that name stands that is about all of them."""
    return zlib.crc32(name.encode(errors="replace")) % partitions


def partition_of(execution: ExecutionId) -> int:
    """Read the partition out of an execution id."""
    return int(execution[:3], 16)


def task_id(execution: ExecutionId, seq: int) -> TaskId:
    """Name the attempt ``seq`` of an execution."""
    return TaskId(f"{execution}-{seq}")


def split_task_id(task: str) -> tuple[ExecutionId, int]:
    """Take a task id apart; a string of another shape names no task (``NotFound``)."""
    execution, dash, seq = task[:36], task[36:37], task[37:]
    plausible = is_execution_id(execution) and dash == "-" and len(seq) < _MAX_SEQ_DIGITS
    if not (plausible and seq.isascii() and seq.isdigit()):
        raise NotFound(f"No such task found by id: {task}")
    return ExecutionId(execution), int(seq)


def is_execution_id(text: str) -> bool:
    """Tell whether ``text`` has the shape of an execution id."""
    return (
        len(text) == _EXECUTION_LENGTH
        and text[8] == text[13] == text[18] == text[23] == "-"
        and _HEX.issuperset(text.replace("-", ""))
    )


def escaped(name: str, separator: str = ":") -> str:
    """Write a name so that it ends where the first separator behind it stands. One without that or
    a percent sign is written as it is.
    """
    return name.replace("%", "%25").replace(separator, f"%{ord(separator):02X}")
