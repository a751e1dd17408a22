"""What transforms that remember nothing make of their inputs, in one round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from conductor_py.pipelines import spec
from conductor_py.pipelines.chance import moments, with_time_pinned
from conductor_py.pipelines.plan import Reach
from conductor_py.pipelines.reaches import is_timed
from conductor_py.records import dataclass
from conductor_workers.functions import FunctionRefused, function_of, named
from conductor_workers.pipelines.event_time import joined
from conductor_workers.pipelines.row_wise import needs_more_than_a_row
from conductor_workers.statements import folding, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Frames = Mapping[str, DataFrame]

_BY_ROW: Final = frozenset(("sql", "map", "filter", "python"))


class TransformRefused(Exception):
    """A transform can never work as it is declared; the message says why."""


@dataclass(frozen=True, slots=True)
class Shop:
    """What transforms work with: a session of the pipeline's own, what SQL takes for now (in
    milliseconds since 1970), and the modules that may be imported (prefixes).
    """

    spark: SparkSession
    now_ms: int
    modules: tuple[str, ...] = ()


def transformed(
    node: spec.Transform,
    inputs: Frames,
    reach: Reach,
    shop: Shop,
    *,
    sides: frozenset[str] = frozenset(),
) -> DataFrame:
    """Apply a transform that keeps no state. Raises ``TransformRefused``.

    ``sides`` names the inputs that each round shows whole.
    """
    if node.kind in _BY_ROW:
        inputs = {name: _viewed(name, frame, shop.spark) for name, frame in inputs.items()}
    told = told_the_time(node, inputs, shop.now_ms)
    made = _KINDS[node.kind](told, inputs, shop)
    if told is not node and node.kind == "sql":
        # A column without a name is named as its expression, and that must not tell the time.
        made = made.toDF(*_sql(node, inputs, shop).columns)
    if not made.columns:
        raise TransformRefused(f"{node.id}: its rows have no column.")
    if reach is not Reach.BLOCKING:
        _refuse_chance(node, made)
    if node.kind in _BY_ROW and reach is not Reach.BLOCKING:
        _refuse_more_than_rows(node, made, sides)
    if node.parallelism and node.kind != "union":
        made = made.repartition(node.parallelism)
    return made


def told_the_time(node: spec.Transform, inputs: Frames, now_ms: int) -> spec.Transform:
    """Return a transform whose SQL takes that instant for now."""
    if not any(moments(node)):
        return node
    columns = frozenset(name.lower() for each in inputs.values() for name in each.columns)
    return with_time_pinned(node, now_ms, columns)


def _viewed(name: str, frame: DataFrame, spark: SparkSession) -> DataFrame:
    """Give an input its name: for queries, and where a plan is told from what it is made of."""
    frame.createOrReplaceTempView(quoted(name))
    return spark.table(quoted(name))


def _sql(node: spec.Transform, inputs: Frames, shop: Shop) -> DataFrame:
    del inputs  # the query has their names
    return shop.spark.sql(str(node.settings["query"]))


def _map(node: spec.Transform, inputs: Frames, shop: Shop) -> DataFrame:
    from pyspark.sql import functions as f

    del shop
    (frame,) = inputs.values()
    select = cast("Mapping[str, str]", node.settings["select"])
    made = [f.expr(expression).alias(name) for name, expression in select.items()]
    if node.settings.get("keep_others"):
        made = [f.col(quoted(name)) for name in frame.columns if name not in select] + made
    return frame.select(*made)


def _filter(node: spec.Transform, inputs: Frames, shop: Shop) -> DataFrame:
    del shop
    (frame,) = inputs.values()
    return frame.where(str(node.settings["where"]))


def _union(node: spec.Transform, inputs: Frames, shop: Shop) -> DataFrame:
    """Put inputs together; each gives at most its share of ``parallelism`` tasks."""
    del shop
    frames = list(inputs.values())
    if node.parallelism:
        share = max(1, node.parallelism // len(frames))
        frames = [frame.coalesce(share) for frame in frames]
    made = frames[0]
    for frame in frames[1:]:
        made = made.unionByName(frame)
    return made


def _lookup(node: spec.Transform, inputs: Frames, shop: Shop) -> DataFrame:
    from pyspark.sql import functions as f

    main, side = inputs["main"], inputs["side"]
    pairs = cast("list[tuple[str, str]]", node.settings["on"])
    condition = f.lit(True)
    for left, right in pairs:
        condition = condition & (main[quoted(left)] == side[quoted(right)])
    joined = main.join(f.broadcast(side), condition, str(node.settings.get("how", "left")))
    # The side's keys say nothing new; a column of both is the main input's.
    fold = folding(shop.spark)
    known = {fold(name) for name in (*main.columns, *(right for _, right in pairs))}
    for name in side.columns:
        if fold(name) in known:
            joined = joined.drop(side[quoted(name)])
    return joined


def _join(node: spec.Transform, inputs: Frames, shop: Shop) -> DataFrame:
    left, right = inputs["left"], inputs["right"]
    if is_timed(node):
        return joined(node, left, right)
    pairs = cast("list[tuple[str, str]]", node.settings["on"])
    condition = [left[quoted(one)] == right[quoted(other)] for one, other in pairs]
    how = str(node.settings.get("how", "inner"))
    fold = folding(shop.spark)
    if all(fold(one) == fold(other) for one, other in pairs):
        # Brought together by name: one column of each pair is left, whatever the join.
        return left.join(right, [one for one, _ in pairs], how)
    return left.join(right, condition, how)


def _python(node: spec.Transform, inputs: Frames, shop: Shop) -> DataFrame:
    from pyspark.sql import DataFrame

    text = str(node.settings["function"])
    try:
        function = function_of(*named(text, shop.modules), shop.modules)
    except FunctionRefused as error:
        raise TransformRefused(f"{node.id}.function: {error.message}") from error
    made = function(dict(inputs), dict(node.settings.get("arguments", {})))
    if not isinstance(made, DataFrame):
        raise TransformRefused(f"{node.id}: {text} returned no frame.")
    return made


_KINDS: Final[Mapping[str, Callable[[spec.Transform, Frames, Shop], DataFrame]]] = {
    "sql": _sql,
    "map": _map,
    "filter": _filter,
    "union": _union,
    "lookup": _lookup,
    "join": _join,
    "python": _python,
}


def refuse_unpinned(node: spec.Transform, made: DataFrame) -> None:
    """Refuse what tells another time when a round is redone. Raises ``TransformRefused``."""
    plan: Any = made._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark's way to its plan
    jvm: Any = made.sparkSession._jvm  # noqa: SLF001
    patterns = jvm.org.apache.spark.sql.catalyst.trees.TreePattern
    if plan.containsPattern(patterns.CURRENT_LIKE()):
        raise TransformRefused(
            f"{node.id}: it tells the time in a way that is not known as the time of its round; "
            "write now()."
        )


def is_determined(frame: DataFrame) -> bool:
    """Say whether Spark is sure to find the same rows again."""
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    return bool(plan.deterministic())


def _refuse_chance(node: spec.Transform, made: DataFrame) -> None:
    """What is drawn would be drawn anew when a round is redone."""
    if not is_determined(made):
        raise TransformRefused(
            f"{node.id}: it draws values, which are others when a round is redone; take them from "
            "the rows, such as xxhash64 of a key."
        )


def _refuse_more_than_rows(node: spec.Transform, made: DataFrame, sides: frozenset[str]) -> None:
    """A round shows a part of the input only: the answer would be wrong, quietly."""
    (main,) = node.inputs.keys() - sides
    plan = made._jdf.queryExecution().analyzed().toString()  # noqa: SLF001
    why = needs_more_than_a_row(plan, main, sides, opaque=node.kind == "python")
    if why is not None:
        raise TransformRefused(
            f"{node.id}: {why}, and a round shows it a part of its input; use aggregate, dedup, "
            'lookup or join, or sql or python that declare "reach": "blocking".'
        )
