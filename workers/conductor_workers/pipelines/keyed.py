"""Transforms that remember keys from round to round: ``dedup`` and ``aggregate``.

What they remember is rows in the work directory, by hash bucket: a base and a delta each epoch;
after some deltas a new base. The record names them, so a round that was not decided changes
nothing, and a successor with any parallelism goes on from the same rows: bucket ``b`` is written by
task ``b % parallelism``.

``dedup`` remembers the keys it has let pass. ``aggregate`` (``emit: running``) remembers partial
measures, and shows, each round, the groups that the round touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from conductor_py.pipelines import spec
from conductor_py.pipelines.measures import NEEDED, Measure, read_measure
from conductor_py.records import dataclass
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.kept_rows import read_rows, write_rows
from conductor_workers.pipelines.transforms import TransformRefused
from conductor_workers.pipelines.workplace import Workplace
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

BUCKET: Final = "_bucket"
#: When a row came: epoch and place. Of rows that an exchange has from versions before, NULL.
TURN: Final = "_conductor_turn"
_PLACE: Final = "_conductor_place"
_DELTAS: Final = 10
_MOST_DIGITS: Final = 38
_ADDED_UP: Final = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}

State = Mapping[str, Any]
"""What a record keeps of one transform: ``base``, ``deltas``, ``schema``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Where, and under which epoch, a round keeps state."""

    spark: SparkSession
    workplace: Workplace
    epoch: int
    buckets: int
    parallelism: int


def keys_of(node: spec.Transform) -> tuple[str, ...]:
    """Return the columns that a transform remembers by."""
    return tuple(node.settings["keys" if node.kind == "dedup" else "group_by"])


def with_turns(rows: DataFrame, epoch: int) -> DataFrame:
    """Give rows that come in an order their turn: the epoch, and the place in its round."""
    from pyspark.sql import functions as f

    turn = f.struct(f.lit(epoch).cast("bigint"), f.monotonically_increasing_id())
    return rows.withColumn(TURN, turn)


def once_each(
    node: spec.Transform, frame: DataFrame, state: State | None, keeping: Keeping
) -> DataFrame:
    """Return the first row of each key that did not pass before."""
    from pyspark.sql import functions as f

    keys = keys_of(node)
    fresh = _one_of_each(keys, frame, last=False)
    if state is None:
        return fresh
    passed = _remembered(state, keeping)
    same = f.lit(True)
    for name in keys:
        same = same & fresh[quoted(name)].eqNullSafe(passed[quoted(name)])
    return fresh.join(passed, same, "left_anti")


def last_of_each(node: spec.Transform, rows: DataFrame) -> DataFrame:
    """Return the last row of each key, of rows that are all there."""
    return _one_of_each(keys_of(node), rows, last=True)


def _one_of_each(keys: Sequence[str], rows: DataFrame, *, last: bool) -> DataFrame:
    """Choose by turns; rows without one by what is in them, which is the same in a round redone."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    order = [f.xxhash64(*(quoted(name) for name in rows.columns if name != TURN))]
    if TURN in rows.columns:
        order.insert(0, f.col(TURN))
    if last:
        order = [each.desc() for each in order]
    place = f.row_number().over(Window.partitionBy(*map(quoted, keys)).orderBy(*order))
    return rows.withColumn(_PLACE, place).where(f"{_PLACE} = 1").drop(_PLACE, TURN)


def partial_sums(node: spec.Transform, frame: DataFrame) -> DataFrame:
    """Return what this round adds to each group, by the parts of the measures."""
    from pyspark.sql import functions as f

    parts = [f.expr(text).alias(name) for name, text, _ in _parts(node)]
    return frame.groupBy(*map(quoted, keys_of(node))).agg(*parts)


def totals(
    node: spec.Transform, state: State | None, fresh: DataFrame, keeping: Keeping
) -> DataFrame:
    """Return the measures, over all rounds, of the groups that ``fresh`` touches."""
    from pyspark.sql import functions as f

    keys = keys_of(node)
    sums = _added_up(node, state, fresh, keeping)
    same = f.lit(True)
    for name in keys:
        same = same & sums[quoted(name)].eqNullSafe(fresh[quoted(name)])
    touched = sums.join(fresh, same, "left_semi")
    measures = cast("Mapping[str, str]", node.settings["measures"])
    return touched.select(*map(quoted, keys), *(_shown(node, name) for name in measures))


def remember(
    node: spec.Transform, fresh: DataFrame, state: State | None, keeping: Keeping
) -> State:
    """Keep what a round adds (keys, or partial sums) and return the state after it."""
    from pyspark.sql import functions as f

    keys = keys_of(node)
    known = state or {}
    deltas = list(known.get("deltas", ()))
    kept = (
        fresh.select(*map(quoted, keys)) if node.kind == "dedup" else _as_kept(node, state, fresh)
    )
    compact = len(deltas) + 1 >= _DELTAS
    if compact:
        kept = (
            _remembered(known, keeping).unionByName(kept)
            if node.kind == "dedup"
            else _added_up(node, state, kept, keeping)
        )
    bucket = f.pmod(f.xxhash64(*map(quoted, keys)), f.lit(keeping.buckets)).cast("int")
    placed = kept.withColumn(BUCKET, bucket)
    written = placed.repartitionById(
        keeping.parallelism, f.pmod(f.col(BUCKET), f.lit(keeping.parallelism)).cast("int")
    ).sortWithinPartitions(BUCKET)
    name = keeping.workplace.frame(f"state-{node.id}", keeping.epoch)
    faults.reach("F14")
    write_rows(keeping.workplace, name, written)
    if compact:
        return {"base": name, "deltas": [], "schema": kept.schema.jsonValue()}
    return {**known, "deltas": [*deltas, name], "schema": kept.schema.jsonValue()}


