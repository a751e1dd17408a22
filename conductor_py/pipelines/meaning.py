"""Hashes that change when, and only when, the data would have another meaning.

Names of outputs, the order of nodes, parallelism, rates, sizes of rounds, restarts and access data
give the data no meaning. A setting that has its default is as one that is not there, so a release
that adds a setting changes no hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from conductor_py.pipelines.graph import Graph, Node
from conductor_py.pipelines.kinds import SINKS, SOURCES, TRANSFORMS, Kind
from conductor_py.pipelines.record_form import canonical
from conductor_py.pipelines.spec import DEAD_LETTER, Job, Sink, Source

ENVIRONMENT: Final = "(env)"
"""Stands among the nodes for what the job's environment says about the data."""

_HASH: Final = 16
_ID: Final = 10
_TUNING: Final = ("spark.sql.shuffle.", "spark.sql.adaptive.", "spark.sql.files.")


def node_hashes(job: Job, graph: Graph, members: Iterable[str]) -> dict[str, str]:
    """Return the hashes of these nodes of a job, of its dead letters and its environment, by id."""
    hashes = {name: _hash(_node(graph.nodes[name], graph.feeds[name])) for name in sorted(members)}
    hashes[ENVIRONMENT] = _hash(_environment(job))
    if job.dead_letter is not None:
        hashes[DEAD_LETTER] = _hash(_node(job.dead_letter, {}))
    return hashes


def plan_hash(hashes: Mapping[str, str]) -> str:
    """Return the one hash of a pipeline."""
    return _hash(sorted(hashes.items()))


def pipeline_id(members: Iterable[str]) -> str:
    """Name a pipeline by the ids of its nodes."""
    return f"p-{_hash(sorted(members))[:_ID]}"


def _hash(meaning: object) -> str:
    return hashlib.sha256(canonical(meaning)).hexdigest()[:_HASH]


def _node(node: Node, feeds: Mapping[str, str]) -> dict[str, Any]:
    table = SOURCES if isinstance(node, Source) else SINKS if isinstance(node, Sink) else TRANSFORMS
    meaning: dict[str, Any] = {
        "kind": node.kind,
        "feeds": dict(feeds),
        "settings": _settings(node.settings, table.get(node.kind)),
    }
    if isinstance(node, Source):
        meaning["split"] = node.split and asdict(node.split)
        meaning["schema"] = node.schema and asdict(node.schema)
        meaning["read_as"] = node.read_as
        meaning["event_time"] = node.event_time and node.event_time.column
    return meaning


def _settings(settings: Mapping[str, Any], kind: Kind | None) -> dict[str, Any]:
    if kind is None:
        return dict(settings)
    return {
        name: value
        for name, value in settings.items()
        if (known := kind.settings[name]).meaning and value not in (known.default, ())
    }


def _environment(job: Job) -> dict[str, Any]:
    spark = {
        name: value
        for name, value in job.env.spark.items()
        if name.startswith("spark.sql.") and not name.startswith(_TUNING)
    }
    return {
        "mode": job.mode,
        "bad_rows": job.env.errors.bad_rows,
        "buckets": job.env.buckets,
        "spark": spark,
    }
