"""The columns of a source, as a record keeps them for all rounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conductor_workers.pipelines.connectors import SourceProblem

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def pinned(schema: StructType) -> Mapping[str, Any]:
    """Write a schema as a record keeps it."""
    found: Mapping[str, Any] = json.loads(schema.json())
    return found


def unpinned(document: Mapping[str, Any]) -> StructType:
    """Read it back. Raises ``SCHEMA_CHANGED`` for what is none."""
    from pyspark.sql.types import StructType

    try:
        return StructType.fromJson(dict(document))
    except (KeyError, TypeError, ValueError) as error:
        raise SourceProblem(
            "SCHEMA_CHANGED", f"The pinned schema is unreadable: {error}"
        ) from error
