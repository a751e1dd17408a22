"""Whether rows come to a transform in the order in which sources give them.

Splits are read in their order, and the rows of each as they stand in it. What brings rows together
by key, or gives them to other tasks, leaves no order.
"""

from __future__ import annotations

from typing import Final

from conductor_py.pipelines.graph import Graph, graph_of
from conductor_py.pipelines.reaches import is_lookup, is_timed
from conductor_py.pipelines.spec import Job, Source, Transform

_WITHOUT: Final = frozenset({"dedup", "aggregate", "join"})
_QUERIES: Final = frozenset({"sql", "python"})


def in_order(job: Job) -> frozenset[str]:
    """Return the dedups to which rows come in their order, and the sources that these come from."""
    graph, found = graph_of(job), set[str]()
    for node in job.transforms:
        streams = job.mode == "unbounded" and is_timed(node)
        if node.kind == "dedup" and not streams and disorder(node.id, graph) is None:
            found |= {node.id} | (graph.upstream(node.id) & {each.id for each in job.sources})
    return frozenset(found)


def disorder(node_id: str, graph: Graph) -> str | None:
    """Return the node whose rows come to this one without an order; ``None`` when they have one."""
    waiting = list(graph.feeds[node_id].values())
    while waiting:
        name = waiting.pop()
        node = graph.nodes[name]
        if isinstance(node, Source):
            continue
        if not isinstance(node, Transform) or _mixes(node, graph):
            return name
        waiting += [each for each in graph.feeds[name].values() if not is_lookup(graph, each)]
    return None


def _mixes(node: Transform, graph: Graph) -> bool:
    blocking = node.settings.get("reach") == "blocking"
    # Spark may bring the rows of a query with a lookup together by key; the kind lookup says how.
    several = node.kind in _QUERIES and len(graph.feeds[node.id]) > 1
    return node.kind in _WITHOUT or blocking or several or bool(node.parallelism)
