"""Executions that a command acts on: named by their ids, or found by a query."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Final, TypeVar

import click

from conductor_py.cli.connection import client
from conductor_py.cli.names import EXECUTION
from conductor_py.cli.near import warn_of_query
from conductor_py.cli.printing import chosen, clipped, objects, print_json, print_table, say
from conductor_py.errors import ConductorError, ConfigurationError
from conductor_py.model.status import WorkflowStatus
from conductor_py.records import dataclass, field
from conductor_py.sdk.client import Client
from conductor_py.sdk.errors import UnexpectedAnswer

Command = TypeVar("Command", bound=Callable[..., Any])
Act = Callable[[Client, str], object]

_PAGE: Final = 500
_SHOWN: Final = 10
_MOST: Final = 10_000
_NOT_LET_IN: Final = frozenset({401, 403})
_COLUMNS: Final = ("workflowId", "workflowType", "status", "startTime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What was asked for: ids, or a query and whether to act on what it finds."""

    ids: tuple[str, ...]
    query: str | None
    dry_run: bool
    yes: bool


def selected(command: Command) -> Command:
    """Add ids, ``--query``, ``--dry-run`` and ``--yes``; the command gets a ``Selection``."""
    options = (
        click.argument(
            "workflow_ids", nargs=-1, metavar="[WORKFLOW_ID]...", shell_complete=EXECUTION
        ),
        click.option(
            "--query", help='Instead of ids: what a search finds, "status=FAILED" for example.'
        ),
        click.option("--dry-run", is_flag=True, help="Only say how many it finds, and the first."),
        click.option("--yes", is_flag=True, help="Do not ask before acting on what it finds."),
    )

    @wraps(command)
    def gathered(
        *args: Any,  # noqa: ANN401 - handed on
        workflow_ids: tuple[str, ...],
        query: str | None,
        dry_run: bool,
        yes: bool,
        **given: Any,  # noqa: ANN401 - handed on by name
    ) -> object:
        if bool(workflow_ids) == (query is not None):
            raise click.UsageError("give WORKFLOW_IDs, or a --query")
        if query is not None and not query.strip():
            # What a shell makes of a variable that is not set must not mean everything.
            raise click.UsageError(
                "--query is empty; all executions are found by --query 'startTime>0'"
            )
        if query is None and (dry_run or yes):
            raise click.UsageError("--dry-run and --yes go with a --query")
        choice = Selection(ids=workflow_ids, query=query, dry_run=dry_run, yes=yes)
        return command(*args, choice=choice, **given)

    made: Any = gathered
    for option in reversed(options):
        made = option(made)
    return made  # type: ignore[no-any-return]


OPEN: Final = frozenset({"RUNNING", "PAUSED"})
ENDED: Final = frozenset(each.value for each in WorkflowStatus) - OPEN


def on_selected(
    server: str, choice: Selection, said: str, act: Act, *, json: bool, on: frozenset[str]
) -> int:
    """Act on executions one by one; the exit code. Of what a query finds, nothing is done to those
    whose status is not among ``on``.

    One that refuses is told, and keeps none of the others from their turn. What concerns the whole
    server ends the command, which says what it has not come to.
    """
    with client(server) as conductor:
        if choice.query is not None:
            return _on_found(conductor, choice, choice.query, said, act, json=json, on=on)
        if len(choice.ids) == 1:
            _on_one(conductor, choice.ids[0], said, act, json=json)
            return 0
        return _on_each(conductor, choice.ids, said, act, json=json)


def on_one(server: str, workflow_id: str, said: str, act: Act, *, json: bool) -> None:
    """Act on one execution."""
    with client(server) as conductor:
        _on_one(conductor, workflow_id, said, act, json=json)


def _on_one(conductor: Client, workflow_id: str, said: str, act: Act, *, json: bool) -> None:
    act(conductor, workflow_id)
    if json:
        print_json([{"workflowId": workflow_id}])
    else:
        say(f"{workflow_id} is {said}.", err=True)


def _on_each(conductor: Client, ids: Sequence[str], said: str, act: Act, *, json: bool) -> int:
    acted = _Acted()
    try:
        for workflow_id in acted.through(conductor, ids, act, shown=len(ids)):
            if not json:
                say(f"{workflow_id} is {said}.", err=True)
    finally:
        if json:
            print_json([{"workflowId": workflow_id} for workflow_id in acted.done])
    return 1 if acted.refused else 0


