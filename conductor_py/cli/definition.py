"""``conductor-py definition``: workflow and task definitions, registered and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected, document, file_document
from conductor_py.cli.names import WORKFLOW
from conductor_py.cli.near import said_in_all, warn, warn_of
from conductor_py.cli.printing import print_json, print_table, say
from conductor_py.errors import InvalidInput, NotFound, Violation
from conductor_py.sdk.client import Client
from conductor_py.sdk.errors import UnexpectedAnswer
from conductor_py.wire.advice import task_advice

_NAMES_OF_OTHERS: Final = (
    ".failureWorkflow",
    ".subWorkflowParam.name",
    ".startWorkflow.name",
    ".forkTaskWorkflow",
)
"""How the paths of what names another workflow end."""
_WRONG_VERB: Final = 405
"""What a server answers that takes ``validate`` for the name of a task definition."""
_UNCHECKED: Final = "this server checks no task definitions: only names of members were looked at"
_OF_A_WORKFLOW: Final = ("version", "outputParameters", "failureWorkflow", "schemaVersion")


@click.group()
def definition() -> None:
    """Register and read definitions."""


_FILES: Final = click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(allow_dash=True, dir_okay=False, path_type=Path),
)


@definition.command()
@_FILES
@connected
def validate(files: tuple[Path, ...], *, server: str, as_json: bool) -> None:
    """Check the definitions in FILES, workflows and tasks, without registering them; print what
    would be accepted, but is probably a mistake. Exit code 1 when one is wrong.
    """
    found = [each for file in files for each in _definitions(file)]
    if not found:
        raise click.UsageError("no definition is given, so none was checked")
    with client(server) as conductor:
        said = _checked(conductor, found)
    if as_json:
        of_names: dict[str, list[Mapping[str, Any]]] = {}
        for (_, name), warnings in said.items():
            of_names.setdefault(name, []).extend(warnings)
        print_json(of_names)
        return
    for (kind, name), warnings in said.items():
        shown = name if kind == "workflow" else f"{kind} {name}"
        warn(name, warnings)
        say(f"{shown} is right" if not warnings else f"{shown} would be accepted")


@definition.command()
@_FILES
@click.option("--overwrite", is_flag=True, help="Replace a version that exists.")
@connected
def register(files: tuple[Path, ...], *, overwrite: bool, server: str, as_json: bool) -> None:
    """Register the definitions in FILES, workflows and tasks; a file holds one or a list."""
    found = [each for file in files for each in _definitions(file)]
    workflows = [each for each in found if "tasks" in each]
    tasks = [each for each in found if "tasks" not in each]
    with client(server) as conductor:
        # All are checked before one is registered.
        for (_, name), warnings in _checked(conductor, workflows).items():
            warn(name, warnings)
        for each in tasks:
            warn_of(each.get("name"), task_advice(each))
        if tasks:
            conductor.register_tasks(tasks)
        for each in workflows:
            conductor.register_workflow(each, overwrite=overwrite)
    names = {"tasks": _names(tasks), "workflows": _names(workflows)}
    if as_json:
        print_json(names)
    else:
        for kind, listed in names.items():
            for name in listed:
                say(f"registered {kind[:-1]} {name}", err=True)


_Said = dict[tuple[str, str], list[Mapping[str, Any]]]
"""Warnings by kind and name, of all versions."""


def _checked(conductor: Client, given: Sequence[dict[str, Any]]) -> _Said:
    """What each name would be accepted with, in all versions that are given; ``InvalidInput`` names
    all that are wrong, and how.
    """
    said: _Said = {}
    wrong: list[Violation] = []
    refused = 0
    beside = _registered_with(given)
    for each in given:
        name, kind = str(each.get("name")), _kind(each)
        try:
            told = _told(conductor, each, kind)
            warnings = [one for one in told if not _is_given(one, beside)]
            said.setdefault((kind, name), []).extend(warnings)
        except InvalidInput as refusal:
            refused += 1
            found = refusal.violations or (Violation(path="$", message=refusal.message),)
            wrong += [replace(one, path=f"{name}: {one.path}") for one in found]
    if refused:
        kinds = {_kind(each) for each in given}
        noun = f"{kinds.pop()} definitions" if len(kinds) == 1 else "definitions"
        message = f"{refused} of {len(given)} {noun} wrong; nothing is registered"
        raise InvalidInput(message, violations=tuple(wrong))
    return said


def _told(conductor: Client, given: dict[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    if kind == "workflow":
        return conductor.validate_workflow(given)
    try:
        told: Sequence[Mapping[str, Any]] = conductor.validate_task(given)
    except (NotFound, UnexpectedAnswer) as error:
        if isinstance(error, UnexpectedAnswer) and error.status != _WRONG_VERB:
            raise
        told = ({"path": "$", "message": _UNCHECKED},)
    return said_in_all(told, task_advice(given))


def _kind(found: dict[str, Any]) -> str:
    return "workflow" if "tasks" in found else "task"


def _registered_with(given: Sequence[dict[str, Any]]) -> frozenset[str]:
    """What is given together, as warnings of workflows that are not registered name it."""
    workflows = [each for each in given if "tasks" in each]
    versions = (f"{each.get('name')} version {each.get('version', 1)}" for each in workflows)
    return frozenset((*(str(each.get("name")) for each in workflows), *versions))


def _is_given(warning: Mapping[str, Any], given: frozenset[str]) -> bool:
    """Whether a warning is of a workflow that is not registered, and is given, too."""
    path = str(warning.get("path"))
    return path.endswith(_NAMES_OF_OTHERS) and warning.get("invalidValue") in given


@definition.command("list")
@click.option("--tasks", is_flag=True, help="Task definitions instead of workflows.")
@connected
def list_(*, tasks: bool, server: str, as_json: bool) -> None:
    """List what is registered."""
    with client(server) as conductor:
        found = (
            conductor.list_task_definitions() if tasks else conductor.list_workflow_definitions()
        )
    if as_json:
        print_json(found)
        return
    columns = ("name", "description") if tasks else ("name", "version", "description")
    found.sort(key=lambda each: (str(each.get("name")), _number(each.get("version"))))
    print_table(columns, [[each.get(name) or "" for name in columns] for each in found])


@definition.command()
@click.argument("name", shell_complete=WORKFLOW)
@click.option("--version", type=int, help="Version; without it the latest.")
@click.option("--task", "is_task", is_flag=True, help="A task definition instead of a workflow.")
@connected
def get(
    name: str,
    *,
    version: int | None,
    is_task: bool,
    server: str,
    as_json: bool,  # noqa: ARG001 - it is JSON in any case
) -> None:
    """Print a definition as JSON."""
    with client(server) as conductor:
        if is_task:
            print_json(conductor.get_task_definition(name))
        else:
            print_json(conductor.get_workflow_definition(name, version=version))


def _definitions(file: Path) -> list[dict[str, Any]]:
    value = document("-") if str(file) == "-" else file_document(file)
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(each, dict) for each in listed):
        raise click.UsageError(f"{file} holds neither a definition nor a list of them")
    for each in listed:
        _refuse_half_a_workflow(each, file)
    return listed


def _refuse_half_a_workflow(found: dict[str, Any], file: Path) -> None:
    """Refuse a workflow whose ``tasks`` are misspelt: it would become a task definition."""
    if "tasks" in found:
        return
    for name in _OF_A_WORKFLOW:
        if name in found:
            raise click.UsageError(
                f"{file}: {found.get('name')} has {name!r} as a workflow has, but no 'tasks';"
                " a task definition has neither"
            )


def _number(version: object) -> int:
    return version if isinstance(version, int) else 0


def _names(found: list[dict[str, Any]]) -> list[str]:
    return [str(each.get("name")) for each in found]
