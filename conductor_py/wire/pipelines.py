"""Jobs of data pipelines: JSON to a job that is wired and makes sense, or all that is wrong in it.

Reading has three steps: the form (types, unknown members), the wiring (names, cycles), and what the
nodes ask of each other. A step begins when the one before found nothing, and reports all it finds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from conductor_py.errors import DefinitionError, InvalidInput, Violation
from conductor_py.pipelines.checks import findings
from conductor_py.pipelines.spec import (
    VERSION,
    CheckpointRule,
    Environment,
    ErrorRule,
    Job,
    RestartRule,
    RoundRule,
)
from conductor_py.pipelines.wiring import wired
from conductor_py.wire.fields import Choice, One, load
from conductor_py.wire.pipeline_fields import (
    Strict,
    StrictForm,
    a_flag,
    a_map,
    a_number,
    a_size,
    a_text,
    a_whole,
    option,
    strict_whole,
)
from conductor_py.wire.pipeline_nodes import (
    RATE,
    SINK,
    SOURCE,
    TRANSFORM,
    Listed,
    dead_letter_field,
    described,
)


class RoundForm(StrictForm):
    """How large a round is."""

    model = RoundRule
    target_s = a_number(least=0.1)
    min_s = a_number(least=0)
    min_bytes = a_size()
    max_bytes = a_size()
    max_splits = a_whole(least=1, most=100_000)


class CheckpointForm(StrictForm):
    """What is kept of commits."""

    model = CheckpointRule
    retain = a_whole(least=1, most=1_000)
    timeout_s = a_number(least=1)
    inline_bytes = a_size()


class RestartForm(StrictForm):
    """How a pipeline starts again."""

    model = RestartRule
    per_pipeline = a_whole(least=0, most=10_000)
    delay_s = a_number(least=0)
    backoff = a_number(least=1)
    reset_after_epochs = a_whole(least=1)


class ErrorForm(StrictForm):
    """What errors lead to."""

    model = ErrorRule
    bad_rows = Choice(("fail", "drop", "dead_letter"))
    max_rows = a_whole(least=0)
    max_ratio = a_number(least=0, most=1)
    split_attempts = a_whole(least=1, most=100)
    poison_split = Choice(("fail", "quarantine"))


_ROUND, _CHECKPOINT, _RESTART, _ERRORS = RoundForm(), CheckpointForm(), RestartForm(), ErrorForm()


class EnvironmentForm(StrictForm):
    """What all pipelines of a job share."""

    model = Environment
    parallelism = a_whole(least=0, most=10_000)
    round = One(lambda: _ROUND)
    checkpoint = One(lambda: _CHECKPOINT)
    restart = One(lambda: _RESTART)
    errors = One(lambda: _ERRORS)
    rate = One(lambda: RATE)
    buckets = a_whole(least=1, most=32_768)
    work_dir = a_text()
    failover = Choice(("pipeline", "all"))
    fail_fast = a_flag()
    split_unions = a_flag()
    spark = a_map(option, {"type": ["string", "number", "boolean"]})


_ENVIRONMENT: Final = EnvironmentForm()


def _version(value: object) -> int:
    if strict_whole(value) != VERSION:
        raise ValueError(f"must be {VERSION}")
    return VERSION


class JobForm(StrictForm):
    """A whole job."""

    version = Strict(_version, {"const": VERSION}, required=True)
    name = a_text(required=True)
    mode = Choice(("bounded", "unbounded"))
    env = One(lambda: _ENVIRONMENT)
    sources = Listed(SOURCE, required=True)
    transforms = Listed(TRANSFORM)
    sinks = Listed(SINK, required=True)
    dead_letter = dead_letter_field()


JOB: Final = JobForm()


def read_job(body: object, *, root: str = "$") -> Job:
    """Read a job; ``DefinitionError`` lists what is wrong, with paths below ``root``."""
    try:
        members = load(JOB, body)
    except InvalidInput as error:
        raise DefinitionError(violations=_below(root, error.violations)) from error
    job, found = wired(job_of(members))
    found = found or findings(job)
    if found:
        raise DefinitionError(violations=_below(root, found))
    return job


def job_of(members: dict[str, Any]) -> Job:
    """Make the job of a form that was read; nothing is wired yet."""
    return Job(**{name: each for name, each in members.items() if name != "version"})


def _below(root: str, found: tuple[Violation, ...]) -> tuple[Violation, ...]:
    return tuple(replace(each, path=root + each.path[1:]) for each in found)


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema of a job, without what only the wiring can tell."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PipelineJob",
        **described(JOB),
    }
