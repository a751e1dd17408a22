"""Collects what there is to see when everything is quiet: API, archive, Redis, journals."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from conductor_py.adapters.rq.connection import queue_name
from conductor_py.codec.execution import load_attempt
from conductor_py.codec.kept_execution import load_kept
from conductor_py.errors import NotFound
from conductor_py.sdk import Client
from tests.chaos.kinds import KINDS, Json
from tests.chaos.verdict import StoredAttempt

_PAGE = 1000
_READERS = 4
_EFFECTS = queue_name("conductor")
#: Kinds of keys that are there only while something is under way.
_PASSING = (
    *("exec:", "inbox:", "park:", "queue:", "delayed:", "limit:", "timers:", "outbox", "effects"),
    *("running:", "admitted:", "waiting:", "references", "log:", "ckpt:"),
)


def passing_keys(client: Any) -> dict[str, int]:
    """How many keys of each passing kind there are, and jobs of effects."""
    found = dict.fromkeys(_PASSING, 0)
    for key in client.scan_iter(match="{*", count=1000):
        _, _, name = key.decode().partition("}:")
        for kind in _PASSING:
            if name.startswith(kind):
                found[kind] += 1
                break
    # What was taken and not finished stands beside the queue until RQ tidies up.
    found["jobs"] = client.llen(f"rq:queue:{_EFFECTS}")
    return {kind: count for kind, count in found.items() if count}


def open_executions(client: Any) -> int:
    """How many executions have not ended, by the index of running ones."""
    return sum(client.zcard(name) for name in client.scan_iter(match="{*running:*", count=1000))


def open_ids(client: Any) -> set[str]:
    """Which executions have not ended."""
    names = list(client.scan_iter(match="{*running:*", count=1000))
    return {each.decode() for name in names for each in client.zrange(name, 0, -1)}


def read_over_http(client: Client, ids: Sequence[str]) -> dict[str, Json]:
    """The executions that the API knows."""

    def read(execution: str) -> tuple[str, Json | None]:
        try:
            found: Any = client.get_workflow(execution)
        except NotFound:
            return execution, None
        return execution, found

    with ThreadPoolExecutor(_READERS) as pool:
        return {each: found for each, found in pool.map(read, ids) if found is not None}


def archived_ids(file: Path) -> set[str]:
    """Every execution that the archive has."""
    with closing(sqlite3.connect(file)) as archive:
        return {row[0] for row in archive.execute("SELECT workflowId FROM archive")}


def stored_attempts(file: Path) -> dict[str, list[StoredAttempt]]:
    """The attempts of each archived execution, as they were stored."""
    with closing(sqlite3.connect(file)) as archive:
        rows = archive.execute("SELECT workflowId, document FROM kept")
        return {execution: list(_attempts(document)) for execution, document in rows}


def _attempts(document: bytes) -> Iterator[StoredAttempt]:
    for name, stored in load_kept(document).fields.items():
        if name.startswith("a:"):
            attempt = load_attempt(int(name[2:]), stored)
            yield StoredAttempt(
                generation=attempt.generation,
                ref=attempt.ref,
                vector=attempt.vector,
                retry_count=attempt.retry_count,
                lost=attempt.lost,
            )


def found_by_search(client: Client) -> set[str]:
    """Every execution that a search by its workflow's name finds."""
    found: set[str] = set()
    for name in KINDS:
        start = 0
        while True:
            page: Any = client.search_workflows(f"workflowType={name}", start=start, size=_PAGE)
            found |= {each["workflowId"] for each in page["results"]}
            start += _PAGE
            if start >= page["totalHits"]:
                break
    return found


def worker_lines(folder: Path) -> list[Json]:
    """What the workers wrote; a last line that was cut off in the middle is left out."""
    return [
        orjson.loads(line)
        for file in folder.glob("worker-*.jsonl")
        for line in file.read_bytes().split(b"\n")[:-1]
    ]


def lost_attempts(documents: Collection[Json]) -> int:
    """How many attempts were given to another worker because theirs was gone."""
    return sum(
        task["status"] == "CANCELED" and "lost" in task.get("reasonForIncompletion", "")
        for document in documents
        for task in document["tasks"]
    )


def standstills(documents: Collection[Json]) -> list[tuple[int, str]]:
    """For each execution that does not wait on purpose: how long, in ms, nothing happened to it at
    most, and when; the longest first.
    """
    found = []
    for document in documents:
        if KINDS[document["workflowName"]].waits or document["status"] == "RUNNING":
            continue
        instants = {document["startTime"]: "start", document["endTime"]: "end"}
        for task in document["tasks"]:
            for name in ("scheduledTime", "startTime", "endTime"):
                instants[task[name]] = f"{task['referenceTaskName']}.{name}"
        ordered = sorted(
            at for at in instants if document["startTime"] <= at <= document["endTime"]
        )
        gap, before, after = max(
            (b - a, a, b) for a, b in itertools.pairwise([*ordered, ordered[-1]])
        )
        where = f"{instants[before]} {before} to {instants[after]}"
        found.append((gap, f"{document['workflowName']} {document['workflowId']} {where}"))
    return sorted(found, reverse=True)
