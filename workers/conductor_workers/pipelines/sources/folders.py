"""Columns that a file has in the names of its folders, as ``partition_by`` of a sink writes them:
``day=2026-11-30``. Who declares such a column gets it, from the folder rather than from the file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    _Read = Callable[[Sequence[SplitDescriptor], StructType], DataFrame]

#: What Spark and Hive call a folder whose column is NULL.
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


def with_folders(splits: Sequence[SplitDescriptor], schema: StructType, read: _Read) -> DataFrame:
    """Return the rows of splits with these columns; ``read`` gives those of splits with what their
    files have.
    """
    groups: dict[tuple[tuple[str, str | None], ...], list[SplitDescriptor]] = {}
    for split in splits:
        values = _values(str(split.descriptor["path"]), schema.names)
        groups.setdefault(tuple(values.items()), []).append(split)
    frames = [_completed(group, dict(values), schema, read) for values, group in groups.items()]
    return functools.reduce(
        lambda left, right: left.unionByName(right, allowMissingColumns=True), frames
    )


def _values(path: str, names: Sequence[str]) -> Mapping[str, str | None]:
    wanted = {name.lower(): name for name in names}
    pairs = [step.split("=", 1) for step in path.split("/")[:-1] if "=" in step]
    return {
        wanted[name]: None if value == _NULL else unquote(value)
        for name, value in ((unquote(name).lower(), value) for name, value in pairs)
        if name in wanted
    }


def _completed(
    splits: Sequence[SplitDescriptor],
    values: Mapping[str, str | None],
    schema: StructType,
    read: _Read,
) -> DataFrame:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    if not values:
        return read(splits, schema)
    rows = read(splits, StructType([each for each in schema if each.name not in values]))
    types = {each.name: each.dataType for each in schema}
    given = {name: f.lit(value).cast(types[name]) for name, value in values.items()}
    beside = [quoted(name) for name in rows.columns if name not in schema.names]
    return rows.withColumns(given).select(*map(quoted, schema.names), *beside)
