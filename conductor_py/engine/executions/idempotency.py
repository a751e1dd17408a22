"""Idempotency keys outlive their executions, but for those that were deleted: who starts under such
a key again is not led to what is not there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from conductor_py.codec.execution import load_header, load_meta
from conductor_py.codec.kept_execution import load_kept
from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.reader import ExecutionReader

_LOG = logging.getLogger(__name__)


def release_key(
    reader: ExecutionReader,
    execution: ExecutionId,
    fields: Mapping[str, bytes | None] | None = None,
    *,
    kept: bytes | None = None,
) -> None:
    """Let go of the key of an execution that is deleted, which its ``fields`` (``h`` and ``meta``)
    say, or what is ``kept`` in the archive. What cannot be read is no reason not to delete it.
    """
    try:
        found = fields or (load_kept(kept).fields if kept else {})
        header, meta = found.get("h"), found.get("meta")
        key = load_meta(meta).idempotency_key if meta else None
        if header and key:
            reader.release_key(execution, load_header(header).name, key)
    except StoreUnavailable:
        raise
    except Exception:  # noqa: BLE001 - whatever a damaged one raises
        facts = {"action": "key_not_released", "workflow_id": execution}
        _LOG.warning("The key of a deleted execution cannot be read, and expires", extra=facts)
