"""``conductor-py pipeline``: a data pipeline's job looked at before it runs, which asks no server,
and how far it is while it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from conductor_py.cli.connection import document, file_document
from conductor_py.cli.pipeline_progress import progress
from conductor_py.cli.printing import print_json, say
from conductor_py.errors import InvalidInput

_FILE: Final = click.Path(allow_dash=True, dir_okay=False, path_type=Path)
_TASK: Final = click.option(
    "--task", "reference", help="Reference of the task, when FILE is a workflow with several."
)
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_TYPE: Final = "SPARK_PIPELINE"


@click.group()
def pipeline() -> None:
    """Check jobs of data pipelines, see how they are cut, and how far they are."""


pipeline.add_command(progress)


@pipeline.command()
@click.argument("file", type=_FILE)
@_TASK
@_JSON
def validate(file: Path, *, reference: str | None, as_json: bool) -> None:
    """Check the job in FILE: a job, or a workflow definition with a SPARK_PIPELINE task."""
    described = _described(file, reference)
    if as_json:
        print_json({"name": described["name"], "valid": True})
    else:
        count = len(described["pipelines"])
        say(f"{described['name']} is valid: {count} pipeline{'s'[: count != 1]}")


@pipeline.command()
@click.argument("file", type=_FILE)
@_TASK
@_JSON
def plan(file: Path, *, reference: str | None, as_json: bool) -> None:
    """Draw how the job in FILE is cut into pipelines and stages."""
    described = _described(file, reference)
    if as_json:
        print_json(described)
        return
    _draw(described, reasons=False)


@pipeline.command()
@click.argument("file", type=_FILE)
@_TASK
@_JSON
def explain(file: Path, *, reference: str | None, as_json: bool) -> None:
    """Draw the job in FILE, and say why it is cut so and what each sink promises."""
    described = _described(file, reference)
    if as_json:
        print_json(described)
        return
    _draw(described, reasons=True)


def _described(file: Path, reference: str | None) -> dict[str, Any]:
    from conductor_py.pipelines.cutting import cut
    from conductor_py.pipelines.description import description
    from conductor_py.wire.pipelines import read_job

    body, root = _job_in(document("-") if str(file) == "-" else file_document(file), reference)
    job = read_job(body, root=root)
    return description(job, cut(job))


def _job_in(found: Any, reference: str | None) -> tuple[Any, str]:  # noqa: ANN401 - any JSON value
    if not isinstance(found, dict) or "tasks" not in found:
        return found, "$"
    jobs = {str(task.get("taskReferenceName")): each for task, each in _jobs(found, "$")}
    if not jobs:
        raise InvalidInput(f"The workflow has no {_TYPE} task.")
    if reference is not None and reference not in jobs:
        raise InvalidInput(f"The workflow has no {_TYPE} task {reference!r}: {_listed(jobs)}.")
    if reference is None and len(jobs) != 1:
        raise InvalidInput(f"Name one task with --task: {_listed(jobs)}.")
    return jobs[reference if reference is not None else next(iter(jobs))]


def _listed(jobs: dict[str, Any]) -> str:
    return f"there are {', '.join(jobs)}"


def _jobs(value: Any, path: str) -> Iterator[tuple[dict[str, Any], tuple[Any, str]]]:  # noqa: ANN401
    """List the pipeline tasks below a value, wherever a definition may hold tasks."""
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _jobs(inner, f"{path}[{index}]")
    elif isinstance(value, dict) and value.get("type") == _TYPE:
        parameters = value.get("inputParameters")
        body = parameters.get("job") if isinstance(parameters, dict) else None
        yield value, (body, f"{path}.inputParameters.job")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _jobs(inner, f"{path}.{name}")


def _draw(described: dict[str, Any], *, reasons: bool) -> None:
    say(f"{described['name']} ({described['mode']})")
    for each in described["pipelines"]:
        stages = each["stages"]
        say()
        say(f"pipeline {each['id']}: {len(stages)} stage{'s'[: len(stages) != 1]}")
        for stage in stages:
            _draw_stage(stage, several=len(stages) > 1, reasons=reasons)
        if reasons:
            say(f"  {each['driver']}: {each['because']}")
            _print_promises(each["guarantees"])
            say(f"  plan {each['planHash']}")


def _draw_stage(stage: dict[str, Any], *, several: bool, reasons: bool) -> None:
    if several:
        say(f"  stage {stage['number']}")
    width = max(len(node["id"]) for node in stage["nodes"])
    for node in stage["nodes"]:
        reads = ", ".join(_read(each) for each in node["reads"])
        facts = [f"{node['role']} {node['kind']}", f"← {reads}" if reads else "", _note(node)]
        say(f"    {node['id']:<{width}}  {'  '.join(fact for fact in facts if fact)}")
        if reasons and "because" in node:
            say(f"    {'':<{width}}  {node['because']}")
    for exchange in stage["exchanges"]:
        say(f"    ⇒ exchange {exchange['to']} takes {exchange['output']}")


def _read(each: dict[str, Any]) -> str:
    return f"{each['input']}: {'exchange of ' if each['exchange'] else ''}{each['from']}"


def _note(node: dict[str, Any]) -> str:
    if node["role"] == "source":
        return f"by {node['splits']}" if node["splits"] else "whole"
    if node["role"] == "transform":
        return str(node["reach"])
    return str(node["guarantee"] or "")


def _print_promises(promises: list[dict[str, Any]]) -> None:
    for each in promises:
        say(f"  {each['sink']}: {each['guarantee'] or 'unknown'}, because {each['because']}")
