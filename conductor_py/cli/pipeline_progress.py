"""``conductor-py pipeline progress``: how far the data pipelines of an execution are."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected
from conductor_py.cli.execution_tree import ENDED_BADLY
from conductor_py.cli.execution_view import is_open
from conductor_py.cli.execution_watch import exit_code
from conductor_py.cli.names import EXECUTION
from conductor_py.cli.printing import clipped, duration, objects, print_json, say
from conductor_py.errors import InvalidInput

#: Between two looks at pipelines that are followed.
PAUSE_S = 1.0

_BAR: Final = 24
_TYPE: Final = "SPARK_PIPELINE"
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_BACK: Final = "\x1b[{}F\x1b[J"


@click.command()
@click.argument("workflow_id", shell_complete=EXECUTION)
@click.option("--task", "reference", help="Reference of one task; without it all of them.")
@click.option("--follow", is_flag=True, help="Look again each second, until the execution ends.")
@connected
def progress(
    workflow_id: str, *, reference: str | None, follow: bool, server: str, as_json: bool
) -> int:
    """Print how far the data pipelines of an execution are.

    With --follow the exit code is 1 if one of them has failed.
    """
    shown: list[str] = []
    printed: dict[str, Any] | None = None
    with client(server) as conductor:
        while True:
            found = conductor.get_workflow(workflow_id)
            told = dict(_told(found, reference))
            if as_json:
                if told != printed:
                    print_json(told)
                printed = told
            else:
                shown = _show(_lines(told), shown)
            if not follow:
                return 0
            if not is_open(found):
                return _exit_code(found, told)
            time.sleep(PAUSE_S)


def _exit_code(found: Mapping[str, Any], told: Mapping[str, Mapping[str, Any]]) -> int:
    """What following ends with: by the tasks that were shown; by the execution, if none was."""
    if not told:
        return exit_code(found.get("status"))
    return int(any(each.get("status") in ENDED_BADLY for each in told.values()))


def _told(found: Mapping[str, Any], reference: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give what the newest attempt of each task of data pipelines has told, by reference."""
    newest = {
        str(task.get("referenceTaskName")): task
        for task in objects(found.get("tasks"))
        if _is_pipeline(task)
    }
    if reference is not None and reference not in newest:
        known = f"there are {', '.join(newest)}" if newest else "there is none"
        raise InvalidInput(f"The execution has no {_TYPE} task {reference!r}: {known}.")
    for name, task in newest.items():
        if reference in (None, name):
            yield name, {"status": task.get("status"), **_document(task)}


def _is_pipeline(task: Mapping[str, Any]) -> bool:
    defined = task.get("workflowTask")
    kind = defined.get("type") if isinstance(defined, dict) else None
    return _TYPE in (kind, task.get("taskType"))


def _document(task: Mapping[str, Any]) -> dict[str, Any]:
    for said in (task.get("outputData"), task.get("progress")):
        if isinstance(said, dict) and objects(said.get("pipelines")):
            return said
    return {"pipelines": []}


def _show(lines: list[str], before: list[str]) -> list[str]:
    """Print lines in place of those before, on a terminal; elsewhere again when they changed."""
    if lines == before:
        return before
    if before and sys.stdout.isatty():
        click.echo(_BACK.format(len(before)), nl=False)
    for line in lines:
        say(line)
    return lines


def _lines(told: Mapping[str, Mapping[str, Any]]) -> list[str]:
    if not told:
        return ["No task of data pipelines has been reached."]
    lines = []
    for reference, document in told.items():
        lines.append(f"{clipped(reference)}  {clipped(document.get('status'))}")
        pipelines = objects(document.get("pipelines"))
        for each in pipelines:
            lines += [f"  {line}" for line in _pipeline(each)]
        if not pipelines:
            lines.append("  No worker has told anything of it yet.")
    return lines


def _pipeline(told: Mapping[str, Any]) -> Iterator[str]:
    sinks = _object(told, "sinks")
    yield " ".join(
        (
            clipped(told.get("id")),
            f"→ {clipped(', '.join(sinks))}:" if sinks else "",
            clipped(told.get("state")),
            f"epoch {_count(told.get('epoch'))}",
        )
    )
    yield f"  {_splits(_object(told, 'splits'))}"
    yield f"  {', '.join(_amounts(told))}"
    lag = [each for each in _lag(_object(told, "lag")) if each]
    if lag:
        yield f"  lag {'; '.join(lag)}"
    for name, stream in _object(told, "eventTime").items():
        yield f"  {clipped(name)}: {', '.join(_stream(stream if isinstance(stream, dict) else {}))}"
    error = _object(told, "lastError")
    if error:
        yield f"  last error {clipped(error.get('code'))}: {clipped(error.get('message'), 200)}"


def _splits(splits: Mapping[str, Any]) -> str:
    done, total = _number(splits.get("done")), _number(splits.get("discovered"))
    quarantined = _number(splits.get("quarantined"))
    filled = round(_BAR * min(1.0, (done + quarantined) / total)) if total else 0
    found = "" if splits.get("complete") else " found so far"
    aside = f", {_count(quarantined)} set aside" if quarantined else ""
    bar = f"[{'#' * filled}{'.' * (_BAR - filled)}]"
    return f"{bar} {_count(done)} of {_count(total)} splits{found}{aside}"


def _amounts(told: Mapping[str, Any]) -> Iterator[str]:
    rows, read, rate = _object(told, "rows"), _object(told, "bytes"), _object(told, "rate")
    yield f"{_count(rows.get('read'))} rows"
    if rows.get("bad"):
        yield f"{_count(rows.get('bad'))} of them bad"
    total = _number(read.get("estimatedTotal"))
    yield _size(read.get("read")) + (f" of about {_size(total)}" if total else "")
    yield f"{_count(rate.get('rowsPerSecond'))} rows/s"
    if told.get("etaSeconds") is not None:
        yield f"done in about {duration(_number(told.get('etaSeconds')))}"
    if told.get("restarts"):
        yield f"restarts: {_count(told.get('restarts'))}"


def _lag(lag: Mapping[str, Any]) -> Iterator[str]:
    for source, behind in lag.items():
        if isinstance(behind, dict) and _number(behind.get("splits")):
            yield (
                f"{clipped(source)}: {_count(behind.get('splits'))} splits, "
                f"{_count(behind.get('rows'))} rows, {_size(behind.get('bytes'))}, "
                f"for {duration(_number(behind.get('seconds')))}"
            )
        else:
            yield f"{clipped(source)}: none"


def _stream(told: Mapping[str, Any]) -> Iterator[str]:
    """Give what is told of a transform by event time."""
    if told.get("watermark"):
        behind = duration(_number(told.get("lagSeconds")))
        yield f"watermark {clipped(told['watermark'])}, {behind} ago"
    else:
        yield "no watermark yet"
    yield f"{_count(told.get('stateRows'))} rows kept"
    yield f"{_count(told.get('lateRows'))} late"


def _object(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0


def _count(value: object) -> str:
    return f"{_number(value):,.0f}"


def _size(value: object) -> str:
    size, unit = _number(value), 0
    while size >= 1000 and unit + 1 < len(_UNITS):
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size:.0f} B"
