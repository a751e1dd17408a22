"""Bounds of one decision, and of an execution."""

from __future__ import annotations

from conductor_py.model.priorities import STRICT, QueueOrder
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From the settings; what each means stands there, 0 ``messages`` switches them off.

    Of a decision: ``attempts``, ``rounds``, ``bytes``. Of what expressions make: ``input_bytes`` of
    a task, ``output_bytes`` of the execution. Of an execution: ``depth``, ``chain``,
    ``chain_executions``, ``nested_executions``, ``lost``, ``tasks``, ``iterations``, ``branches``
    and those of its messages. Of queues: their
    ``order``.
    """

    attempts: int = 1000
    rounds: int = 4000
    bytes: int = 4_000_000
    input_bytes: int = 10 * 2**20
    output_bytes: int = 10 * 2**20
    depth: int = 2000
    chain: int = 100
    chain_executions: int = 10_000
    nested_executions: int = 100_000
    lost: int = 10
    tasks: int = 200_000
    iterations: int = 100_000
    branches: int = 100_000
    messages: int = 1000
    message_batch: int = 100
    message_ttl_ms: int = 86_400_000
    task_notices: bool = False
    workflow_notices: bool = False
    order: QueueOrder = STRICT
