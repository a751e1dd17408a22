"""A lineage while it is walked: nodes up to a bound, and one edge for each pair and kind."""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.model.catalog import Head
from conductor_py.model.lineage import Call, Lineage, LineageEdge, LineageNode, Link, NodeKind
from conductor_py.records import dataclass, field


@dataclass(slots=True)
class _Seen:
    """What is known of an edge so far."""

    versions: set[int] = field(default_factory=set)
    called: set[int] = field(default_factory=set)
    edited: bool = False
    published: bool = False


class LineageGraph:
    """Collects; what is added twice is there once, as it came first."""

    def __init__(self, most: int) -> None:
        """Hold so many nodes."""
        self._most = most
        self._nodes: dict[str, LineageNode] = {}
        self._edges: dict[tuple[str, str, Link], _Seen] = {}
        self._truncated = False

    def add(self, node: LineageNode) -> bool:
        """Take a node in; false when it is there already, or when there is no room."""
        if node.id in self._nodes:
            return False
        if len(self._nodes) >= self._most:
            self._truncated = True
            return False
        self._nodes[node.id] = node
        return True

    def has_workflow(self, name: str) -> bool:
        """Whether a workflow is there."""
        return f"{NodeKind.WORKFLOW}:{name}" in self._nodes

    def leading(self) -> Mapping[str, int]:
        """The levels of the workflow that was asked for and of those that lead to it, by name."""
        first = next(iter(self._nodes))
        return {
            node.name: node.level
            for node in self._nodes.values()
            if node.kind is NodeKind.WORKFLOW and (node.level < 0 or node.id == first)
        }

    def call(self, caller: str, version: int, call: Call, head: Head | None) -> None:
        """Note that a version of a workflow starts another one; ``head`` is the caller's."""
        source, target = (f"{NodeKind.WORKFLOW}:{name}" for name in (caller, call.name))
        self.link(call.link, source, target, version, head, called=call.version)

    def link(
        self,
        link: Link,
        source: str,
        target: str,
        version: int,
        head: Head | None,
        *,
        called: int | None = None,
    ) -> None:
        """Note an edge between two nodes that are there, of a ``version`` of the source (0: it has
        none) that names the version ``called``.
        """
        if source not in self._nodes or target not in self._nodes:
            return
        seen = self._edges.setdefault((source, target, link), _Seen())
        if version:
            seen.versions.add(version)
        if called is not None:
            seen.called.add(called)
        if head is not None:
            seen.edited = seen.edited or version == head.version
            seen.published = seen.published or version == head.published

    def lineage(self, head: Head, depth: int) -> Lineage:
        """All of it, in an order that does not depend on the walk."""
        nodes = sorted(self._nodes.values(), key=lambda node: (node.level, node.kind, node.id))
        edges = [
            LineageEdge(
                link=link,
                source=source,
                target=target,
                versions=tuple(sorted(seen.versions)),
                called=tuple(sorted(seen.called)),
                edited=seen.edited,
                published=seen.published,
            )
            for (source, target, link), seen in sorted(self._edges.items(), key=lambda one: one[0])
        ]
        return Lineage(
            head=head,
            depth=depth,
            nodes=tuple(nodes),
            edges=tuple(edges),
            truncated=self._truncated,
        )