def names_in(state: State) -> Iterator[str]:
    """Return the names of all rows that a state consists of."""
    if state.get("base"):
        yield str(state["base"])
    yield from state.get("deltas", ())
    if state.get("directory"):
        yield str(state["directory"])


def _remembered(state: State, keeping: Keeping) -> DataFrame:
    """Return the rows of a state. Where types were not kept, files have decimals of any width."""
    from pyspark.sql.types import StructField, StructType

    kept = _schema_of(state)
    wide = StructType([StructField(each.name, _widest(each.dataType)) for each in kept])
    rows = read_rows(keeping.spark, keeping.workplace, names_in(state), wide)
    return rows.select(*(_of_type(rows[quoted(each.name)], each) for each in kept))


def _added_up(
    node: spec.Transform, state: State | None, fresh: DataFrame, keeping: Keeping
) -> DataFrame:
    from pyspark.sql import functions as f

    added = rows = _as_kept(node, state, fresh)
    if state is not None:
        rows = _remembered(state, keeping).unionByName(added)
    parts = [
        # The sum of decimals has ten digits more than they have, and would grow with each base.
        _of_type(f.expr(f"{adder}({quoted(name)})"), added.schema[name])
        for name, _, adder in _parts(node)
    ]
    return rows.groupBy(*map(quoted, keys_of(node))).agg(*parts)


def _as_kept(node: spec.Transform, state: State | None, fresh: DataFrame) -> DataFrame:
    """Return partial sums in the types of those that are kept, which are the first round's.

    Raises:
        TransformRefused: they are other sums now.
    """
    if state is None:
        return fresh
    kept = _schema_of(state)
    for name, _, _ in _parts(node):
        before, now = kept[name].dataType, fresh.schema[name].dataType
        if _widest(before).simpleString() != _widest(now).simpleString():
            raise TransformRefused(
                f"{node.id}.measures: {name} is kept as {before.simpleString()} and has become a "
                f"{now.simpleString()}; drop its state, or give what it reads its type back."
            )
    return fresh.select(*(_of_type(fresh[quoted(name)], kept[name]) for name in fresh.columns))


def _schema_of(state: State) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(cast("dict[str, Any]", state["schema"]))


def _of_type(column: Column, field: StructField) -> Column:
    """Return a column under that name, with that width when it is of decimals."""
    from pyspark.sql.types import DecimalType

    is_decimal = isinstance(field.dataType, DecimalType)
    return (column.cast(field.dataType) if is_decimal else column).alias(field.name)


def _widest(type_: DataType) -> DataType:
    """Return a type that all decimals of one scale are read as; of others themselves."""
    from pyspark.sql.types import DecimalType

    if isinstance(type_, DecimalType):
        return DecimalType(_MOST_DIGITS, type_.scale)
    return type_


def _parts(node: spec.Transform) -> Sequence[tuple[str, str, str]]:
    """Return name, expression and adding function of what each measure is kept as."""
    parts = []
    for name in node.settings["measures"]:
        measure = _measure(node, name)
        if measure.kind == "avg":
            total, count = _halves(node, name)
            parts.append((total, measure.as_kind("sum"), "sum"))
            parts.append((count, measure.as_kind("count"), "sum"))
        else:
            parts.append((name, measure.as_kind(measure.kind), _ADDED_UP[measure.kind]))
    return parts


def _halves(node: spec.Transform, mean: str) -> tuple[str, str]:
    """Return the names of the sum and the count of an average: none that its author has given.

    Those that need no other name have had it in all states that are kept.
    """
    measures = node.settings["measures"]
    others = [name for name in measures if _measure(node, name).kind != "avg"]
    taken = {name.lower() for name in (*keys_of(node), *others)}
    names = []
    for half in ("sum", "count"):
        name = f"{mean}_{half}"
        while name.lower() in taken:
            name += "_"
        names.append(name)
    total, count = names
    return total, count


def _shown(node: spec.Transform, name: str) -> Column:
    from pyspark.sql import functions as f

    if _measure(node, name).kind == "avg":
        total, count = map(quoted, _halves(node, name))
        return f.expr(f"try_divide({total}, {count})").alias(name)
    return f.col(quoted(name))


def _measure(node: spec.Transform, name: str) -> Measure:
    found = read_measure(str(node.settings["measures"][name]))
    if found is None:
        raise TransformRefused(f"{node.id}.measures.{name}: {NEEDED}.")
    return found
