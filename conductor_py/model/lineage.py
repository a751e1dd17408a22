"""Lineage: what a workflow starts and is started by, and the tasks that it shares, as a graph."""

from __future__ import annotations

from enum import StrEnum

from conductor_py.model.catalog import Head
from conductor_py.records import dataclass


class Link(StrEnum):
    """How one thing leads to another."""

    SUB_WORKFLOW = "SUB_WORKFLOW"
    START_WORKFLOW = "START_WORKFLOW"
    FAILURE_WORKFLOW = "FAILURE_WORKFLOW"
    USES = "USES"
    SCHEDULE = "SCHEDULE"


class NodeKind(StrEnum):
    """What a node is."""

    WORKFLOW = "workflow"
    TASK = "task"
    SCHEDULE = "schedule"


class Place(StrEnum):
    """Where a workflow stands: in the catalog, registered beside it, or nowhere."""

    CATALOG = "catalog"
    REGISTERED = "registered"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A workflow that a definition starts by a name that it says; ``path`` is where it says it,
    ``version`` the one that it names.
    """

    link: Link
    path: str
    name: str
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageNode:
    """``level`` says how far it is from the workflow that was asked for: below 0 for what leads to
    it, above for what it leads to. ``version`` is the one that is edited of what stands in the
    catalog, else the latest.
    """

    kind: NodeKind
    name: str
    level: int
    code: int = 0
    place: Place | None = None
    version: int = 0
    published: int = 0
    paused: bool = False

    @property
    def id(self) -> str:
        """Name it among the others: tasks by their codes, as their names need not be unlike."""
        return f"{self.kind}:{self.code if self.kind is NodeKind.TASK else self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageEdge:
    """``versions`` of the source have it, among those that are edited or can be started; whether
    the ``edited`` and the ``published`` one do. ``called`` are the versions of the target that they
    name.
    """

    link: Link
    source: str
    target: str
    versions: tuple[int, ...] = ()
    called: tuple[int, ...] = ()
    edited: bool = False
    published: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What surrounds a workflow; ``truncated``: there is more than is told of."""

    head: Head
    depth: int
    nodes: tuple[LineageNode, ...]
    edges: tuple[LineageEdge, ...]
    truncated: bool = False
