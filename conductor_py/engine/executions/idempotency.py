"""Idempotency keys outlive their executions, but for those that were deleted: who starts under such
a key again is not led to what is not there.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.codec.execution import load_header, load_meta
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.reader import ExecutionReader


def release_key(
    reader: ExecutionReader, execution: ExecutionId, fields: Mapping[str, bytes | None]
) -> None:
    """Let go of the key of an execution that is being deleted; ``fields`` has its ``h`` and
    ``meta``.
    """
    header, meta = fields.get("h"), fields.get("meta")
    key = load_meta(meta).idempotency_key if meta else None
    if header and key:
        reader.release_key(execution, load_header(header).name, key)
