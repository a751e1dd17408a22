"""SPARK_SQL: inputs become views, statements run in order, the last one's result is the output.

    {"inputs": {"flights": {"format": "csv", "path": "/data/flights.csv",
                            "options": {"header": true},
                            "schema": "carrier string, arr_delay double"}},
     "sql": "SELECT carrier, avg(arr_delay) AS delay FROM flights GROUP BY carrier",
     "output": {"path": "/data/delays", "format": "parquet", "mode": "overwrite"},
     "metrics": {"carriers": "SELECT count(*) FROM result"}, "collect": 10}

Statements are queries of the inputs; before the last one, ``CREATE TEMP VIEW … AS`` a query may
give one a name (see ``statements``). Metrics are single values; they may read the views and
``result``, are evaluated before the data is published, and go into the task's output with the
counts. Rows go there only by ``collect``: at most 1,000 and 256 kB of them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass
from conductor_workers.attempt import Attempt
from conductor_workers.datafiles import address
from conductor_workers.paths import AllowedPaths
from conductor_workers.statements import Judge, StatementRefused, own_session, quoted
from conductor_workers.tasks.document import Document, invalid
from conductor_workers.tasks.inputs import RESULT_VIEW, InputSpec, load_input, read_input
from conductor_workers.tasks.outcome import TaskRefused, shortened
from conductor_workers.tasks.output import (
    MOST_ROWS,
    OutputSpec,
    OutputWriter,
    computed_once,
    first_rows,
    read_output_spec,
    refuse_output,
    schema_ddl,
)

_NAMES_RESULT = re.compile(r"\bresult\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlSpec:
    """The whole input of a SPARK_SQL task."""

    inputs: tuple[InputSpec, ...]
    statements: Mapping[str, str]
    """By JSON path, in their order."""
    output: OutputSpec | None
    collect: int
    metrics: Mapping[str, str]


def read_sql_spec(value: JsonObject) -> SqlSpec:
    """Read a task's input.

    Raises:
        InvalidInput: something in it is wrong; the path says what.
    """
    document = Document(value)
    inputs = tuple(read_input(name, child) for name, child in document.children("inputs"))
    sql, statements = document.text("sql"), document.texts("statements")
    if (sql is None) == (not statements):
        raise invalid(document.at("sql"), "exactly one of sql and statements is required.")
    output = document.child("output")
    spec = SqlSpec(
        inputs=inputs,
        statements=(
            {f"{document.at('statements')}[{at}]": each for at, each in enumerate(statements)}
            if sql is None
            else {document.at("sql"): sql}
        ),
        output=None if output is None else read_output_spec(output),
        collect=document.whole("collect", least=1, most=MOST_ROWS) or 0,
        metrics=document.named_texts("metrics"),
    )
    document.done()
    return spec


def run_sql(
    spark: SparkSession, attempt: Attempt, *, paths: AllowedPaths, any_sql: bool = False
) -> JsonObject:
    """Run the task in a session of its own and return its output.

    ``paths`` are the files and objects that tasks may name. ``any_sql``: whoever defines tasks may
    run all that Spark's SQL can do.

    Raises:
        InvalidInput: the input is malformed.
        PathRefused: it names files that the worker was not given.
        TaskRefused: a statement may not be run, or a metric is not one value.
        AttemptEnded: the claim was lost on the way.
    """
    started = time.monotonic()
    spec = read_sql_spec(attempt.input)
    for source in spec.inputs:
        paths.refuse_others(f"$.inputs.{source.view}.path", source.path)
    refuse_output(paths, spec.output)
    with ExitStack() as cleanup:
        writer = None if spec.output is None else OutputWriter(spec.output, attempt)
        if writer is not None:
            repeated = writer.published_before()
            if repeated is not None:
                return {**writer.told(repeated), "repeated": True}
            writer.prepare()
            cleanup.callback(writer.discard)
        own = own_session(spark, any_sql=any_sql)
        if not any_sql:
            _refuse_other_than_queries(own, spec)
        for source in spec.inputs:
            load_input(own, source).createOrReplaceTempView(source.view)
        *before, last = spec.statements.values()
        for statement in before:
            own.sql(statement)
        output = _deliver(own, spec, own.sql(last), writer, cleanup)
    return {**output, "durationMs": round((time.monotonic() - started) * 1000)}


def _refuse_other_than_queries(own: SparkSession, spec: SqlSpec) -> None:
    judge, views = Judge(own), [source.view for source in spec.inputs]
    last = list(spec.statements)[-1]
    for path, statement in spec.statements.items():
        with _telling(path):
            made = judge.statement(statement, views)
            if made is not None and path == last:
                raise StatementRefused("the last statement must be a query; it makes the output.")
        views += [] if made is None else [made]
    for name, sql in spec.metrics.items():
        with _telling(f"$.metrics.{name}"):
            for each in (sql, f"SELECT {_value(sql)}"):
                judge.query(each, [*views, RESULT_VIEW])


@contextmanager
def _telling(path: str) -> Iterator[None]:
    try:
        yield
    except (StatementRefused, ParseException) as error:
        raise TaskRefused(f"{path}: {shortened(str(error))}") from error


def _deliver(
    own: SparkSession,
    spec: SqlSpec,
    frame: DataFrame,
    writer: OutputWriter | None,
    cleanup: ExitStack,
) -> dict[str, JsonValue]:
    """Write, measure, collect, publish: nothing becomes visible that was not measured."""
    measures_result = any(_NAMES_RESULT.search(sql) for sql in spec.metrics.values())
    read_back = writer is not None and writer.readable_staged and not spec.collect
    if not read_back and (writer is not None or spec.collect or measures_result):
        frame = cleanup.enter_context(computed_once(frame))
    result = frame
    if writer is not None:
        staged = writer.stage(frame)
        if read_back and staged is not None:
            result = (
                own.read.schema(frame.schema).format(writer.spec.form.format).load(address(staged))
            )
    if measures_result:
        result.createOrReplaceTempView(RESULT_VIEW)
    measured = _measured(own, spec.metrics)
    collected = _collected(frame, spec.collect)
    if writer is None:
        return {"rowCount": result.count(), "schema": schema_ddl(frame), **measured, **collected}
    manifest = writer.publish(frame, row_count=result.count(), metrics=measured)
    return {**writer.told(manifest), **collected}


def _measured(own: SparkSession, metrics: Mapping[str, str]) -> JsonObject:
    """Evaluate all metrics in one query, so that those over the same view share its scan."""
    if not metrics:
        return {}
    for name, sql in metrics.items():
        _refuse_wide(own, name, sql)
    columns = ", ".join(f"{_value(sql)} AS {quoted(name)}" for name, sql in metrics.items())
    values = own.sql(f"SELECT {columns}")
    rows = first_rows(values, 1).rows
    if not rows:
        raise TaskRefused("$.metrics: the values are larger than an output may be.")
    return {"metrics": rows[0]}


def _value(sql: str) -> str:
    """Return a query as a value in another one; a comment at its end does not swallow the rest."""
    return f"(\n{sql}\n)"


def _refuse_wide(own: SparkSession, name: str, sql: str) -> None:
    try:
        width = len(own.sql(sql).columns)
    except AnalysisException as error:
        raise TaskRefused(f"$.metrics.{name}: {shortened(str(error))}") from error
    if width != 1:
        raise TaskRefused(f"$.metrics.{name}: must return one value; it has {width} columns.")


def _collected(frame: DataFrame, count: int) -> dict[str, JsonValue]:
    if not count:
        return {}
    rows = first_rows(frame, count)
    return {"rows": list(rows.rows), **({"rowsTruncated": True} if rows.truncated else {})}
