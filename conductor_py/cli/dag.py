"""``conductor-py dag``: workflows and tasks that have versions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from conductor_py.cli.bundles import export, import_
from conductor_py.cli.connection import client, connected, document, file_document
from conductor_py.cli.lineage import lineage
from conductor_py.cli.names import SHARED_TASK, versioned
from conductor_py.cli.near import warn_of
from conductor_py.cli.printing import moment, objects, print_json, print_table, say
from conductor_py.cli.versioned import code_of, found_head, noun_of, number_of, object_of
from conductor_py.errors import ConductorError, NotFound

if TYPE_CHECKING:
    from conductor_py.sdk import Client

_HEAD: Final = ("code", "name", "version", "publishedVersion", "updateTime")
_VERSION: Final = ("version", "saveTime", "tasks", "published", "startable", "current")
_NAME: Final = click.argument("name", shell_complete=versioned)
_CODE: Final = click.argument("code", shell_complete=SHARED_TASK)
_TASK: Final = click.option("--task", "is_task", is_flag=True, help="A task instead of a workflow.")


@click.group()
def dag() -> None:
    """Save, publish and look at workflows that have versions."""


for command in (lineage, export, import_):
    dag.add_command(command)


@dag.command()
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False, path_type=Path))
@click.option("--draft", is_flag=True, help="Save it although the workflow is published.")
@click.option("--publish", is_flag=True, help="Publish what was saved.")
@click.option("--etag", type=click.IntRange(min=1), default=None, help="Only if it is this still.")
@_TASK
@click.option("--code", help="That of the task; without it a task is a new one.")
@connected
def save(
    file: Path,
    *,
    draft: bool,
    publish: bool,
    etag: int | None,
    is_task: bool,
    code: str | None,
    server: str,
    as_json: bool,
) -> None:
    """Save the workflow in FILE, known again by its name; what has changed is a new version. With
    --task a task that stands by itself, known again by its --code.
    """
    found = document("-") if str(file) == "-" else file_document(file)
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        raise click.UsageError(f"{file} holds no workflow or task: an object with a name")
    if code and not is_task:
        raise click.UsageError("--code is for a --task: a workflow is known again by its name")
    if is_task and publish:
        raise click.UsageError("--publish is for workflows: a task is used by its version")
    from conductor_py.wire.advice import versioned_advice

    warn_of(found["name"], versioned_advice(found, is_task=is_task))
    if is_task:
        with client(server) as conductor:
            saved = conductor.save_version("tasks", found, code=code, etag=etag or 0, draft=draft)
        _tell(saved, as_json=as_json)
        return
    with client(server) as conductor:
        known = conductor.list_heads("workflows", name=found["name"])
        code, seen = (code_of(known[0]), number_of(known[0].get("etag"))) if known else (None, 0)
        if etag and code is None:
            raise NotFound(f"There is no workflow {found['name']} in the catalog")
        head = conductor.save_version(
            "workflows", found, code=code, etag=etag or seen, draft=draft or publish
        )
        if publish:
            head = _publish(conductor, head)
    _tell(head, as_json=as_json)


def _publish(conductor: Client, saved: Mapping[str, Any]) -> Mapping[str, Any]:
    """Publish what was saved just now; when that is refused, say that it is saved all the same."""
    version, etag = number_of(saved.get("version")), number_of(saved.get("etag"))
    try:
        return conductor.publish(code_of(saved), version=version or None, etag=etag)
    except ConductorError as error:
        # One that was not answered may have been done.
        state = "perhaps not published" if error.retryable else "not published"
        named = f"{saved.get('name')} ({saved.get('code')})"
        say(f"{named} is saved as version {version}, {state}:", err=True)
        raise


@dag.command("list")
@click.option("--tasks", is_flag=True, help="Tasks instead of workflows.")
@click.option("--shared", is_flag=True, help="Of tasks only those that stand by themselves.")
@click.option("--after", help="Only what has a greater code, which is younger.")
@click.option("--size", type=click.IntRange(1, 1_000), default=100, show_default=True)
@connected
def list_(
    *, tasks: bool, shared: bool, after: str | None, size: int, server: str, as_json: bool
) -> None:
    """List what is in the catalog, the oldest first."""
    with client(server) as conductor:
        noun = noun_of(is_task=tasks or shared)
        found = conductor.list_heads(noun, after=after, size=size, shared=shared)
    if as_json:
        print_json(found)
    else:
        print_table(_HEAD, [_row(each, _HEAD) for each in found])


@dag.command()
@_NAME
@click.option("--version", type=click.IntRange(min=1), help="Without it the one that is edited.")
@click.option("--pins", is_flag=True, help="Codes and versions of its tasks instead of the whole.")
@_TASK
@connected
def get(
    name: str,
    *,
    version: int | None,
    pins: bool,
    is_task: bool,
    server: str,
    as_json: bool,  # noqa: ARG001 - it is JSON in any case
) -> None:
    """Print the workflow NAME (or its code) as it was saved."""
    with client(server) as conductor:
        head = found_head(conductor, name, is_task=is_task)
        code = code_of(head)
        if pins:
            print_json(conductor.get_pins(code, version or number_of(head.get("version"))))
        else:
            print_json(conductor.get_version(noun_of(is_task=is_task), code, version=version))


@dag.command()
@_NAME
@_TASK
@connected
def versions(name: str, *, is_task: bool, server: str, as_json: bool) -> None:
    """List the versions of NAME, the newest first."""
    with client(server) as conductor:
        head = found_head(conductor, name, is_task=is_task)
        found = conductor.list_versions(noun_of(is_task=is_task), code_of(head))
    if as_json:
        print_json(found)
    else:
        print_table(_VERSION, [_row(each, _VERSION) for each in found])


@dag.command()
@_NAME
@click.option("--from", "before", type=click.IntRange(min=1), help="Without it the one before.")
@click.option("--to", "after", type=click.IntRange(min=1), help="Without it what is edited.")
@connected
def diff(name: str, *, before: int | None, after: int | None, server: str, as_json: bool) -> None:
    """Print what differs between two versions of NAME, by tasks and relations."""
    with client(server) as conductor:
        code = code_of(found_head(conductor, name))
        found = conductor.get_diff(code, before=before, after=after)
    if as_json:
        print_json(found)
        return
    for line in _lines(found):
        say(line)


@dag.command()
@_NAME
@click.option("--version", type=click.IntRange(min=1), help="Without it the one that is edited.")
@connected
def publish(name: str, *, version: int | None, server: str, as_json: bool) -> None:
    """Let a version of NAME be the one that starts by its name."""
    with client(server) as conductor:
        head = found_head(conductor, name)
        _tell(conductor.publish(code_of(head), version=version), as_json=as_json)


@dag.command()
@_NAME
@click.option("--version", type=click.IntRange(min=1), help="Only this one, not the published one.")
@connected
def withdraw(name: str, *, version: int | None, server: str, as_json: bool) -> None:
    """Let no version of NAME start any more."""
    with client(server) as conductor:
        head = found_head(conductor, name)
        _tell(conductor.withdraw(code_of(head), version=version), as_json=as_json)


@dag.command()
@_NAME
@click.argument("version", type=click.IntRange(min=1))
@_TASK
@connected
def switch(name: str, version: int, *, is_task: bool, server: str, as_json: bool) -> None:
    """Edit another VERSION of NAME; nothing is written over."""
    with client(server) as conductor:
        head = found_head(conductor, name, is_task=is_task)
        noun = noun_of(is_task=is_task)
        _tell(conductor.switch_version(noun, code_of(head), version), as_json=as_json)


@dag.command()
@_CODE
@connected
def uses(code: str, *, server: str, as_json: bool) -> None:
    """List the workflows that have the task CODE, and the versions of them that do."""
    with client(server) as conductor:
        found = conductor.list_uses(code)
    if as_json:
        print_json(found)
        return
    rows = [
        [*_row(object_of(each.get("workflow")), _HEAD[:2]), each.get("versions", "")]
        for each in found
    ]
    print_table(("code", "name", "versions"), rows)


@dag.command()
@_CODE
@click.option("--version", type=click.IntRange(1), help="Of the task; else the one that is edited.")
@click.option("--dry-run", is_flag=True, help="Only list the workflows that would change.")
@connected
def apply(code: str, *, version: int | None, dry_run: bool, server: str, as_json: bool) -> None:
    """Give every workflow that has the task CODE this version of it, as a draft."""
    with client(server) as conductor:
        found = conductor.apply_task(code, version=version, dry_run=dry_run)
    if as_json:
        print_json(found)
    else:
        print_table(_HEAD, [_row(each, _HEAD) for each in found])


@dag.command()
@_NAME
@_TASK
@connected
def delete(name: str, *, is_task: bool, server: str, as_json: bool) -> None:
    """Take NAME (or its code) out of the lists; its versions can be read until they are purged."""
    noun = noun_of(is_task=is_task)
    with client(server) as conductor:
        code = code_of(found_head(conductor, name, is_task=is_task))
        head = conductor.delete_versioned(noun, code)
    if as_json:
        print_json(head)
    else:
        say(f"{head.get('name')} ({code}) is deleted; dag purge forgets its versions.", err=True)


@dag.command()
@_NAME
@click.argument("version", type=click.IntRange(min=1))
@_TASK
@connected
def purge(name: str, version: int, *, is_task: bool, server: str, as_json: bool) -> None:
    """Forget a VERSION of NAME (or its code) for good."""
    noun = noun_of(is_task=is_task)
    with client(server) as conductor:
        head = found_head(conductor, name, is_task=is_task)
        conductor.purge_version(noun, code_of(head), version)
    if not as_json:
        say(f"version {version} of {head.get('name')} is gone.", err=True)


_SIGNS: Final = {"added": "+", "removed": "-"}


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    """A line for each thing that differs, in the way of other tools that compare."""
    yield f"version {found.get('fromVersion')} -> {found.get('toVersion')}"
    for each in objects(found.get("workflow")):
        yield f"~ workflow {_member(each)}"
    for task in objects(found.get("tasks")):
        sign = _SIGNS.get(str(task.get("change")), "~")
        of = " -> ".join(str(task[end]) for end in ("fromVersion", "toVersion") if end in task)
        yield f"{sign} task {task.get('taskReferenceName')} (version {of})"
        for each in objects(task.get("members")):
            yield f"    {_member(each)}"
    for each in objects(found.get("relations")):
        relation = object_of(each.get("relation"))
        label = "" if relation.get("label", "ok") == "ok" else f" {relation.get('label')}"
        ends = f"{relation.get('preTask', '')} ->{label} {relation.get('postTask')}"
        yield f"{_SIGNS.get(str(each.get('change')), '~')} relation {ends}"


def _member(found: Mapping[str, Any]) -> str:
    before, after = (json.dumps(found.get(end)) for end in ("before", "after"))
    return f"{found.get('path')}: {before} -> {after}"


def _row(found: Mapping[str, Any], columns: tuple[str, ...]) -> list[object]:
    return [_shown(name, found.get(name)) for name in columns]


def _shown(name: str, value: object) -> object:
    if name.endswith("Time"):
        return moment(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


def _tell(head: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(head)
        return
    published = head.get("publishedVersion")
    state = f"version {published} is published" if published else "nothing is published"
    edited = f"version {head.get('version')} is edited"
    say(f"{head.get('name')} ({head.get('code')}): {edited}, {state}", err=True)
