"""Which code stands behind a node's ``kind``.

Built-in kinds are modules of ours; a kind with a dot is a third party's, found under the entry
point groups ``conductor_py.sources`` and ``conductor_py.sinks`` by its name. Either is a factory:
``open_source(node, place) -> Source``, ``open_sink(node, place) -> Sink``. Nothing is imported
before a job uses it, so the client of a database that no job names need not be installed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from conductor_py.errors import ConfigurationError
from conductor_py.pipelines import spec
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import Owner, Sink, Source
from conductor_workers.pipelines.secrets import Secrets, WorkerSecrets
from conductor_workers.pipelines.settings import NodeSettings

_PACKAGE: Final = "conductor_workers.pipelines"
_SOURCES: Final = {
    "file": "sources.file",
    "generator": "sources.generator",
    "jdbc": "sources.jdbc",
    "kafka": "sources.kafka",
}
_SINKS: Final = {
    "file": "sinks.file",
    "jdbc": "sinks.jdbc",
    "kafka": "sinks.kafka",
    "elasticsearch": "sinks.elasticsearch",
    "console": "sinks.console",
    "assert": "sinks.console",
}
_IN_BUCKETS: Final = ("s3://", "s3a://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What surrounds a node: whose it is, where what is too large for a record is kept, whether the
    job ever ends, and what its secrets are.
    """

    owner: Owner
    pipeline: str
    work_dir: str
    unbounded: bool = False
    secrets: Secrets = field(default_factory=WorkerSecrets, repr=False)

    def settings(self, node: spec.Source | spec.Sink) -> NodeSettings:
        """Return the reader of a node's settings."""
        return NodeSettings(node.id, node.settings, self.secrets)


def open_source(node: spec.Source, place: Place) -> Source:
    """Make the source of a node.

    Raises:
        ConfigurationError: nothing stands behind its kind, or its client is not installed.
    """
    module = _SOURCES.get(node.kind)
    if node.kind == "file" and _in_bucket(*node.settings.get("paths", ())):
        module = "sources.bucket"
    made: Source = _factory("source", node, module)(node, place)
    return made


def open_sink(node: spec.Sink, place: Place) -> Sink:
    """Make the sink of a node. Raises as ``open_source``."""
    module = _SINKS.get(node.kind)
    if node.kind == "file" and _in_bucket(node.settings.get("path")):
        module = "sinks.bucket"
    made: Sink = _factory("sink", node, module)(node, place)
    return made


def _factory(
    side: str, node: spec.Source | spec.Sink, module: str | None
) -> Callable[[Any, Place], Any]:
    if module is not None:
        found: Callable[[Any, Place], Any]
        found = getattr(import_module(f"{_PACKAGE}.{module}"), f"open_{side}")
        return found
    for point in entry_points(group=f"conductor_py.{side}s", name=node.kind):
        made: Callable[[Any, Place], Any] = point.load()
        return made
    raise ConfigurationError(
        f"{node.id}: this worker has no {side} of the kind {node.kind!r}; install the distribution "
        f"that names it under the entry points conductor_py.{side}s."
    )


def _in_bucket(*paths: object) -> bool:
    return any(isinstance(path, str) and path.startswith(_IN_BUCKETS) for path in paths)
