"""Transforms that bound by the time of events what belongs together: windows, dedup, joins.

The same words serve frames that are whole (a bounded job) and frames that stream: only the latter
have a *watermark*, the newest time seen less the lateness that is waited for. What lies behind it
is over: windows are sent, keys and rows without a partner are forgotten, and rows that come for
them are late. A row without a time takes no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Final, cast

from conductor_py.pipelines import spec
from conductor_py.pipelines.reaches import is_timed
from conductor_workers.statements import folding, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

TIME: Final = "_time"
"""The column that rows carry their time in, as a timestamp."""

#: The time of the row that ends a stream: behind all others, and in no output.
END: Final = "9999-12-30 00:00:00"

_LEFT, _RIGHT = "_left_time", "_right_time"
_WINDOW: Final = "_window"
_OUTER: Final = frozenset({"left", "right", "full"})


def timed(node: spec.Transform, input_name: str, rows: DataFrame) -> DataFrame:
    """Give the rows of an input their time; those without one have NULL."""
    from pyspark.sql import functions as f

    setting = f"{input_name}_time" if node.kind == "join" else "time"
    return rows.withColumn(TIME, f.expr(f"try_cast({quoted(node.settings[setting])} AS timestamp)"))


def is_late(node: spec.Transform, watermark_ms: int | None) -> Column:
    """Say of each row whether all that it could take part in is over, or it has no time."""
    from pyspark.sql import functions as f

    if watermark_ms is None:
        return f.col(TIME).isNull()
    reaches_to = f.unix_micros(TIME)
    if node.kind == "aggregate":
        slide = f.lit(1000 * _slide_ms(node))
        begins = reaches_to - f.pmod(reaches_to, slide)
        reaches_to = begins + f.lit(1000 * _ms(node, "window_s"))
    return f.col(TIME).isNull() | (reaches_to <= f.lit(1000 * watermark_ms))


def holds_back(node: spec.Transform) -> bool:
    """Say whether rows may wait in it that the end of the input lets go."""
    return node.kind == "aggregate" or node.settings.get("how") in _OUTER


def last_row(node: spec.Transform, input_name: str, schema: StructType) -> list[Column]:
    """Return the columns of the row that ends a stream of an input."""
    from pyspark.sql import functions as f

    keys: frozenset[str] = frozenset()
    if node.kind == "join":
        # Rows without a key are sorted out before Spark looks at their time.
        keys = frozenset(pair[input_name == "right"].lower() for pair in _pairs(node))
    columns = []
    for each in schema:
        value = f.lit(None)
        if each.name == TIME:
            value = f.lit(END)
        elif each.name.lower() in keys:
            zero, end = (f.lit(text).try_cast(each.dataType) for text in ("0", END))
            value = f.coalesce(zero, end)
        columns.append(value.cast(each.dataType).alias(each.name))
    return columns


def streamed(node: spec.Transform, rows: Mapping[str, DataFrame]) -> DataFrame:
    """Return what a transform makes of streams that carry their time."""
    from pyspark.sql import functions as f

    if node.kind == "join":
        made = _partners(node, rows["left"], rows["right"], watermark=True)
        if holds_back(node):
            time = f.coalesce(_LEFT, _RIGHT)
            made = made.where(time < f.lit(END).cast("timestamp"))
        return made.drop(_LEFT, _RIGHT)
    (only,) = rows.values()
    if node.kind == "aggregate":
        return _windows(node, only.withWatermark(TIME, _interval(node, "lateness_s")))
    watched = only.withWatermark(TIME, _interval(node, "within_s"))
    return watched.dropDuplicatesWithinWatermark(list(node.settings["keys"])).drop(TIME)


def grouped(node: spec.Transform, rows: DataFrame) -> DataFrame:
    """Return the measures of each group of rows that are all there; of each window, if it has."""
    if not is_timed(node):
        names = node.settings.get("group_by", ())
        return rows.groupBy(*map(quoted, names)).agg(*_measures(node))
    (name,) = node.inputs
    return _windows(node, timed(node, name, rows).where(f"{TIME} IS NOT NULL"))


def joined(node: spec.Transform, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the pairs of two inputs that are all there, no more than ``within_s`` apart."""
    frames = {"left": left, "right": right}
    left, right = (
        timed(node, name, rows).where(f"{TIME} IS NOT NULL") for name, rows in frames.items()
    )
    return _partners(node, left, right, watermark=False).drop(_LEFT, _RIGHT)


def _windows(node: spec.Transform, rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    groups = [str(name) for name in node.settings.get("group_by", ())]
    window = f.window(TIME, _interval(node, "window_s"), f"{_slide_ms(node)} milliseconds")
    made = rows.groupBy(*map(quoted, groups), window.alias(_WINDOW)).agg(*_measures(node))
    return made.select(
        *(f.col(quoted(name)) for name in groups),
        f.col(f"{_WINDOW}.start").alias("window_start"),
        f.col(f"{_WINDOW}.end").alias("window_end"),
        *(f.col(quoted(name)) for name in node.settings["measures"]),
    )


def _measures(node: spec.Transform) -> list[Column]:
    from pyspark.sql import functions as f

    return [f.expr(text).alias(name) for name, text in node.settings["measures"].items()]


def _partners(
    node: spec.Transform, left: DataFrame, right: DataFrame, *, watermark: bool
) -> DataFrame:
    from pyspark.sql import functions as f

    left, right = left.withColumnRenamed(TIME, _LEFT), right.withColumnRenamed(TIME, _RIGHT)
    if watermark:
        lateness = _interval(node, "lateness_s")
        left = left.withWatermark(_LEFT, lateness)
        right = right.withWatermark(_RIGHT, lateness)
    how, pairs = str(node.settings["how"]), _pairs(node)
    most = f.expr(f"INTERVAL '{_ms(node, 'within_s') / 1000:.3f}' SECOND")
    same = [left[quoted(one)] == right[quoted(other)] for one, other in pairs]
    near = (right[_RIGHT] >= left[_LEFT] - most) & (right[_RIGHT] <= left[_LEFT] + most)
    found = left.join(right, reduce(lambda some, more: some & more, [*same, near]), how)
    if how in {"semi", "anti"}:
        return found
    return found.select(*_columns(left, right, pairs, how))


def _columns(
    left: DataFrame, right: DataFrame, pairs: list[tuple[str, str]], how: str
) -> list[Column]:
    """Return the columns of both; of a pair of one name there is one column."""
    from pyspark.sql import functions as f

    def key(name: str) -> Column:
        if how == "full":
            return f.coalesce(left[quoted(name)], right[quoted(name)]).alias(name)
        return (right if how == "right" else left)[quoted(name)]

    fold = folding(left.sparkSession)
    shared = {fold(one): one for one, other in pairs if fold(one) == fold(other)}
    return [
        *(key(name) for name in shared.values()),
        *(left[quoted(name)] for name in left.columns if fold(name) not in shared),
        *(right[quoted(name)] for name in right.columns if fold(name) not in shared),
    ]


def _pairs(node: spec.Transform) -> list[tuple[str, str]]:
    return cast("list[tuple[str, str]]", node.settings["on"])


def _ms(node: spec.Transform, name: str) -> int:
    return round(1000 * float(node.settings.get(name) or 0))


def _slide_ms(node: spec.Transform) -> int:
    return _ms(node, "slide_s") or _ms(node, "window_s")


def _interval(node: spec.Transform, name: str) -> str:
    return f"{_ms(node, name)} milliseconds"
