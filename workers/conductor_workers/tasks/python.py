"""SPARK_PYTHON: calls ``function(spark, arguments)`` of an importable module.

    {"function": "jobs.sales:by_region", "arguments": {"day": "2026-11-20"},
     "output": {"path": "/data/sales", "format": "parquet", "mode": "overwrite"}}

Only modules below an allowed prefix are imported, and nothing else is evaluated. A frame that the
function returns is written to ``output``; a mapping becomes the task's output; None makes an empty
one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession

from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass
from conductor_workers.attempt import Attempt
from conductor_workers.functions import FunctionRefused, function_of, named
from conductor_workers.paths import AllowedPaths
from conductor_workers.statements import own_session
from conductor_workers.tasks.document import Document, invalid
from conductor_workers.tasks.outcome import TaskRefused
from conductor_workers.tasks.output import (
    OutputSpec,
    OutputWriter,
    computed_once,
    read_output_spec,
    refuse_output,
)

SparkFunction = Callable[[SparkSession, JsonObject], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonSpec:
    """The whole input of a SPARK_PYTHON task."""

    module: str
    name: str
    arguments: JsonObject
    output: OutputSpec | None


def read_python_spec(value: JsonObject, allowed: tuple[str, ...]) -> PythonSpec:
    """Read a task's input; ``allowed`` are the prefixes of importable modules.

    Raises:
        InvalidInput: something in it is wrong, or the module is not allowed.
    """
    document = Document(value)
    try:
        module, name = named(document.required_text("function"), allowed)
    except FunctionRefused as error:
        raise invalid(document.at("function"), error.message) from error
    arguments = document.get("arguments")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise invalid(document.at("arguments"), "must be an object.")
    output = document.child("output")
    spec = PythonSpec(
        module=module,
        name=name,
        arguments=arguments or {},
        output=None if output is None else read_output_spec(output),
    )
    document.done()
    return spec


def run_python(
    spark: SparkSession, attempt: Attempt, allowed: tuple[str, ...], *, paths: AllowedPaths
) -> JsonObject:
    """Call the function in a session of its own and return the task's output.

    Raises:
        InvalidInput: the input is malformed or names a module that is not allowed.
        PathRefused: the output is not where the worker may write.
        TaskRefused: there is no such function, or it returned what is no output.
        AttemptEnded: the claim was lost on the way.
    """
    started = time.monotonic()
    spec = read_python_spec(attempt.input, allowed)
    refuse_output(paths, spec.output)
    function = _function(spec, allowed)
    writer = None if spec.output is None else OutputWriter(spec.output, attempt)
    if writer is not None:
        repeated = writer.published_before()
        if repeated is not None:
            return {**writer.told(repeated), "repeated": True}
        writer.prepare()
    try:
        # Whoever runs the worker has allowed the module, and with it what it does.
        returned = function(own_session(spark, any_sql=True), spec.arguments)
        output = _delivered(spec, returned, writer)
    finally:
        if writer is not None:
            writer.discard()
    return {**output, "durationMs": round((time.monotonic() - started) * 1000)}


def _function(spec: PythonSpec, allowed: tuple[str, ...]) -> SparkFunction:
    try:
        return function_of(spec.module, spec.name, allowed)
    except FunctionRefused as error:
        raise TaskRefused(f"$.function: {error.message}") from error


def _delivered(
    spec: PythonSpec, returned: object, writer: OutputWriter | None
) -> dict[str, JsonValue]:
    if isinstance(returned, DataFrame):
        if writer is None:
            raise TaskRefused(f"{spec.name} returned a frame, and the task has no 'output' for it.")
        return _written(returned, writer)
    if writer is not None:
        raise TaskRefused(f"The task has an 'output', and {spec.name} returned no frame for it.")
    if returned is None:
        return {}
    if not isinstance(returned, Mapping):
        raise TaskRefused(f"{spec.name} returned neither a frame nor a mapping nor None.")
    try:
        json.dumps(returned, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TaskRefused(f"{spec.name} returned what is not JSON: {error}") from error
    return dict(returned)


def _written(frame: DataFrame, writer: OutputWriter) -> dict[str, JsonValue]:
    with computed_once(frame) as once:
        writer.stage(once)
        return writer.told(writer.publish(once, row_count=once.count()))
