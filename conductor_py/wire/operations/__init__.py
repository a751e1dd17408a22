"""The table of endpoints: what the published interface says of each, one file a noun.

A test compares it with the routes that are really served, both ways.
"""

from __future__ import annotations

from conductor_py.wire.operations import (
    administration,
    bulk,
    catalog,
    checkpoints,
    events,
    files,
    metadata,
    oversight,
    pipelines,
    queues,
    schedules,
    schemas,
    system,
    tags,
    tasks,
    values,
    workers,
    workflows,
)
from conductor_py.wire.operations.operation import (
    BYTES,
    HTML,
    NOTHING,
    OBJECT,
    SCRIPT,
    TEXT,
    Operation,
)

OPERATIONS: tuple[Operation, ...] = (
    *workflows.OPERATIONS,
    *bulk.OPERATIONS,
    *tasks.OPERATIONS,
    *checkpoints.OPERATIONS,
    *metadata.OPERATIONS,
    *catalog.OPERATIONS,
    *tags.OPERATIONS,
    *schemas.OPERATIONS,
    *events.OPERATIONS,
    *queues.OPERATIONS,
    *schedules.OPERATIONS,
    *administration.OPERATIONS,
    *oversight.OPERATIONS,
    *pipelines.OPERATIONS,
    *values.OPERATIONS,
    *workers.OPERATIONS,
    *files.OPERATIONS,
    *system.OPERATIONS,
)
"""Every endpoint."""

__all__ = ["BYTES", "HTML", "NOTHING", "OBJECT", "OPERATIONS", "SCRIPT", "TEXT", "Operation"]
