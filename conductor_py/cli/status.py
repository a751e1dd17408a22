"""``conductor-py status``: a server and what it is doing, on one page."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, Final

import click

from conductor_py.cli.connection import client, connected
from conductor_py.cli.printing import clipped, objects, print_json, say
from conductor_py.decider.operators.system import TYPES
from conductor_py.decider.scheduling import LIMITED
from conductor_py.errors import ConductorError
from conductor_py.model.json import JsonObject
from conductor_py.model.status import WorkflowStatus
from conductor_py.sdk.client import Client

_DAY_MS: Final = 24 * 3_600_000
_OPEN: Final = ("RUNNING", "PAUSED")
_ENDED: Final = tuple(each.value for each in WorkflowStatus if each.terminal)
_UNASKED = "no worker has asked for it lately"
_MOST_QUEUES: Final = 20
#: Queues of the system-task worker, which is no worker of those that are listed.
_SYSTEM: Final = re.compile(rf"(?:{'|'.join(TYPES)})(?:$|[@{re.escape(LIMITED)}-])")


@click.command()
@connected
def status(*, server: str, as_json: bool) -> int:
    """Print how a server is, what runs, what waits, and who works.

    The exit code is 1 if a store behind it does not answer.
    """
    with client(server) as conductor:
        found = _found(conductor)
    if as_json:
        print_json({"server": server, **found})
    else:
        for label, text in _lines(server, found):
            say(f"{label:<12} {text}")
    return 0 if found["healthy"] else 1


def _found(conductor: Client) -> dict[str, Any]:
    health = conductor.health()
    about: dict[str, Any] = {
        "version": conductor.version(),
        "healthy": health.get("healthy") is True,
        "health": health.get("healthResults"),
    }
    if not about["healthy"]:
        return about
    about |= _executions(conductor, health)
    about["queues"] = {name: size for name, size in conductor.all_queue_sizes().items() if size}
    about["workers"] = list(conductor.list_workers())
    about["servers"] = [each.get("server") for each in conductor.list_servers()]
    about["quarantine"] = conductor.list_quarantine(size=1).get("totalHits", 0)
    return about


def _executions(conductor: Client, health: JsonObject) -> dict[str, Any]:
    """Count executions; what cannot be counted is left out, and ``unknown`` says why."""
    for each in objects(health.get("healthResults")):
        if each.get("name") == "search" and each.get("status", "UP") != "UP":
            return {"unknown": each.get("message")}
    since = int(time.time() * 1000) - _DAY_MS
    try:
        return {
            "open": {each: _count(conductor, f"status={each}") for each in _OPEN},
            "endedInADay": {
                each: _count(conductor, f"status={each} AND endTime>{since}") for each in _ENDED
            },
        }
    except ConductorError as away:
        return {"unknown": away.message}


def _count(conductor: Client, query: str) -> int:
    hits = conductor.search_workflows(query, size=1).get("totalHits")
    return hits if isinstance(hits, int) else 0


def _lines(server: str, found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "server", f"{server}, version {clipped(found['version'])}"
    for each in objects(found["health"]):
        yield clipped(each.get("name")), _standing(each)
    if not found["healthy"]:
        return
    if "unknown" in found:
        yield "executions", f"not known: {clipped(found['unknown'])}"
    else:
        yield "executions", _counts(found["open"])
        yield "in a day", _counts(found["endedInADay"])
    yield "quarantine", clipped(found["quarantine"])
    yield "servers", ", ".join(map(clipped, found["servers"])) or "none is known"
    yield "workers", _workers(found["workers"])
    yield "queues", _queues(found["queues"], found["workers"])


def _standing(result: dict[str, Any]) -> str:
    if not result.get("healthy"):
        return f"is away: {clipped(result.get('message'))}"
    if result.get("status", "UP") == "UP":
        return "answers"
    return f"is not well: {clipped(result.get('message'))}"


def _counts(counted: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counted.items())


def _workers(listed: list[JsonObject]) -> str:
    if not listed:
        return "none has asked for a task lately"
    running = sum(_number(each.get("running")) for each in listed)
    capacity = sum(_number(each.get("capacity")) for each in listed)
    return f"{len(listed)}, {running} of {capacity} places taken" if capacity else f"{len(listed)}"


def _queues(waiting: dict[str, int], workers: list[JsonObject]) -> str:
    if not waiting:
        return "nothing waits"
    taken = {
        str(kind.get("taskType")) for each in workers for kind in objects(each.get("taskTypes"))
    }
    told = [
        f"{clipped(name)} {size}"
        + ("" if _type(name) in taken or _SYSTEM.match(name) else f" ({_UNASKED})")
        for name, size in sorted(waiting.items(), key=lambda pair: -pair[1])
    ]
    more = f", and {len(told) - _MOST_QUEUES} more" if len(told) > _MOST_QUEUES else ""
    return ", ".join(told[:_MOST_QUEUES]) + more


def _type(queue: str) -> str:
    """The task type of a queue, without its domain and what is behind it."""
    return queue.rpartition(":")[2]


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