def _on_found(
    conductor: Client,
    choice: Selection,
    query: str,
    said: str,
    act: Act,
    *,
    json: bool,
    on: frozenset[str],
) -> int:
    warn_of_query(query)
    found = _found(conductor, query)
    if choice.dry_run:
        _preview(found, said, json=json, on=on)
        return 0
    if not found:
        say("Nothing found.", err=True)
        return 0
    concerned = _concerned(found, on)
    if not choice.yes and concerned:
        _ask(found, said, on)
        # Somebody may have thought for long: what the query finds no more is left alone, and so is
        # what has changed into a status that was not asked for.
        still = {each["workflowId"] for each in _concerned(_found(conductor, query), on)}
        concerned = [each for each in concerned if each["workflowId"] in still]
    else:
        _tell_of_others(found, on)
    return _act(conductor, [str(each["workflowId"]) for each in concerned], said, act, json=json)


def _act(conductor: Client, ids: list[str], said: str, act: Act, *, json: bool) -> int:
    acted = _Acted()
    try:
        for _ in acted.through(conductor, ids, act, shown=_SHOWN):
            pass
    finally:
        if json:
            print_json({"done": acted.done, "refused": acted.refused})
        elif acted.done or not ids:
            say(f"{len(acted.done)} of {len(ids)} are {said}.", err=True)
        else:
            say(f"Nothing was done: none of {len(ids)} let it happen.", err=True)
    return 1 if acted.refused else 0


@dataclass(slots=True)
class _Acted:
    """Which executions were acted on, and why others were not."""

    done: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def through(
        self, conductor: Client, ids: Sequence[str], act: Act, *, shown: int
    ) -> Iterator[str]:
        """Act on each, and yield those that let it happen; tell at once who refuses. An error that
        the others would meet, too, is raised, and up to ``shown`` of what is left are named before.
        """
        for number, workflow_id in enumerate(ids, 1):
            try:
                act(conductor, workflow_id)
            except ConductorError as error:
                if _is_of_the_server(error):
                    _tell_untried(workflow_id, ids[number:], shown)
                    raise
                self.refused[workflow_id] = error.message
                say(f"{workflow_id}: {clipped(error.message, 300)}", err=True)
            else:
                self.done.append(workflow_id)
                yield workflow_id


def _is_of_the_server(error: ConductorError) -> bool:
    """Whether an error says nothing of the one execution: the server is away, has too much to do,
    or does not let this caller in.
    """
    if isinstance(error, UnexpectedAnswer):
        return error.status in _NOT_LET_IN
    return error.retryable or isinstance(error, ConfigurationError)


def _tell_untried(workflow_id: str, left: Sequence[str], shown: int) -> None:
    if not left:
        return
    more = f" and {len(left) - shown} more" if len(left) > shown else ""
    say(f"Stopped at {workflow_id}. Not tried: {', '.join(left[:shown])}{more}", err=True)


def _found(conductor: Client, query: str) -> list[dict[str, Any]]:
    """What a query finds, each once; ``UsageError`` when that is too much."""
    found: dict[str, dict[str, Any]] = {}
    start = 0
    while True:
        page = conductor.search_workflows(query, start=start, size=_PAGE, sort="startTime:ASC")
        hits = page.get("totalHits")
        total = hits if isinstance(hits, int) else 0
        if total > _MOST:
            raise click.UsageError(
                f"the query finds {total} executions, and a command takes {_MOST}: narrow it,"
                " by startTime for example"
            )
        rows = objects(page.get("results"))
        # Pages of what changes meanwhile may overlap.
        found |= {str(each["workflowId"]): each for each in rows}
        start += len(rows)
        if not rows or start >= total:
            return list(found.values())


def _preview(found: list[dict[str, Any]], said: str, *, json: bool, on: frozenset[str]) -> None:
    concerned = _concerned(found, on)
    if json:
        ids = [each["workflowId"] for each in concerned]
        print_json({"count": len(ids), "found": len(found), "workflowIds": ids})
        return
    print_table(_COLUMNS, [chosen(each, _COLUMNS) for each in concerned[:_SHOWN]])
    if len(concerned) > _SHOWN:
        say(f"… and {len(concerned) - _SHOWN} more")
    say(f"{len(concerned)} would be {said}.", err=True)
    _tell_of_others(found, on)


def _tell_of_others(found: list[dict[str, Any]], on: frozenset[str]) -> None:
    others = Counter(str(each.get("status")) for each in found)
    others -= Counter(str(each.get("status")) for each in _concerned(found, on))
    if others:
        told = ", ".join(f"{count} {status}" for status, count in sorted(others.items()))
        say(f"It finds {told} besides, to which this is not done.", err=True)


def _concerned(found: list[dict[str, Any]], on: frozenset[str]) -> list[dict[str, Any]]:
    """Those whose status lets it happen, as far as the index knows it."""
    return [each for each in found if each.get("status") is None or each["status"] in on]


def _ask(found: list[dict[str, Any]], said: str, on: frozenset[str]) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"{len(_concerned(found, on))} executions would be {said}; say --yes, or look with"
            " --dry-run"
        )
    _preview(found, said, json=False, on=on)
    click.confirm("Go on?", abort=True, err=True)
