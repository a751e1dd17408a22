"""Whether what a job names is what a worker gives a stranger: its SQL before the first round of a
pipeline, the places of its files before anything is opened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from pyspark.errors import ParseException

from conductor_py.pipelines import spec
from conductor_py.pipelines.chance import UNSEEN, statements, with_time_pinned
from conductor_py.pipelines.client_options import FILES, NO_FILES
from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.paths import AllowedPaths
from conductor_workers.pipelines.databases.dialect import read_address
from conductor_workers.pipelines.rounds import Ground
from conductor_workers.pipelines.transforms import TransformRefused
from conductor_workers.statements import Judge, StatementRefused
from conductor_workers.tasks.outcome import shortened

_IN_BUCKETS: Final = ("s3", "s3a")


def refuse_other_places(job: spec.Job, paths: AllowedPaths) -> None:
    """Look at the places of files that a job names itself; what a secret holds, the worker's owner
    has put there. A connector of somebody else is heeded where it calls them ``path`` or ``paths``.

    Raises ``PathRefused``.
    """
    if job.env.work_dir:
        paths.refuse_others("env.work_dir", job.env.work_dir)
    dead_letter = () if job.dead_letter is None else (job.dead_letter,)
    for node in (*job.sources, *job.sinks, *dead_letter):
        for setting, text in _places(node):
            paths.refuse_others(f"{node.id}.{setting}", text)


def refuse_other_files(ground: Ground, splits: Mapping[str, Sequence[SplitDescriptor]]) -> None:
    """Look at the files of a round: what is recorded was found by an attempt, or somebody says so.

    Raises ``PathRefused``.
    """
    for node in ground.job.sources:
        if node.kind != "file" or node.id not in splits:
            continue
        first = urlsplit(str(node.settings["paths"][0]))
        store = f"{first.scheme}://{first.netloc}/" if first.scheme in _IN_BUCKETS else ""
        names = {store + str(split.descriptor["path"]) for split in splits[node.id]}
        ground.paths.refuse_other_files(node.id, names)


def _places(node: spec.Source | spec.Sink) -> Iterator[tuple[str, str]]:
    """List the settings of a node that name files, with their texts."""
    settings = node.settings
    for name in ("path", "paths"):
        values = settings.get(name, ())
        for value in values if isinstance(values, Sequence) and name == "paths" else (values,):
            if isinstance(value, str):
                yield name, value
    for name, value in (settings.get("options") or {}).items():
        if name in FILES and isinstance(value, str) and value not in NO_FILES:
            yield f"options['{name}']", value
    url = settings.get("url")
    if node.kind == "jdbc" and isinstance(url, str):
        with suppress(ValueError):  # no URL: the connector says so, and opens nothing
            address = read_address(url)
            if address.scheme == "sqlite":
                yield "url", address.database
            for name, value in address.options:
                if name in FILES and value not in NO_FILES:
                    yield "url", value


def refuse_other_than_queries(ground: Ground) -> None:
    """Look at the queries and expressions of all its nodes, unless any SQL is allowed.

    Raises ``TransformRefused``.
    """
    if ground.any_sql:
        return
    judge, names = Judge(ground.spark, UNSEEN), frozenset(ground.plan.nodes)
    for transform in ground.job.transforms:
        if transform.id in names:
            _look_at(judge, transform)
    for sink in ground.job.sinks:
        if sink.id in names and sink.kind == "assert":
            for check, text in sink.settings.get("checks", {}).items():
                _passed(judge, f"{sink.id}.checks.{check}", text)


def _look_at(judge: Judge, node: spec.Transform) -> None:
    for path, text in statements(with_time_pinned(node, 0, frozenset())):
        _passed(judge, f"{node.id}{path}", text, node.inputs if node.kind == "sql" else None)


def _passed(judge: Judge, where: str, text: str, relations: Collection[str] | None = None) -> None:
    """Let a query of these relations pass; without any it is an expression."""
    try:
        if relations is None:
            judge.expression(text)
        else:
            judge.query(text, relations)
    except (StatementRefused, ParseException) as error:
        raise TransformRefused(f"{where}: {shortened(str(error))}") from error
